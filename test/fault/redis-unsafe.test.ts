// A Redis that would lose tokens, or no longer accepts the service: /readyz reports it, and the service doesn't start on it.
import { describe, expect, it } from 'vitest';
import { untilTrue } from '../world/redis-groups.ts';
import { post, readiness } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { startWorld } from '../world/world.ts';
import { PASSWORD, useOutagePlace } from './outage-place.ts';

const place = useOutagePlace();

describe('a Redis that is not safe', () => {
  it('RD-22: is named at /readyz, with the setting, as soon as it begins to throw keys away', async () => {
    const { raw, world } = place();
    await raw.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await readiness(world)).toMatchObject({
      status: 503,
      problems: [
        'the store is unsafe: its maxmemory-policy is allkeys-lru, which evicts tokens and keys; set it to noeviction',
      ],
    });
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    expect((await readiness(world)).status).toBe(200);
  });

  it('RD-22, RD-26: is not started on, and the reason names the setting and no password', async () => {
    const { raw, server } = place();
    const start = () => startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${server.port}` });
    await raw.config('SET', 'maxmemory-policy', 'volatile-lru');
    await expect(start()).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can't be used: its maxmemory-policy is volatile-lru/,
    );
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    await raw.replicaof('127.0.0.1', '1');
    await expect(start()).rejects.toThrow(/it is a slave, not the master$/);
    await raw.replicaof('NO', 'ONE');
    await expect(startWorld({ store: `redis://:wrong-one@127.0.0.1:${server.port}` })).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can't be used: WRONGPASS (?!.*wrong-one)/,
    );
  });

  it('RD-26: is neither started on nor used without the database that the URL names, and nothing is written to database 0', async () => {
    const { raw, server } = place();
    const start = (rest: string) => startWorld({ store: `redis://${rest}` });
    await expect(start(`:${PASSWORD}@127.0.0.1:${server.port}/99`)).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+\/99 can't be used: ERR DB index is out of range$/,
    );
    await raw.acl('SETUSER', 'postern', 'on', '>pw', '~*', '&*', '+@all');
    const other = await start(`postern:pw@127.0.0.1:${server.port}/3`);
    const before = await raw.dbsize();
    await raw.acl('SETUSER', 'postern', '-select');
    await raw.client('KILL', 'USER', 'postern');
    await untilTrue('it is not ready', async () => (await readiness(other)).status === 503);
    const answer = await post(other, '/oauth/revoke', { token: 'x' }, { authorization: basic('svc') });
    expect(answer.status).toBe(503);
    expect(await raw.dbsize()).toBe(before);
    await raw.acl('SETUSER', 'postern', '+select');
    await untilTrue('it is ready', async () => (await readiness(other)).status === 200);
    await other.stop();
  });

  it('RD-26: is not ready for a user who may not read our keys', async () => {
    const { raw, server } = place();
    await raw.acl('SETUSER', 'postern', 'reset', 'on', '>pw', '~other:*', '+@all');
    const url = `redis://postern:pw@127.0.0.1:${server.port}`;
    await expect(startWorld({ store: url })).rejects.toThrow(/NOPERM|not be reached/);
  });
});
