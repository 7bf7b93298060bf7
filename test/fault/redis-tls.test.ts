// Redis over TLS as an administrator sets it up, on one server, behind Sentinels and on a Cluster: a private authority by
// NODE_EXTRA_CA_CERTS, no connection without it, and working failovers.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Certificate,
  type RedisGroup,
  startCluster,
  startSentinel,
  untilTrue,
} from '../world/redis-groups.ts';
import { freePort, type RedisServer, requireServer, startRedis } from '../world/servers.ts';
import { introspect } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { MAIN, startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { untilSignedIn } from './asking.ts';
import { tempFolder } from '../world/temp-folder.ts';

const run = promisify(execFile);

const folder = tempFolder();
let certificate: Certificate;
beforeAll(async () => {
  certificate = { key: path.join(folder, 'key.pem'), cert: path.join(folder, 'cert.pem') };
  const request = 'req -x509 -newkey rsa:2048 -nodes -subj /CN=redis -addext subjectAltName=IP:127.0.0.1';
  const files = ['-keyout', certificate.key, '-out', certificate.cert];
  await run(requireServer('openssl'), [...request.split(' '), ...files]);
});

const writeConfig = (store: string) => writeWorldConfig(folder, { store });

it('a rediss:// URL is a checked certificate', async () => {
  const port = await freePort();
  const { cert, key } = certificate;
  const tls = ['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key];
  const server = await startRedis({
    settings: [...tls, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no'],
  });
  const store = `rediss://127.0.0.1:${port}`;
  const { configFile } = await writeConfig(store);
  const check = async (env: Readonly<Record<string, string>>) =>
    run(process.execPath, [MAIN, 'keys', 'list', '--config', configFile], {
      env: { ...process.env, ...WORLD_ENV, ...env },
    }).catch((error: unknown) => error as { readonly stdout: string; readonly stderr: string });
  expect((await check({ NODE_EXTRA_CA_CERTS: cert })).stderr).toContain('there are no signing keys yet');
  expect((await check({})).stderr).toContain(`the store at ${store} can't be used: self-signed certificate`);
  await server.stop();
});

describe.each([
  ['behind Sentinels', startSentinel, /^rediss\+sentinel:/],
  ['on a Cluster', startCluster, /^rediss\+cluster:/],
] as const)('over TLS %s', (_, start, url) => {
  let group: RedisGroup;
  beforeAll(async () => {
    group = await start([], certificate);
  });
  afterAll(() => group.stop());

  it('the service does not start without the authority', async () => {
    expect(group.url).toMatch(url);
    const world = await writeConfig(group.url);
    await expect(startProcess(world.configFile)).rejects.toThrow(/can't be used: /);
  });

  it('users sign in, and go on when a master is gone', async () => {
    const world = await writeConfig(group.url);
    const trusting = ['env', `NODE_EXTRA_CA_CERTS=${certificate.cert}`, process.execPath, MAIN];
    forTest(await startProcess(world.configFile, trusting));
    const people = await Promise.all([1, 2, 3, 4].map(() => untilSignedIn(world)));
    const killed = await killMaster(group);
    await untilTrue('all of it is answered again', async () => {
      const answers = await Promise.all(people.map(({ tokens }) => introspect(world, tokens.access_token)));
      return answers.every(({ active }) => active === true);
    });
    // On a Cluster its only replica is now the master, and no replica confirms that a token is used up.
    await group.restart(killed);
    // A refresh that no replica confirms may be spent, so the test sends none before the replica is back.
    await untilTrue('it is a replica again', async () =>
      /role:slave[^]*master_link_status:up/.test(
        await group.ask(killed, (redis) => redis.info('replication')),
      ),
    );
    for (const { tokens } of people) expect(await refreshed(world, tokens.refresh_token)).toBe(200);
  });
});

/** A late confirmation is a 503, and the token counts as spent: the user signs in again. */
async function refreshed(world: World, token: string | undefined): Promise<number> {
  const { status } = await refresh(world, token);
  return status === 503 ? refreshed(world, (await untilSignedIn(world)).tokens.refresh_token) : status;
}

async function killMaster(group: RedisGroup): Promise<RedisServer> {
  for (const node of group.nodes) {
    const info = await group.ask(node, (redis) => redis.info('replication'));
    if (!info.includes('role:master')) continue;
    // An unconfirmed write, such as an access token, may be lost with a master; this test isn't about that.
    await untilTrue('its replicas have everything', async () => {
      const text = await group.ask(node, (redis) => redis.info('replication'));
      const own = /master_repl_offset:(\d+)/.exec(text)?.[1];
      const theirs = [...text.matchAll(/slave\d+:.*offset=(\d+)/g)].map(([, offset]) => offset);
      return theirs.length > 0 && theirs.every((offset) => offset === own);
    });
    await node.kill();
    return node;
  }
  throw new Error('no master');
}
