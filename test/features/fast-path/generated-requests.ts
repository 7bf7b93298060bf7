// Requests that a client might send, and that no client should: valid ones, invalid ones, and valid ones in odd spellings. They
// depend only on a seeded generator, so the same seed creates the same requests.
import type { WireRequest } from './both-ways.ts';

export type Random = {
  /** From 0 to 1, without 1. */
  next(): number;
  pick<T>(from: readonly T[]): T;
  /** Returns true with this probability. */
  chance(of: number): boolean;
};

/** mulberry32: small, and the same everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    pick<T>(from: readonly T[]) {
      if (from.length === 0) throw new RangeError('nothing to pick from');
      return from[Math.floor(next() * from.length)] as T;
    },
    chance: (of) => next() < of,
  };
}

export type Known = {
  readonly path: string;
  /** The endpoint's own fields, which each client sends. */
  readonly fields: (random: Random) => readonly (readonly [string, string])[];
  /** The currently valid secrets of each client, by client id. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
  readonly usual: string;
};

const WRONG_SECRETS = ['', 'wrong-secret', ' ', 'null', 'kept-elsewhere', '%00', 'ä', 'x'.repeat(3000)];
const NOBODY = ['', 'nobody', 'spa', 'native', '__proto__', 'constructor', 'toString', 'sv', 'svc ', 'SVC'];
/** After a failure a client is no longer known at its address, so most wrong requests come from other addresses. */
const HONEST = ['10.0.0.1', '10.0.0.2', '2001:db8::1'];
const GUESSING = ['10.1.0.1', '10.1.0.2', '2001:db8:1::1', '10.0.0.3'];

type Draft = {
  readonly headers: (readonly [string, string])[];
  readonly form: (readonly [string, string])[];
};
type Credentials = { readonly id: string; readonly secret: string; readonly isRight: boolean };

export function makeRequest(random: Random, known: Known): WireRequest {
  const credentials = chooseCredentials(random, known);
  const draft: Draft = { headers: [], form: [...known.fields(random)] };
  authenticate(random, draft, credentials);
  const isHonest = random.chance(credentials.isRight ? 0.9 : 0.04);
  draft.headers.push(['X-Forwarded-For', random.pick(isHonest ? HONEST : GUESSING)]);
  if (random.chance(0.15)) spoilForm(random, draft.form);
  const body = Buffer.from(encodeForm(random, draft.form), 'latin1');
  return { ...frame(random, draft, known.path, body), isLate: random.chance(0.3) };
}

function chooseCredentials(random: Random, { secrets, usual }: Known): Credentials {
  const id = random.chance(0.7) ? usual : random.pick([...Object.keys(secrets), ...NOBODY]);
  const own = (Object.hasOwn(secrets, id) && secrets[id]) || [];
  const isRight = own.length > 0 && random.chance(0.93);
  if (isRight) return { id, secret: random.pick(own), isRight };
  const right = random.pick(Object.values(secrets).flat());
  const near = [right, `${right} `, ` ${right}`, `${right}\0`, right.slice(1), right.toUpperCase()];
  return { id, secret: random.pick([...WRONG_SECRETS, ...near]), isRight };
}

function authenticate(random: Random, { headers, form }: Draft, { id, secret }: Credentials): void {
  const kind = random.next();
  if (kind < 0.12) form.push(['client_id', id], ['client_secret', secret]);
  else headers.push(['Authorization', authorization(random, id, secret)]);
  if (kind > 0.9) form.push(['client_id', random.chance(0.7) ? id : random.pick(NOBODY)]);
  if (kind > 0.97) form.push(['client_secret', secret]);
  if (kind > 0.985) headers.push(['Authorization', authorization(random, id, secret)]);
  if (kind > 0.11 && kind < 0.13) headers.length = 0;
}

const escapeAll = (text: string) =>
  [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

function authorization(random: Random, id: string, secret: string): string {
  const plain = Buffer.from(`${id}:${secret}`, 'utf8');
  const encoded = plain.toString('base64');
  if (random.chance(0.75)) return `Basic ${encoded}`;
  return random.pick([
    () => `basic ${encoded}`,
    () => `BASIC ${encoded}`,
    () => `Basic  ${encoded}`,
    () => `Basic ${encoded} `,
    () => `Basic ${encoded.replaceAll('=', '')}`,
    () => `Basic ${encoded}=`,
    () => `Basic ${encoded}==`,
    () => `Basic ${plain.toString('base64url')}`,
    () => `Basic ${encoded.slice(0, 8)} ${encoded.slice(8)}`,
    () => `Basic ${encoded.slice(0, -1)}`,
    () => `Basic ${encoded.slice(0, -2)}B${encoded.slice(-1)}`,
    () => `Basic ${btoa(`${escapeAll(id)}:${escapeAll(secret)}`)}`,
    () => `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
    () =>
      `Basic ${btoa(`${id}:${escapeAll(secret.slice(0, 3))}${secret.slice(3).replaceAll(/[^ -~]/g, '')}`)}`,
    () => `Basic ${btoa(`${id}%:${escapeAll(secret)}`)}`,
    () => `Basic ${btoa(`${id}+:+${escapeAll(secret)}`)}`,
    () => `Basic ${btoa(id)}`,
    () => `Basic ${Buffer.from(`${id}:${secret}:`).toString('base64')}`,
    () => `Basic ${Buffer.from(`:${secret}`).toString('base64')}`,
    () => `Bearer ${encoded}`,
    () => encoded,
    () => 'Basic',
    () => '',
  ])();
}

/** Duplicates, adds, removes or reorders fields. */
function spoilForm(random: Random, form: (readonly [string, string])[]): void {
  const any = random.pick(form);
  random.pick([
    () => form.push(any),
    () => form.push([any[0], `${any[1]}x`]),
    () => form.push([any[0], '']),
    () => form.unshift(...form.splice(random.pick([0, 1]), 1)),
    () => form.splice(0, 1),
    () => form.push(['ignored', '1']),
    () => form.push([`${any[0]}[]`, any[1]]),
    () => form.push([any[0].toUpperCase(), any[1]]),
    () => form.push([` ${any[0]}`, any[1]]),
    () => form.push(['__proto__', 'x'], ['constructor', 'y']),
    () => form.push(['client_assertion', 'eyJh.eyJh.x']),
    () => form.push(['resource', 'https://other.example/api']),
    () => form.push(['client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer']),
    () => form.splice(0, form.length, ...form.toReversed()),
    () => form.push(['ignored', 'x'.repeat(random.pick([3000, 4096, 60_000]))]),
    () => form.push(...Array.from({ length: 120 }, () => ['a', 'b'] as const)),
  ])();
}

/** Encodes like `URLSearchParams`, or in another spelling that a parser accepts. */
function encodeForm(random: Random, form: readonly (readonly [string, string])[]): string {
  const isOdd = random.chance(0.25);
  const encode = (text: string) => {
    const usual = encodeURIComponent(text);
    if (!isOdd) return usual.replaceAll('%20', '+');
    return usual.replaceAll(/%..|[^%]/g, (one) => {
      if (random.chance(0.95)) return one;
      return one.length === 1 ? escapeAll(one) : random.pick([one, one.toLowerCase()]);
    });
  };
  const text = form.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  if (!isOdd || random.chance(0.5)) return text;
  return random.pick([
    () => `&${text}`,
    () => `${text}&`,
    () => `${text}${'&'.repeat(random.pick([2, 99, 120]))}`,
    () => `${'&'.repeat(120)}${text}`,
    () => text.replace('&', '&&'),
    () => text.replace('&', ';'),
    () => text.replace('=', ''),
    () => text.replace('=', '=='),
    () => `${text}&=`,
    () => `${text}&%`,
    () => `${text}%`,
    () => `${text}%zz`,
    () => `${text}%ff`,
    () => `${text}\u00ff`,
    () => `${text}%00`,
    () => `${text}\0`,
    () => `${text}\r\n`,
    () => `${text} `,
    () => `\u00ef\u00bb\u00bf${text}`,
    () => text.replaceAll('.', '%2e').replaceAll('-', '%2D'),
    () => `?${text}`,
    () => '',
  ])();
}

const TYPE = 'application/x-www-form-urlencoded';
const ODD_TYPES = [
  `${TYPE}; charset=utf-8`,
  `${TYPE};charset=iso-8859-1`,
  `${TYPE};`,
  ` ${TYPE}`,
  TYPE.toUpperCase(),
  'application/json',
  'text/plain',
  'multipart/form-data; boundary=x',
];
const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ['Origin', 'https://evil.example'],
  ['Origin', 'https://spa.example'],
  ['Origin', 'null'],
  ['Accept', 'text/html'],
  ['Accept', 'application/token-introspection+jwt'],
  ['DPoP', 'eyJh.eyJh.x'],
  ['OAuth-Client-Attestation', 'eyJh.eyJh.x'],
  ['OAuth-Client-Attestation-PoP', 'eyJh.eyJh.x'],
  ['Content-Encoding', 'gzip'],
  ['Accept-Language', 'de'],
  ['Cookie', '_session=x; _session.sig=y'],
  ['If-None-Match', '*'],
  ['X-HTTP-Method-Override', 'GET'],
];

function frame(random: Random, { headers }: Draft, path: string, body: Buffer): WireRequest {
  const isOdd = random.chance(0.1);
  const length: readonly [string, string] =
    isOdd && random.chance(0.2) ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)];
  const type = isOdd && random.chance(0.4) ? random.pick([undefined, ...ODD_TYPES]) : TYPE;
  const all = [
    ...headers,
    length,
    ...(type === undefined ? [] : [['Content-Type', type] as const]),
    ...(isOdd && random.chance(0.6) ? [random.pick(ODD_HEADERS)] : []),
  ];
  const target =
    isOdd && random.chance(0.2) ? random.pick([`${path}?x=1`, `${path}?`, `${path}/`, `/${path}`]) : path;
  return { method: 'POST', target, headers: all.flat(), body };
}
