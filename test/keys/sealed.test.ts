// The keys at rest, and the keys that protect them: when a start is refused, what the store contains, and how encryption and
// cookie keys are replaced without an interruption. Separate processes where a process must refuse or be replaced.
import { randomBytes } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KEYS_COLLECTION, RING_ID } from '../../src/keys/ring-document.ts';
import { Vault, toKekId } from '../../src/keys/vault.ts';
import type { Store } from '../../src/store/store.ts';
import { createFactorStore, type FactorStore } from '../../src/users/factors.ts';
import { sealedFor } from '../../src/users/factors.ts';
import { freePort } from '../world/servers.ts';
import { authorize, machineToken, signIn } from '../world/app.ts';
import type { Browser } from '../world/browser.ts';
import { introspect } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { PEOPLE, seedStore, type World, worldClients, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { runCli, type ServiceProcess, startProcess } from '../world/process.ts';
import { postern, useEnvironment } from '../world/terminal.ts';
import { publishedKids, withKeys } from './nodes.ts';
import { tempFolder, testFolder } from '../world/temp-folder.ts';
import { withStore } from '../world/stored.ts';

const FAMILIES = {
  signing_keys: { algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
  clients: worldClients({ web: { id_token_signed_response_alg: 'ES256' } }),
};

const sample = tempFolder();
let folder: string;
let ports: readonly [number, number];
let running: ServiceProcess | undefined;
useEnvironment(() => WORLD_ENV);
beforeAll(async () => {
  ports = [await freePort(), await freePort()];
  await seedStore((await writeWorldConfig(sample, {}, ports)).configFile);
});
beforeEach(() => void (folder = testFolder()));
afterEach(() => stop());

/** A store after a first start, and its configuration file. */
async function copyStore(): Promise<string> {
  await cp(path.join(sample, 'data'), path.join(folder, 'data'), { recursive: true });
  return (await writeWorldConfig(folder, {}, ports)).configFile;
}

/** Ends the running service, and starts the same installation with these settings. */
async function restart(config: Readonly<Record<string, unknown>> = {}): Promise<World> {
  await stop();
  const written = await writeWorldConfig(folder, { config }, ports);
  running = await startProcess(written.configFile);
  return { ...written, stop };
}

async function stop(): Promise<void> {
  await running?.end();
  running = undefined;
}

async function startFails(config: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { configFile } = await writeWorldConfig(folder, { config }, ports);
  const { code, stdout, stderr } = await runCli(['serve', '--config', configFile]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  return stderr;
}

/** A reference to a file with a new key. */
async function keyFile(name: string): Promise<string> {
  const file = path.join(folder, `${name}.key`);
  await writeFile(file, randomBytes(32).toString('base64url'), { mode: 0o600 });
  return `file:${file}`;
}

const inStore = <T>(use: (store: Store) => Promise<T>) =>
  withStore({ folder: path.join(folder, 'data') }, use);

const storedRing = () => inStore(({ documents }) => documents.get(KEYS_COLLECTION, RING_ID));

function changeRing(change: (value: string) => string): Promise<boolean> {
  return inStore(async ({ documents }) => {
    const { value, version } = (await documents.get(KEYS_COLLECTION, RING_ID)) ?? { value: '', version: 0 };
    return documents.put(KEYS_COLLECTION, RING_ID, change(value), version);
  });
}

describe('a start on stored keys that are not as they were', () => {
  it('KY-15: refuses a wrong encryption key by name, makes no new key, and starts with the right one', async () => {
    await copyStore();
    const kids = await publishedKids(await restart());
    await stop();
    const before = await storedRing();
    const message = await startFails({ encryption_keys: [await keyFile('wrong')] });
    expect(message).toContain(toKekId(Buffer.from(WORLD_ENV.TEST_ENCRYPTION_KEY, 'base64url')));
    expect(message).toContain('which is not configured');
    expect(await storedRing()).toEqual(before);
    expect(await publishedKids(await restart())).toEqual(kids);
  });

  it('KY-16: refuses a ring with one character changed', async () => {
    await copyStore();
    await changeRing((value) => value.replace('"generation\\":1', '"generation\\":2'));
    expect(await startFails()).toMatch(/the key ring was altered/);
  });

  it('KY-16: refuses an older ring that was put back through the store', async () => {
    const configFile = await copyStore();
    const old = (await storedRing())?.value ?? '';
    expect((await postern(['keys', 'rotate', '--config', configFile])).code).toBe(0);
    await changeRing(() => old);
    expect(await startFails()).toContain('an older key ring was restored');
  });
});

it('KY-18: the files of the store hold no private part in the clear, nor any encryption key', async () => {
  await copyStore();
  const world = await restart(FAMILIES);
  await machineToken(world, 'reports.read');
  const keySet = await withKeys(world, async ({ keyStore }) => keyStore.toKeySet(await keyStore.load()));
  await stop();
  const bytes = (await readFile(path.join(folder, 'data', 'data.mdb'))).toString('latin1');
  expect(bytes).toContain(keySet.active.kid);
  const secrets = [keySet.active, ...keySet.others, ...keySet.reserve].flatMap(
    ({ privateJwk: { d, p, q, dp, dq, qi } }) =>
      [d, p, q, dp, dq, qi].filter((member) => member !== undefined),
  );
  // Three RSA keys, and one key of each of the two curves.
  expect(secrets).toHaveLength(3 * 6 + 2);
  for (const secret of [...secrets, WORLD_ENV.TEST_ENCRYPTION_KEY]) {
    expect(secret.length).toBeGreaterThan(40);
    // Also as bytes, in case lmdb split the text into pages.
    expect(bytes).not.toContain(secret.slice(0, 40));
    expect(bytes).not.toContain(Buffer.from(secret, 'base64url').toString('latin1').slice(0, 24));
  }
});

it('KY-17: a change of the encryption key keeps sessions, tokens, kids and authenticator apps through [old], [old, new], [new, old], [new]', async () => {
  const [old, fresh, lost] = [await keyFile('old'), await keyFile('fresh'), await keyFile('lost')];
  let world = await restart({ ...FAMILIES, encryption_keys: [old] });
  await expect.poll(() => publishedKids(world), { timeout: 30_000 }).toHaveLength(8);
  const kids = await publishedKids(world);
  let { refresh_token: refreshToken } = (await signIn(world)).tokens;
  const machine = await machineToken(world, 'reports.read');
  await stop();
  const secret = randomBytes(20);
  const kekOf = async (reference: string) =>
    Buffer.from(await readFile(reference.slice('file:'.length), 'utf8'), 'base64url');
  const withFactors = <Result>(use: (factors: FactorStore) => Promise<Result>) =>
    inStore(({ documents }) => use(createFactorStore(documents, () => 'none')));
  await withFactors(async (factors) => {
    for (const [id, reference] of [
      [PEOPLE.bob, lost],
      [PEOPLE.alice, old],
    ] as const) {
      const sealed = new Vault([await kekOf(reference)]).seal(secret, sealedFor(id));
      await factors.change(id, () => ({ oneTimeCode: { sealed, lastStep: 7, createdAt: 0 } }));
    }
  });

  for (const encryption_keys of [[old, fresh], [fresh, old], [fresh]]) {
    world = await restart({ ...FAMILIES, encryption_keys });
    expect(await publishedKids(world)).toEqual(kids);
    expect(await introspect(world, machine)).toMatchObject({ active: true });
    const { status, body } = await refresh(world, refreshToken);
    expect(status).toBe(200);
    refreshToken = String(body['refresh_token']);
  }
  await stop();
  expect(await startFails({ encryption_keys: [old] })).toContain(toKekId(await kekOf(fresh)));
  const alice = await withFactors((factors) => factors.get(PEOPLE.alice));
  expect(alice.oneTimeCode?.lastStep).toBe(7);
  const sealed = alice.oneTimeCode?.sealed ?? '';
  expect(new Vault([await kekOf(fresh)]).open(sealed, sealedFor(PEOPLE.alice))).toEqual(secret);

  // A key that still opens something is listed until nothing is left: bob's factor, and what another node sealed meanwhile.
  const seal = async (id: string, reference: string) => {
    const again = new Vault([await kekOf(reference)]).seal(secret, sealedFor(id));
    await withFactors((factors) =>
      factors.change(id, () => ({ oneTimeCode: { sealed: again, lastStep: 7, createdAt: 0 } })),
    );
  };
  const expectMissing = async (references: readonly string[]) => {
    world = await restart({ ...FAMILIES, encryption_keys: [fresh] });
    const { warning } = (await (await fetch(`${world.management}/readyz`)).json()) as { warning?: string };
    const { code, stderr } = await postern(['check', '--config', world.configFile]);
    expect(code).toBe(0);
    await stop();
    if (references.length === 0) expect([warning, stderr]).toEqual([undefined, '']);
    for (const reference of references) {
      expect(warning).toContain(toKekId(await kekOf(reference)));
      expect(stderr).toContain(warning);
    }
  };
  await expectMissing([lost]);
  world = await restart({ ...FAMILIES, encryption_keys: [fresh, old] });
  await stop();
  await seal(PEOPLE.alice, old);
  await expectMissing([lost, old]);
  for (const id of [PEOPLE.alice, PEOPLE.bob]) await seal(id, fresh);
  await expectMissing([]);
  await expectMissing([]);
});

async function getsCode(world: World, browser: Browser): Promise<boolean> {
  const parameters = { prompt: 'none' };
  const { callback } = await authorize(world, { browser, scope: 'openid', parameters });
  return callback.searchParams.has('code');
}

it('a change of the cookie key signs with the first and takes all: nobody is signed out by [new, old]', async () => {
  const [old, fresh] = [await keyFile('cookie-old'), await keyFile('cookie-fresh')];
  let world = await restart({ cookie_keys: [old] });
  const { browser } = await signIn(world, { scope: 'openid' });
  expect(await getsCode(world, browser)).toBe(true);

  world = await restart({ cookie_keys: [fresh, old] });
  expect(await getsCode(world, browser)).toBe(true);
  world = await restart({ cookie_keys: [fresh] });
  expect(await getsCode(world, browser)).toBe(true);
  world = await restart({ cookie_keys: [fresh, old] });
  const { browser: later } = await signIn(world, { scope: 'openid' });

  world = await restart({ cookie_keys: [fresh] });
  expect(await getsCode(world, later)).toBe(true);
  // A browser that made no request meanwhile has only cookies signed with the old key.
  const asleep = await restart({ cookie_keys: [old] });
  const { browser: away } = await signIn(asleep, { scope: 'openid' });
  world = await restart({ cookie_keys: [fresh] });
  expect(await getsCode(world, away)).toBe(false);
});
