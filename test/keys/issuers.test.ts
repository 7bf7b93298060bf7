// The issuer of a store: the one that started on it first. Any other is refused; on one Redis each of several issuers may have its
// own prefix.
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort, startRedis } from '../world/servers.ts';
import { machineToken, signIn } from '../world/app.ts';
import { introspect } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { postern, useEnvironment } from '../world/terminal.ts';
import { type Node, publishedKids, startNode } from './nodes.ts';
import { tempFolder } from '../world/temp-folder.ts';
import { readiness } from '../world/requests.ts';
import { useStarted } from '../world/started.ts';

const [OLD, NEW] = ['http://127.0.0.1:1/old', 'http://127.0.0.1:1/new'];

useEnvironment(() => WORLD_ENV);

describe.each(['lmdb', 'redis'] as const)('a store, on %s', (engine) => {
  const folder = tempFolder();
  const redis = useStarted(async () => (engine === 'redis' ? startRedis() : undefined));
  const store = () => redis()?.url ?? `lmdb:${path.join(folder, 'data')}`;

  async function write(issuer: string): Promise<string> {
    const ports = [await freePort(), await freePort()] as const;
    return (await writeWorldConfig(folder, { store: store(), issuer }, ports)).configFile;
  }

  async function startsOnce(issuer: string): Promise<void> {
    await (await startNode({ store: store(), issuer })).stop();
  }

  async function isRefused(issuer: string, owner: string): Promise<void> {
    const refusal = `the store belongs to the issuer ${owner}, not to ${issuer}`;
    await expect(startNode({ store: store(), issuer })).rejects.toThrow(refusal);
    const { code, stdout, stderr } = await postern(['keys', 'rotate', '--config', await write(issuer)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(refusal);
  }

  it('belongs to the issuer that started first', async () => {
    await startsOnce(OLD);
    await isRefused(NEW, OLD);
    await startsOnce(OLD);
  });
});

describe('two issuers on one Redis', () => {
  let nodes: Node[] = [];
  const redis = useStarted(() => startRedis());
  afterEach(async () => {
    for (const node of nodes) await node.stop();
    nodes = [];
  });

  it('share no key, person or token when each has a prefix', async () => {
    for (const prefix of ['a:', 'b:']) {
      nodes.push(await startNode({ store: `${redis().url}?prefix=${prefix}` }));
    }
    const [a, b] = nodes;
    if (a === undefined || b === undefined) throw new Error('they have not started');
    const kids = await publishedKids(b);
    expect(kids).not.toContain((await publishedKids(a))[0]);
    const { tokens } = await signIn(a);
    const token = await machineToken(a, 'reports.read');
    expect((await introspect(a, token))['active']).toBe(true);
    expect((await introspect(b, token))['active']).toBe(false);
    expect((await refresh(b, tokens.refresh_token)).body['error']).toBe('invalid_grant');
    expect((await refresh(a, tokens.refresh_token)).status).toBe(200);

    const client = new Redis(redis().url);
    const keys = await client.keys('*');
    await client.quit();
    expect(keys.filter((key) => !/^[ab]:postern:/.test(key))).toEqual([]);
    expect(keys.filter((key) => key.startsWith('a:postern:record:RefreshToken:'))).toHaveLength(2);
    expect(keys.filter((key) => key.startsWith('b:postern:record:Session:'))).toEqual([]);
  });

  it('without one: the second is refused, and the first goes on', async () => {
    const first = await startNode({ store: redis().url });
    nodes.push(first);
    await expect(startNode({ store: redis().url })).rejects.toThrow('the store belongs to the issuer');
    await first.turn();
    expect((await readiness(first)).status).toBe(200);
  });
});
