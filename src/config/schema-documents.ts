// What the schema says of the configuration file: a JSON Schema for editors, and docs/configuration.md for people.
import * as z from 'zod';
import { nameOfNotation } from './notation.ts';
import { unwrap } from './parse-fields.ts';
import { configSchema } from './schema.ts';
import { userSchema } from './schema-user.ts';

/** Draft 7, which is what YAML editors know. */
export function toJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'Postern configuration', ...rest };
}

const INTRO = `# Configuration

<!-- Made from the schema by: postern schema --markdown > docs/configuration.md -->

Postern is run from one file, \`config/postern.yaml\`, and the files that it names. This page lists every key. The shipped
[config/postern.yaml](../config/postern.yaml) shows all of them in place, and \`postern init\` writes a shorter one to
start from. How to keep the file in git: [gitops.md](gitops.md).

\`\`\`yaml
# yaml-language-server: $schema=./postern.schema.json
issuer: https://id.example.com
encryption_keys: [env:POSTERN_ENCRYPTION_KEY]
cookie_keys: [env:POSTERN_COOKIE_KEY]
clients_from: [clients.d/*.yaml]
users_from: users.yaml
\`\`\`

The first line gives editors completion and checks while you type; \`postern schema\` prints the schema that it names.

## Notation

- Files are YAML 1.2 or JSON, wherever either is named. An unknown key is refused, with the key you may have meant. So are
  a key that is given twice, YAML aliases and tags.
- A **duration** is a whole number and a unit: \`60s\`, \`10m\`, \`1h\`, \`30d\`.
- A **rate** is a number for a duration: \`6000/1m\` is at most 6000 in any minute.
- A **day or time** is \`2027-01-01\`, which begins at midnight UTC, or \`2027-01-01T12:00:00Z\`.
- A **reference** is where a secret is: \`env:NAME\` for an environment variable, \`file:PATH\` for a file, whose last newline
  is ignored. The secret itself is accepted only while the issuer is this machine.
- A relative path starts at the folder of the file that says it.
- A pattern in \`clients_from\` may match nothing; a file that is named without one must exist.

## Checking, and changing a running service

\`postern check\` says everything that is wrong, with file, line and column. \`postern plan FILE\` says what a changed file
would do. A running service looks at its files, and at the secret files that they name, whenever one changes and on SIGHUP:
a configuration without a problem takes over as a whole, one with a problem changes nothing and is reported. Environment
variables are those of the start. Changes of \`issuer\`, \`listen\`, \`management\`, \`store\`, \`workers\`,
\`log\`, \`audit\` and
\`encryption_keys\` wait for the next start.
`;

const USERS = `The entries of the file in \`users_from\`. "postern user hash" makes one.`;

export function toMarkdown(): string {
  const { scalars, groups, lists } = sortKeys(configSchema);
  const sections = [
    INTRO,
    '## The service\n',
    bullets(scalars),
    ...groups.flatMap(([key, schema]) => [
      `## \`${key}\`\n`,
      `${sentence(schema)}\n`,
      bullets(flatten(objectOf(schema), '')),
    ]),
    ...lists.flatMap(([key, schema]) => listSection(key, schema)),
    '## People\n',
    `${USERS}\n`,
    bullets(Object.entries(userSchema.shape)),
  ];
  return sections.join('\n');
}

type Keyed = readonly [key: string, schema: z.ZodType];

/** One key per line; those that hold keys of their own, or lists of objects, come after in sections of their own. */
function sortKeys(schema: z.ZodObject): { scalars: Keyed[]; groups: Keyed[]; lists: Keyed[] } {
  const scalars: Keyed[] = [];
  const groups: Keyed[] = [];
  const lists: Keyed[] = [];
  for (const [key, field] of Object.entries(schema.shape)) {
    if (key === '$schema' || !(field instanceof z.ZodType)) continue;
    if (unwrap(field) instanceof z.ZodObject) groups.push([key, field]);
    else if (objectOf(field) !== undefined) lists.push([key, field]);
    else scalars.push([key, field]);
  }
  return { scalars, groups, lists };
}

function listSection(key: string, schema: z.ZodType): string[] {
  const object = objectOf(schema);
  if (object === undefined) return [];
  const { scalars, groups, lists } = sortKeys(object);
  const inner = groups.flatMap(([name, group]) => flatten(objectOf(group), `${name}.`));
  return [
    `## \`${key}\`\n`,
    `${sentence(schema)}\n`,
    bullets([...scalars, ...inner]),
    ...lists.flatMap(([name, list]) => listSection(`${key}[].${name}`, list)),
  ];
}

/** `token.client` and so on, however deep. */
function flatten(schema: z.ZodObject | undefined, prefix: string): Keyed[] {
  return Object.entries(schema?.shape ?? {}).flatMap(([key, field]): Keyed[] => {
    if (!(field instanceof z.ZodType)) return [];
    const inner = unwrap(field);
    return inner instanceof z.ZodObject ? flatten(inner, `${prefix}${key}.`) : [[`${prefix}${key}`, field]];
  });
}

function bullets(keys: readonly Keyed[]): string {
  return keys
    .map(
      ([key, schema]) =>
        `- **\`${key}\`** (${[typeOf(schema), ...worth(schema)].join(', ')}): ${sentence(schema)}\n`,
    )
    .join('');
}

/** The default, or that there is none. */
function worth(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodOptional) return [];
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const value: unknown = schema.def.defaultValue;
    return [`default \`${typeof value === 'string' ? value : JSON.stringify(value)}\``];
  }
  return ['required'];
}

function typeOf(schema: z.ZodType): string {
  const inner = unwrap(schema);
  const name = nameOfNotation(inner);
  if (name !== undefined) return name;
  if (inner instanceof z.ZodArray) {
    if (!(inner.element instanceof z.ZodType)) return 'list';
    const kind = nameOfNotation(inner.element);
    return kind === undefined ? `list of ${typeOf(inner.element)}` : `list of ${kind}s`;
  }
  if (inner instanceof z.ZodEnum) return inner.options.map((option) => `\`${option}\``).join(' or ');
  if (inner instanceof z.ZodLiteral)
    return [...inner.values].map((value) => `\`${String(value)}\``).join(' or ');
  if (inner instanceof z.ZodUnion) {
    return inner.options.map((option) => (option instanceof z.ZodType ? typeOf(option) : '')).join(' or ');
  }
  if (inner instanceof z.ZodRecord) return 'keys and values';
  if (inner instanceof z.ZodBoolean) return '`true` or `false`';
  return inner instanceof z.ZodNumber ? 'number' : 'text';
}

function objectOf(schema: z.ZodType): z.ZodObject | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return inner;
  return inner instanceof z.ZodArray && inner.element instanceof z.ZodType
    ? objectOf(inner.element)
    : undefined;
}

/** The description; characters that Markdown would take for its own are escaped. */
function sentence(schema: z.ZodType): string {
  return (schema.description ?? '').replaceAll(/[*<]/g, (character) => `\\${character}`);
}
