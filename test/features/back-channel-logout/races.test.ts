// A session ends without a request of its browser: the first process to notice notifies each of the user's apps once.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sidOf, type SignedIn, signIn } from '../../world/app.ts';
import { startLogoutReceiver } from '../../world/logout-receiver.ts';
import { type User } from '../../world/person.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { startTwoProcesses, type TwoProcesses } from '../../world/two-processes.ts';
import { PEOPLE, WORLD_ENV } from '../../world/world.ts';

const receiver = await startLogoutReceiver();
afterAll(() => receiver.stop());
useEnvironment(() => WORLD_ENV);

describe.each(['lmdb', 'redis'] as const)('back-channel logout, two processes on %s', (store) => {
  let two: TwoProcesses;
  const seen: SignedIn[] = [];
  beforeAll(async () => {
    const clients = receiver
      .clients('web', 'web2')
      .map((client) => (client.client_id === 'web2' ? { ...client, access: { groups: ['staff'] } } : client));
    const config = { outgoing: receiver.outgoing, groups: { staff: 'Employees' }, clients };
    const slow = { env: receiver.env, slowMs: 10 };
    two = await startTwoProcesses(store, config, { alice: { groups: ['staff'] } }, slow);
  });
  afterAll(() => two.stop());

  async function user(args: readonly string[], input = ''): Promise<Record<string, unknown>> {
    const [{ configFile }] = two.nodes;
    const { code, stdout, stderr } = await postern(
      ['user', ...args, '--config', configFile, '--json'],
      input,
    );
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  async function enter(person: User = 'alice', client: 'web' | 'web2' = 'web') {
    const app = await signIn(two.nodes[0], { person, client });
    seen.push(app);
    return app;
  }

  it('user sign-out: every app of every session', async () => {
    const [here, there] = [await enter(), await enter('alice', 'web2')];
    const bob = await enter('bob');
    await user(['sign-out', 'alice']);
    expect((await receiver.wait(sidOf(here)))[0]?.path).toBe('/web');
    const [sent] = await receiver.wait(sidOf(there));
    expect([sent?.path, sent?.claims.sub]).toEqual(['/web2', PEOPLE.alice]);
    expect(receiver.of(sidOf(bob))).toEqual([]);
    expect((await refresh(two.nodes[1], bob.tokens.refresh_token)).status).toBe(200);
  });

  it('each was sent once, and none for Bob', () => {
    const isBob = ({ tokens }: SignedIn) => decodeJwt(tokens.id_token ?? '').sub === PEOPLE.bob;
    expect(seen.map((app) => receiver.of(sidOf(app)).length)).toEqual(
      seen.map((app) => (isBob(app) ? 0 : 1)),
    );
  });
});
