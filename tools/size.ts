// `npm run size`: how much code ships, and how much of it an administrator sees. CI fails when a figure is above size.json, which goes
// down with the commit that deletes (`--write`), and up only on purpose.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createProgram } from '../src/cli/program.ts';
import { toJsonSchema } from '../src/config/schema.ts';

const LIMITS = 'size.json';
const SHIPPED = ['src', 'tools', 'postern', '.ci', 'bench/*.sh', 'deploy/*.sh', '*.config.ts'];

function measure(paths: readonly string[]) {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--deduplicate', ...paths]);
  const files = listed.toString().split('\n').filter(existsSync);
  const texts = files.map((file) => readFileSync(file));
  return {
    lines: texts.reduce((sum, text) => sum + text.toString().split('\n').length - 1, 0),
    bytes: texts.reduce((sum, text) => sum + text.length, 0),
  };
}

/** Property paths of a JSON Schema: each key once, however many alternatives have it. */
function keysOf(schema: unknown, path = '', found = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return found;
  for (const [word, value] of Object.entries(schema)) {
    if (word !== 'properties') keysOf(value, word === 'items' ? `${path}[]` : path, found);
    else {
      for (const [key, member] of Object.entries(value as object)) {
        found.add(`${path}.${key}`);
        keysOf(member, `${path}.${key}`, found);
      }
    }
  }
  return found;
}

function verbsOf({ commands }: Command): number {
  return commands.reduce((sum, command) => sum + (command.commands.length === 0 ? 1 : verbsOf(command)), 0);
}

const { lines, bytes } = measure(SHIPPED);
const sizes: Readonly<Record<string, number>> = {
  lines,
  bytes,
  keys: keysOf(toJsonSchema()).size,
  verbs: verbsOf(await createProgram(process)),
  testLines: measure(['test/*.ts']).lines,
};
if (process.argv.includes('--write')) writeFileSync(LIMITS, `${JSON.stringify(sizes, undefined, 2)}\n`);
const limits = JSON.parse(readFileSync(LIMITS, 'utf8')) as Readonly<Record<string, number>>;
for (const [name, size] of Object.entries(sizes)) {
  const limit = limits[name] ?? 0;
  if (size > limit) process.exitCode = 1;
  const verdict = size > limit ? `above the limit of ${limit}` : `limit ${limit}`;
  process.stdout.write(`${name.padEnd(10)} ${String(size).padStart(9)}  ${verdict}\n`);
}
