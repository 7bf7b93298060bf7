// A Dockerfile as data: stages and their instructions. Knows the parts of the language that ours uses, and throws on the rest.
const KNOWN = new Set(
  'FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' '),
);

export type Instruction = { readonly name: string; readonly text: string };
export type Stage = {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
};

export function parseDockerfile(source: string): readonly Stage[] {
  const lines = source
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (!KNOWN.has(name)) throw new Error(`not known here: ${line}`);
    if (name === 'FROM') {
      const [image = '', , stage] = text.split(/\s+/);
      stages.push({ image, name: stage, instructions: [] });
    } else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/** The texts of all instructions with this name. */
export function textsOf({ instructions }: Stage, name: string): readonly string[] {
  return instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/** The exec form of CMD, ENTRYPOINT and HEALTHCHECK CMD. */
export function execForm(text: string): readonly string[] {
  const list: unknown = JSON.parse(text.slice(text.indexOf('[')));
  if (!Array.isArray(list)) throw new Error(`not in exec form: ${text}`);
  return list.map(String);
}
