// A copy of the project without some of its features, with the steps of a removal by hand.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Declaration } from '../../src/features/feature.ts';
import { FEATURES } from '../../src/features/index.ts';

export const REMOVABLE = [
  'device-flow',
  'form-post',
  'fast-path',
  'client-documents',
  'import',
  'doctor',
  'init',
  'plan',
  'view-tools',
  'try-out',
  'back-channel-logout',
  'workers',
  'store-tools',
  'mail',
];

const run = promisify(execFile);
const LISTS = ['index.ts', 'running.ts', 'commands.ts'].map((file) => `src/features/${file}`);
LISTS.push('test/longest-first.ts');

/** Undefined for a feature without a declaration. */
export const declarationOf = (name: string): Declaration | undefined =>
  (FEATURES as readonly Declaration[]).find((one) => one.name === name);

export async function copyWithout(names: readonly string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-without-'));
  const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard']);
  const gone = names.flatMap((name) => [
    `src/features/${name}/`,
    `test/features/${name}/`,
    `test/interop/${name}.ts`,
    `docs/${name}.md`,
    `views/assets/${name}.js`,
    `views/.${name}/`,
    ...Object.keys(declarationOf(name)?.pages ?? {}).map((page) => `views/${page}.ejs`),
  ]);
  const kept = stdout.split('\n').filter((file) => file && !gone.some((one) => file.startsWith(one)));
  for (const file of kept) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    // A file that was deleted and not committed yet is still listed.
    await cp(file, path.join(folder, file)).catch(() => undefined);
  }
  await change(path.join(folder, 'package.json'), [folder], removePackages);
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  for (const list of LISTS) await change(path.join(folder, list), names, removeFromList);
  await change(path.join(folder, 'config/postern.yaml'), names, removeKeys);
  await change(path.join(folder, 'docs/hardening.md'), names, removeLimits);
  const locales = path.join(folder, 'views/locales');
  for (const file of await readdir(locales)) await change(path.join(locales, file), names, removeTexts);
  return folder;
}

type Change = (text: string, name: string) => string;

async function change(file: string, names: readonly string[], by: Change): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined) await writeFile(file, names.reduce(by, text));
}

/** Removes packages that the rest of the source doesn't import. */
function removePackages(text: string, folder: string): string {
  const source = readdirSync(path.join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(path.join(folder, 'src', file), 'utf8'))
    .join('\n');
  const { dependencies, ...rest } = JSON.parse(text) as { dependencies: Readonly<Record<string, string>> };
  const kept = Object.entries(dependencies).filter(([name]) => new RegExp(`'${name}[/']`).test(source));
  return JSON.stringify({ ...rest, dependencies: Object.fromEntries(kept) });
}

/** Removes a feature's import with its name in the list, or its single line. */
function removeFromList(text: string, name: string): string {
  const [, imported = ''] = new RegExp(`import \\{ (\\w+) \\} from './${name}/`).exec(text) ?? [];
  const lines = text
    .split('\n')
    .filter((line) => ![`'./${name}/`, `'features/${name}/`].some((one) => line.includes(one)));
  return imported === ''
    ? lines.join('\n')
    : lines.join('\n').replaceAll(new RegExp(`\\b${imported}\\b(,\\s*)?`, 'g'), '');
}

/** The keys of a feature. */
export function keysOfFeature(
  name: string,
): readonly (readonly [place: 'features' | 'service' | 'client', key: string])[] {
  const { switches = {}, service = {}, client = {} } = declarationOf(name) ?? {};
  return [
    ...Object.keys(switches).map((key) => ['features', key] as const),
    ...Object.keys(service).map((key) => ['service', key] as const),
    ...Object.keys(client).map((key) => ['client', key] as const),
  ];
}

function removeKeys(text: string, name: string): string {
  // Sentences above a key and the indented lines below it, but no other key, which may also be commented out.
  const [above, below] = ['(^ *# (?![a-z_]+:)[^\\n]*\\n)*', '(^#  +[^\\n]*\\n)*'];
  const left = keysOfFeature(name).reduce(
    (yaml, [, key]) => yaml.replaceAll(new RegExp(`${above}^ *(# )?${key}:[^\\n]*\\n${below}`, 'gm'), ''),
    text,
  );
  // After the last feature of a group was removed.
  return left.replace(/^features:\n(?! )/m, 'features: {}\n');
}

function removeLimits(text: string, name: string): string {
  const limits = Object.keys(declarationOf(name)?.limits ?? {});
  return limits.reduce((left, limit) => left.replace(new RegExp(`^\\| \`${limit}\`.*\\n`, 'm'), ''), text);
}

function removeTexts(text: string, name: string): string {
  const texts = Object.entries(JSON.parse(text) as Record<string, string>);
  const prefixes = [name.replaceAll('-', '_'), ...Object.keys(declarationOf(name)?.pages ?? {})];
  return JSON.stringify(
    Object.fromEntries(texts.filter(([key]) => !prefixes.some((prefix) => key.startsWith(`${prefix}.`)))),
  );
}

/** Runs a command; returns its exit code and output. */
export async function runIn(folder: string, command: string, args: readonly string[]) {
  const env = { ...process.env, PATH: `${path.resolve('node_modules/.bin')}:${process.env['PATH']}` };
  const options = { cwd: folder, env, maxBuffer: 1 << 26 };
  return run(command, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { readonly code?: number; readonly stdout?: string; readonly stderr?: string }) => ({
      code: error.code ?? -1,
      output: `${error.stdout ?? ''}${error.stderr ?? ''}`,
    }),
  );
}

export const removeCopy = (folder: string) => rm(folder, { recursive: true, force: true });
