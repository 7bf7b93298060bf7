// The keys in docs/configuration.md are those of the schema: `npx vitest run test/docs/configuration.test.ts -u` writes them.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { toJSONSchema } from 'zod';
import { userSchema } from '../../src/config/schema-user.ts';
import { toJsonSchema } from '../../src/config/schema.ts';

type Field = {
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  readonly items?: Field;
  readonly anyOf?: readonly Field[];
  readonly enum?: readonly string[];
  readonly const?: string | number;
  readonly default?: unknown;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
};

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: '`true` or `false`',
  integer: 'number',
  object: 'keys and values',
};

function typeOf({ title, items, anyOf, enum: values, const: value, type = '' }: Field): string {
  if (items) return `list of ${typeOf(items)}`;
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  const options = values ?? (value === undefined ? [] : [value]);
  return title ?? (options.map((one) => `\`${one}\``).join(' or ') || (TYPES[type] ?? type));
}

function keysOf({ properties = {}, required = [] }: Field, above: string): string[] {
  return Object.entries(properties).flatMap(([key, field]) => {
    const { description = '', default: value } = field;
    const otherwise = typeof value === 'string' ? value : JSON.stringify(value);
    const worth = required.includes(key) ? ', required' : otherwise && `, default \`${otherwise}\``;
    const meaning = description.replaceAll(/[*<]/g, String.raw`\$&`);
    const below = [...keysOf(field, `${above}${key}.`), ...keysOf(field.items ?? {}, `${above}${key}[].`)];
    return [`- **\`${above}${key}\`** (${typeOf(field)}${worth ?? ''}): ${meaning}\n`, ...below];
  });
}

it('docs/configuration.md lists every key of the schema', async () => {
  const page = 'docs/configuration.md';
  const [introduction = ''] = readFileSync(page, 'utf8').split('## Keys\n');
  const people = keysOf(toJSONSchema(userSchema, { io: 'input' }) as Field, 'users[].');
  const keys = [...keysOf(toJsonSchema(), ''), ...people].join('');
  await expect(`${introduction}## Keys\n\n${keys}`).toMatchFileSnapshot(`../../${page}`);
});
