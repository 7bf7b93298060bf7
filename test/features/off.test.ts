// A disabled feature isn't loaded: lists the feature modules that a start of the built service reads, by the source maps of its files.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { FEATURES } from '../../src/features/index.ts';
import { freePort } from '../world/servers.ts';
import { startProcess } from '../world/process.ts';
import { testFolder } from '../world/temp-folder.ts';

/** Records each module that is loaded. */
const NOTES = `import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env['NOTES'], url + '\\n');
    return next(url, context);
  },
});
`;
/** Files that load with the configuration. */
const DECLARED = ['feature.ts', 'models.ts'];

let folder = '';
beforeEach(() => void (folder = testFolder()));

/** Returns the features of which a start loads more than those files. */
async function loadedBy(configFile: string): Promise<readonly string[]> {
  const [hook, notes] = [path.join(folder, 'notes.mjs'), path.join(folder, 'notes.txt')];
  await writeFile(hook, NOTES);
  const env = { NODE_OPTIONS: `--import=${hook}`, NOTES: notes };
  const service = await startProcess(configFile, undefined, undefined, env);
  await service.end();
  const urls = new Set((await readFile(notes, 'utf8')).split('\n').filter((url) => url.includes('/dist/')));
  expect(urls.size).toBeGreaterThan(10);
  expect([...urls].filter((url) => url.includes('nodemailer'))).toEqual([]);
  // The bundler's runtime has no source map.
  const maps = await Promise.all(
    Array.from(urls, (url) => readFile(`${new URL(url).pathname}.map`, 'utf8').catch(() => '{"sources":[]}')),
  );
  const found = maps
    .flatMap((map) => (JSON.parse(map) as { readonly sources: readonly string[] }).sources)
    .map((source) => /src\/features\/([\w-]+)\/(.+)/.exec(source) ?? [])
    .filter(([, , file]) => file !== undefined && !DECLARED.includes(file));
  return [...new Set(found.map(([, name = '']) => name))].toSorted();
}

const GROUPS = { groups: { staff: 'Employees' } };
const CLIENT = { client_id: 'web', token_endpoint_auth_method: 'none', scope: 'openid' };
const wiki = { ...CLIENT, redirect_uris: ['http://localhost/cb'], access: { groups: ['staff'] } };

it.each([
  ['that says nothing of them', {}, []],
  ['with account', { account: true }, ['account']],
  ['with sign_in', { sign_in: { passkeys: true } }, ['second-factors']],
  ['with a rule of access', { ...GROUPS, clients: [wiki] }, ['access']],
])('a start with a file %s loads the features that are on', async (_, settings, switched) => {
  const configFile = path.join(folder, 'postern.json');
  const [port, management] = [await freePort(), await freePort()];
  const file = { issuer: `http://localhost:${port}`, listen: { port }, management: { port: management } };
  await writeFile(configFile, JSON.stringify({ ...file, store: 'lmdb:data', ...settings }));
  const config = await loadConfig(configFile, { writeKeys: false });
  const on = FEATURES.filter((one) => one.isOn(config)).map(({ name }) => name);
  expect(on).toEqual(expect.arrayContaining(switched));
  const loaded = await loadedBy(configFile);
  expect(loaded).toEqual([...on].toSorted());
  expect(loaded.filter((name) => ['access', 'account', 'second-factors'].includes(name))).toEqual(switched);
});
