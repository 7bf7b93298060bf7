import { decodeJwt } from 'jose';
import { tokenRevocation } from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { eachStore, useWorld } from '../world/each-store.ts';
import { basic, introspect, machineToken, post, refresh, signIn, userinfo } from '../world/flows.ts';
import { type SECRETS, startWorld, type World } from '../world/world.ts';

const INACTIVE = { active: false };

async function revoke(world: World, token: string, caller: keyof typeof SECRETS, form = {}) {
  return post(world, '/oauth/revoke', { token, ...form }, { authorization: basic(caller) });
}

eachStore('token revocation', (world) => {
  it('Spec §4 POST /oauth/revoke: ends a person’s access token, through openid-client', async () => {
    const { tokens, configuration } = await signIn(world());
    await tokenRevocation(configuration, tokens.access_token);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
    expect(await introspect(world(), tokens.access_token, 'web')).toEqual(INACTIVE);
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
  });

  it('ends a refresh token and every token of its grant', async () => {
    const { tokens } = await signIn(world());
    const renewed = (await refresh(world(), tokens.refresh_token)).body;
    const answer = await revoke(world(), String(renewed['refresh_token']), 'web');
    expect([answer.status, answer.text]).toEqual([200, '']);
    const late = await refresh(world(), String(renewed['refresh_token']));
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await introspect(world(), String(renewed['access_token']))).toEqual(INACTIVE);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
  });

  it('ends a machine token, and no other of that service', async () => {
    const [one, other] = [
      await machineToken(world(), 'reports.read'),
      await machineToken(world(), 'reports.read'),
    ];
    expect((await revoke(world(), one, 'svc')).status).toBe(200);
    expect(await introspect(world(), one)).toEqual(INACTIVE);
    expect(await introspect(world(), one, 'svc')).toEqual(INACTIVE);
    expect(await introspect(world(), other)).toMatchObject({ active: true });
  });

  it('answers 200 again for what is revoked already', async () => {
    const token = await machineToken(world(), 'reports.read');
    for (let count = 0; count < 2; count += 1) expect((await revoke(world(), token, 'svc')).status).toBe(200);
    expect(await introspect(world(), token)).toEqual(INACTIVE);
  });
});

describe('POST /oauth/revoke', () => {
  const world = useWorld();

  it('IS-18: leaves a foreign token alive, and refuses a confidential client (RFC 7009 §2.1)', async () => {
    const { tokens } = await signIn(world());
    const machine = await machineToken(world(), 'reports.read');
    for (const token of [tokens.access_token, tokens.refresh_token ?? '', machine]) {
      const answer = await revoke(world(), token, 'web2');
      expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
      const unproven = await post(world(), '/oauth/revoke', { token, client_id: 'spa' });
      expect([unproven.status, unproven.text]).toEqual([200, '']);
    }
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
    expect(await introspect(world(), machine)).toMatchObject({ active: true });
    expect((await refresh(world(), tokens.refresh_token)).status).toBe(200);
  });

  it('does not let the API of a token revoke it', async () => {
    const token = await machineToken(world(), 'reports.read');
    await revoke(world(), token, 'rs1');
    expect(await introspect(world(), token)).toMatchObject({ active: true });
  });

  it('takes no bare jti for a token', async () => {
    const { tokens } = await signIn(world());
    const machine = await machineToken(world(), 'reports.read');
    await revoke(world(), decodeJwt(tokens.access_token).jti ?? '', 'web');
    await revoke(world(), decodeJwt(machine).jti ?? '', 'svc');
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
    expect(await introspect(world(), machine)).toMatchObject({ active: true });
  });

  it.each(['garbage', 'a.b.c', '..'])(
    'answers 200 for the unknown token %s (RFC 7009 §2.2)',
    async (token) => {
      const answer = await revoke(world(), token, 'web');
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    },
  );

  it.each(['access_token', 'refresh_token', 'nonsense'])(
    'revokes either kind with token_type_hint %s',
    async (hint) => {
      const { tokens } = await signIn(world());
      const machine = await machineToken(world(), 'reports.read');
      await revoke(world(), tokens.access_token, 'web', { token_type_hint: hint });
      expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
      await revoke(world(), machine, 'svc', { token_type_hint: hint });
      expect(await introspect(world(), machine)).toEqual(INACTIVE);
      const other = await signIn(world());
      await revoke(world(), other.tokens.refresh_token ?? '', 'web', { token_type_hint: hint });
      expect((await refresh(world(), other.tokens.refresh_token)).body['error']).toBe('invalid_grant');
    },
  );

  it('lets a public client revoke what is its own', async () => {
    const { tokens } = await signIn(world(), { client: 'spa', scope: 'openid reports.read' });
    const form = { token: tokens.access_token };
    expect((await post(world(), '/oauth/revoke', { ...form, client_id: 'native' })).status).toBe(200);
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
    expect((await post(world(), '/oauth/revoke', { ...form, client_id: 'spa' })).status).toBe(200);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
  });

  it('wants client authentication: 401 invalid_client with a challenge, and the token lives', async () => {
    const token = await machineToken(world(), 'reports.read');
    const answer = await post(world(), '/oauth/revoke', { token });
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_client']);
    expect(answer.headers.get('www-authenticate')).toBe(`Basic realm="${world().issuer}"`);
    const named = await post(world(), '/oauth/revoke', { token, client_id: 'svc' });
    expect([named.status, named.body['error']]).toEqual([401, 'invalid_client']);
    expect(await introspect(world(), token)).toMatchObject({ active: true });
  });

  it.each([
    ['no token', ''],
    ['an empty token', 'token='],
    ['two tokens', 'token=a&token=b'],
  ])('answers %s with 400 invalid_request', async (_case, form) => {
    const answer = await post(world(), '/oauth/revoke', form, { authorization: basic('web') });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });

  it('Spec §4 Content-Type: revocation takes a form only', async () => {
    const headers = { authorization: basic('web'), 'content-type': 'application/json' };
    const answer = await post(world(), '/oauth/revoke', '{"token":"a"}', headers);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('two services on one Redis', () => {
  let redis: RedisServer;
  let here: World;
  let there: World;
  beforeAll(async () => {
    redis = await startRedis();
    here = await startWorld({ store: redis.url });
    there = await startWorld({ store: redis.url, issuer: here.issuer });
  });
  afterAll(async () => {
    await here.stop();
    await there.stop();
    await redis.stop();
  });

  it('know each other’s tokens, and a revocation binds the next request on both', async () => {
    const { tokens } = await signIn(here);
    const machine = await machineToken(here, 'reports.read');
    for (const [token, owner] of [
      [tokens.access_token, 'web'],
      [machine, 'svc'],
    ] as const) {
      expect(await introspect(there, token)).toMatchObject({ active: true });
      expect((await revoke(here, token, owner)).status).toBe(200);
      expect(await introspect(there, token)).toEqual(INACTIVE);
    }
    expect((await userinfo(there, tokens.access_token)).status).toBe(401);
  });

  it('take one another’s codes and refresh tokens, once', async () => {
    const { tokens } = await signIn(here);
    const [first, second] = await Promise.all([
      refresh(here, tokens.refresh_token),
      refresh(there, tokens.refresh_token),
    ]);
    expect([first.status, second.status].toSorted((a, b) => a - b)).toEqual([200, 400]);
  });
});
