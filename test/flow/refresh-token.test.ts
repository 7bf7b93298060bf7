import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import { MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { eachStore, useWorld } from '../world/each-store.ts';
import { signIn } from '../world/app.ts';
import { DEFAULT_SCOPE } from '../world/authorization-request.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { API, PEOPLE } from '../world/world.ts';

eachStore('the refresh_token grant', (world) => {
  it('Spec §1 refresh_token: gives new tokens through openid-client', async () => {
    const { configuration, tokens } = await signIn(world());
    const renewed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    expect(renewed.refresh_token).toMatch(/^[\w-]{43}$/);
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
    expect(renewed.scope).toBe(DEFAULT_SCOPE);
    const [before, after] = [decodeJwt(tokens.access_token), decodeJwt(renewed.access_token)];
    expect(after).toMatchObject({
      sub: PEOPLE.alice,
      aud: [API, world().issuer],
      client_id: 'web',
      auth_time: before['auth_time'],
    });
    expect(after.jti).not.toBe(before.jti);
    expect((await userinfo(world(), renewed.access_token)).body['sub']).toBe(PEOPLE.alice);
  });

  it('RT-01: ends the whole family when a used refresh token is used again', async () => {
    const { tokens } = await signIn(world());
    const second = (await refresh(world(), tokens.refresh_token)).body;
    const third = (await refresh(world(), String(second['refresh_token']))).body;
    expect(await introspect(world(), String(third['access_token']))).toMatchObject({ active: true });

    const reuse = await refresh(world(), tokens.refresh_token);
    expect([reuse.status, reuse.body['error']]).toEqual([400, 'invalid_grant']);
    const newest = await refresh(world(), String(third['refresh_token']));
    expect([newest.status, newest.body['error']]).toEqual([400, 'invalid_grant']);
    for (const token of [tokens.access_token, second['access_token'], third['access_token']]) {
      expect(await introspect(world(), String(token))).toEqual({ active: false });
      expect((await userinfo(world(), String(token))).status).toBe(401);
    }
  });
});

describe('what a refresh token is given for', () => {
  const world = useWorld();

  it.each([
    ['offline_access without prompt=consent', { scope: DEFAULT_SCOPE, parameters: { prompt: 'login' } }],
    ['no offline_access', { scope: 'openid email', parameters: { prompt: 'consent' } }],
    [
      'a client without the grant',
      { client: 'first-party', scope: 'openid email', parameters: { prompt: 'consent' } },
    ],
  ] as const)('AZ-25, RT-11: gives none to %s', async (_case, options) => {
    const { tokens } = await signIn(world(), options);
    expect(tokens.refresh_token).toBeUndefined();
    expect(tokens.scope).not.toContain('offline_access');
  });
});

// The clock moves by minutes only: a service that hasn't read its keys for longer doesn't sign.
const SHORT = { lifetimes: { refresh_token: '4m', refresh_token_absolute: '9m' } };

describe('the idle life of a refresh token', () => {
  const world = useWorld({ config: SHORT });
  standingClock();

  it('RT-08: begins anew with each use, and ends when it was not used', async () => {
    const { tokens } = await signIn(world());
    moveClock(4 * MINUTE - 1);
    const renewed = await refresh(world(), tokens.refresh_token);
    expect(renewed.status).toBe(200);
    moveClock(4 * MINUTE);
    const late = await refresh(world(), String(renewed.body['refresh_token']));
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
  });
});

describe('the absolute life of a chain of refresh tokens', () => {
  const world = useWorld({ config: SHORT });
  standingClock();

  it('RT-09: ends the configured time after the sign-in, however often it is used', async () => {
    const { tokens } = await signIn(world());
    let token = tokens.refresh_token;
    for (const seconds of [3 * MINUTE, 3 * MINUTE, 3 * MINUTE - 1]) {
      moveClock(seconds);
      const renewed = await refresh(world(), token);
      expect(renewed.status).toBe(200);
      token = String(renewed.body['refresh_token']);
    }
    moveClock(1);
    const late = await refresh(world(), token);
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
  });
});
