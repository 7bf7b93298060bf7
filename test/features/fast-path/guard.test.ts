// A feature that declares a client's requests not plain only disables the fast path for them: the engine answers as before.
import Provider from 'oidc-provider';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as account from '../../../src/features/account/run.ts';
import type { Guard } from '../../../src/oidc/guard.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { machineToken, signIn } from '../../world/app.ts';
import { useWorld } from '../../world/each-store.ts';
import { introspect, userinfo } from '../../world/presented-tokens.ts';
import { post } from '../../world/requests.ts';
import { basic, refresh } from '../../world/token-endpoint.ts';
import { GENEROUS, PEOPLE } from '../../world/world.ts';

/** The engine reads its context in each request that it handles. */
async function isAnsweredByEngine(ask: () => Promise<unknown>): Promise<boolean> {
  const asked = vi.spyOn(Provider, 'ctx', 'get');
  await ask();
  const { results } = asked.mock;
  const isEngine = results.some(({ value }) => value !== undefined);
  asked.mockRestore();
  return isEngine;
}

describe('a feature beside the fast path', () => {
  const world = useWorld();
  beforeAll(() => {
    // As in production: at debug every request goes through the middleware.
    world().recorded.telemetry.log.level = 'info';
  });

  async function reloadWith(guard: Guard): Promise<void> {
    const { open } = account;
    const opened = vi.spyOn(account, 'open').mockImplementation((app) => ({ ...open(app), guard }));
    await world().reload({ ...GENEROUS, account: true });
    opened.mockRestore();
  }

  /** Returns the endpoints that the engine answered, once the clients are known at their address. */
  async function answeredByEngine(guard: Guard) {
    await reloadWith(guard);
    const { tokens } = await signIn(world(), { scope: 'openid offline_access reports.read' });
    const machines = await machineToken(world(), 'reports.read');
    await introspect(world(), machines, 'rs1');
    let newest = String((await refresh(world(), tokens.refresh_token)).body['refresh_token']);
    const asks = {
      client_credentials: async () => {
        const form = { grant_type: 'client_credentials', scope: 'reports.read' };
        const answer = await post(world(), '/oauth/token', form, { authorization: basic('svc') });
        expect(answer.status).toBe(200);
      },
      refresh: async () => {
        const { status, body } = await refresh(world(), newest);
        expect(status).toBe(200);
        newest = String(body['refresh_token']);
      },
      'introspection of a machine’s token': async () => {
        expect(await introspect(world(), machines, 'rs1')).toMatchObject({ active: true, sub: 'svc' });
      },
      'introspection of a user’s token': async () => {
        expect(await introspect(world(), tokens.access_token, 'rs1')).toMatchObject({ client_id: 'web' });
      },
      userinfo: async () => {
        expect((await userinfo(world(), tokens.access_token)).body).toMatchObject({ sub: PEOPLE.alice });
      },
    };
    const found: string[] = [];
    for (const [name, ask] of Object.entries(asks)) if (await isAnsweredByEngine(ask)) found.push(name);
    return found;
  }

  it('costs nothing where it says that the clients are plain', async () => {
    expect(await answeredByEngine({ isPlain: () => true })).toEqual([]);
  });

  it('leaves everything to the engine where it says that none is', async () => {
    expect(await answeredByEngine({ isPlain: () => false })).toEqual([
      'client_credentials',
      'refresh',
      'introspection of a machine’s token',
      'introspection of a user’s token',
      'userinfo',
    ]);
  });

  it('leaves an outage to the engine, and no bug', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    for (const [error, isLeft] of [
      [new StoreUnavailable(), true],
      [new TypeError('a bug'), false],
    ] as const) {
      await reloadWith({ isPlain: () => true, sees: () => Promise.reject(error) });
      const ask = () => userinfo(world(), tokens.access_token);
      expect(await isAnsweredByEngine(ask)).toBe(isLeft);
    }
  });

  it('leaves to the engine what is asked by a client that is not plain, and what is asked of its tokens', async () => {
    const isPlain = ({ clientId }: { readonly clientId: string }) => clientId !== 'web';
    expect(await answeredByEngine({ isPlain })).toEqual([
      'refresh',
      'introspection of a user’s token',
      'userinfo',
    ]);
  });
});
