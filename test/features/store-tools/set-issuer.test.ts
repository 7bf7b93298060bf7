// A store of one issuer becomes that of another.
import path from 'node:path';
import { expect, it } from 'vitest';
import { startNode } from '../../keys/nodes.ts';
import { freePort, startRedis } from '../../world/servers.ts';
import { testFolder } from '../../world/temp-folder.ts';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { WORLD_ENV, writeWorldConfig } from '../../world/world.ts';

const [OLD, NEW] = ['http://127.0.0.1:1/old', 'http://127.0.0.1:1/new'];

useEnvironment(() => WORLD_ENV);

it.each(['lmdb', 'redis'])('a store on %s belongs to another issuer after set-issuer', async (engine) => {
  const folder = testFolder();
  const redis = engine === 'redis' ? await startRedis() : undefined;
  try {
    const store = redis?.url ?? `lmdb:${path.join(folder, 'data')}`;
    const startsOnce = async (issuer: string) => (await startNode({ store, issuer })).stop();
    await startsOnce(OLD);
    const ports = [await freePort(), await freePort()] as const;
    const { configFile } = await writeWorldConfig(folder, { store, issuer: NEW }, ports);
    const set = await postern(['store', 'set-issuer', '--json', '--config', configFile]);
    expect([set.code, JSON.parse(set.stdout)]).toEqual([0, { issuer: NEW, before: OLD }]);
    await startsOnce(NEW);
    await expect(startsOnce(OLD)).rejects.toThrow(`the store belongs to the issuer ${NEW}, not to ${OLD}`);
  } finally {
    await redis?.stop();
  }
});
