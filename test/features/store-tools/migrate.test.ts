// `postern store migrate` as an administrator runs it, on real stores.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RedisServer, startRedis } from '../../world/servers.ts';
import { signIn } from '../../world/app.ts';
import { introspect } from '../../world/presented-tokens.ts';
import { get } from '../../world/requests.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { startWorld, WORLD_ENV } from '../../world/world.ts';
import { postern as runHere, useEnvironment } from '../../world/terminal.ts';

const PASSWORD = 'the-store-password';

let server: RedisServer;
useEnvironment(() => WORLD_ENV);
beforeEach(async () => {
  server = await startRedis({ password: PASSWORD });
  process.env['TEST_STORE'] = server.url;
});
afterEach(async () => {
  delete process.env['TEST_STORE'];
  await server.stop();
});

async function posternHere(...args: readonly string[]) {
  const ended = await runHere(args);
  expect(ended.stdout + ended.stderr).not.toContain(PASSWORD);
  return ended;
}

it('postern store migrate takes the keys from lmdb to Redis, so that old tokens verify', async () => {
  const world = await startWorld();
  const { tokens } = await signIn(world);
  const jwks = (await get(world, '/oauth/jwks.json')).text;
  const moving = ['store', 'migrate', '--config', world.configFile, '--to'];
  const plain = await posternHere(...moving, server.url);
  expect(plain).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('contains a password') as string,
  });
  const first = await posternHere(...moving, 'env:TEST_STORE', '--json');
  expect([first.code, JSON.parse(first.stdout)]).toEqual([
    0,
    { moved: expect.objectContaining({ keys: 2 }) as object },
  ]);
  const again = await posternHere(...moving, 'env:TEST_STORE');
  expect(again).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the target store is not empty') as string,
  });

  const moved = await startWorld({ store: server.url, issuer: world.issuer });
  await world.stop();
  expect((await get(moved, '/oauth/jwks.json')).text).toBe(jwks);
  // Its record wasn't migrated: the token is never active, and the user signs in again.
  expect(await introspect(moved, tokens.access_token)).toEqual({ active: false });
  expect((await refresh(moved, tokens.refresh_token)).status).toBe(400);
  await signIn(moved);
  await moved.stop();
});
