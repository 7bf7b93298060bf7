import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import { DAY, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { eachStore, useWorld } from '../world/each-store.ts';
import { DEFAULT_SCOPE, introspect, post, refresh, signIn, userinfo } from '../world/flows.ts';
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

  it('ends the whole family when a used refresh token is used again', async () => {
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

  it('serves one of ten that refresh at once, and ends the family', async () => {
    const { tokens } = await signIn(world());
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => refresh(world(), tokens.refresh_token)),
    );
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(1);
    expect(answers.filter(({ body }) => body['error'] === 'invalid_grant')).toHaveLength(9);
    const successor = await refresh(world(), String(served[0]?.body['refresh_token']));
    expect(successor.body['error']).toBe('invalid_grant');
  });

  it('narrows the scope where asked, and gives the whole of it again later', async () => {
    const { tokens } = await signIn(world());
    const narrow = (await refresh(world(), tokens.refresh_token, { scope: 'openid email' })).body;
    expect(narrow['scope']).toBe('openid email');
    expect(decodeJwt(String(narrow['access_token']))).toMatchObject({
      scope: 'openid email',
      aud: world().issuer,
    });
    const claims = (await userinfo(world(), String(narrow['access_token']))).body;
    expect(Object.keys(claims).toSorted()).toEqual(['email', 'email_verified', 'sub']);
    const whole = (await refresh(world(), String(narrow['refresh_token']))).body;
    expect(whole['scope']).toBe(DEFAULT_SCOPE);
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
  ] as const)('gives none to %s', async (_case, options) => {
    const { tokens } = await signIn(world(), options);
    expect(tokens.refresh_token).toBeUndefined();
    expect(tokens.scope).not.toContain('offline_access');
  });

  it('is for the client that it was given to, and stays good when another tries', async () => {
    const { tokens } = await signIn(world());
    const foreign = await refresh(world(), tokens.refresh_token, {}, 'web2');
    expect([foreign.status, foreign.body['error']]).toEqual([400, 'invalid_grant']);
    const asPublic = await post(world(), '/oauth/token', {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: tokens.refresh_token ?? '',
    });
    expect([asPublic.status, asPublic.body['error']]).toEqual([400, 'invalid_grant']);
    const nobody = await post(world(), '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token ?? '',
    });
    expect([nobody.status, nobody.body['error']]).toEqual([401, 'invalid_client']);
    expect((await refresh(world(), tokens.refresh_token)).status).toBe(200);
  });

  it('rotates for a public client, that sends no secret', async () => {
    const { tokens } = await signIn(world(), { client: 'spa' });
    const form = { grant_type: 'refresh_token', client_id: 'spa' };
    const first = await post(world(), '/oauth/token', { ...form, refresh_token: tokens.refresh_token ?? '' });
    expect(first.status).toBe(200);
    expect(first.body['refresh_token']).not.toBe(tokens.refresh_token);
    const reuse = await post(world(), '/oauth/token', { ...form, refresh_token: tokens.refresh_token ?? '' });
    expect(reuse.body['error']).toBe('invalid_grant');
  });

  it.each(['reports.read nope', 'reports.write'])(
    'refuses a scope that was not granted: %s',
    async (scope) => {
      const { tokens } = await signIn(world());
      const answer = await refresh(world(), tokens.refresh_token, { scope });
      expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_scope']);
      expect((await refresh(world(), tokens.refresh_token)).status).toBe(200);
    },
  );

  it.each([
    ['', 'invalid_request'],
    ['nonsense', 'invalid_grant'],
  ])('refuses the refresh token "%s" with %s', async (token, error) => {
    const answer = await refresh(world(), token);
    expect([answer.status, answer.body['error']]).toEqual([400, error]);
  });

  it('keeps the resource that was asked for', async () => {
    const scope = 'openid offline_access reports.read';
    const { tokens } = await signIn(world(), { scope, parameters: { resource: API } });
    const renewed = await refresh(world(), tokens.refresh_token);
    expect(decodeJwt(String(renewed.body['access_token']))).toMatchObject({
      aud: API,
      scope: 'reports.read',
    });
  });

  it('is not an access token', async () => {
    const { tokens } = await signIn(world());
    expect((await userinfo(world(), tokens.refresh_token ?? '')).body['error']).toBe('invalid_token');
  });
});

// The clock moves by minutes: a service that was not told of its keys for longer does not sign.
const SHORT = { lifetimes: { refresh_token: '4m', refresh_token_absolute: '9m' } };

describe('the life of a refresh token', () => {
  const world = useWorld();

  it('is 14 days unless the file says otherwise', async () => {
    const { tokens } = await signIn(world());
    const { exp, iat } = await introspect(world(), tokens.refresh_token ?? '', 'web');
    expect(Number(exp) - Number(iat)).toBe(14 * DAY);
  });
});

describe('the idle life of a refresh token', () => {
  const world = useWorld({ config: SHORT });
  standingClock();

  it('begins anew with each use, and ends', async () => {
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

  it('ends from the sign-in on, however often it is used', async () => {
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
