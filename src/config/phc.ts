// Which argon2id hashes are accepted (PHC strings), of people's passwords and of imported client secrets.

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,171}$/;

// Below: cheaper to guess than OWASP's weakest advice. Above: one request could take the memory of the whole service.
const MEMORY_KIB = { least: 7168, most: 262_144 };

/** What is wrong with an argon2id hash, or nothing. */
export function phcFault(value: string): string | undefined {
  const [, memory, passes, lanes] = (PHC.exec(value) ?? []).map(Number);
  if (memory === undefined) return 'must be an argon2id hash, as $argon2id$v=19$m=…,t=…,p=…$…$…';
  if (memory < MEMORY_KIB.least || memory > MEMORY_KIB.most) {
    return `must have m between ${MEMORY_KIB.least} and ${MEMORY_KIB.most}`;
  }
  return within(passes, 1, 20) && within(lanes, 1, 16)
    ? undefined
    : 'must have t from 1 to 20 and p from 1 to 16';
}

function within(value: number | undefined, least: number, most: number): boolean {
  return value !== undefined && value >= least && value <= most;
}
