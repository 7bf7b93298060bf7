import { tokenRevocation } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { eachStore, useWorld } from '../world/each-store.ts';
import { machineToken, signIn } from '../world/app.ts';
import { introspect, revoke, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { basic, refresh } from '../world/token-endpoint.ts';

const INACTIVE = { active: false };

eachStore('token revocation', (world) => {
  it('Spec §4 POST /oauth/revoke, IS-02: ends a user’s access token and its grant, through openid-client', async () => {
    const { tokens, configuration } = await signIn(world());
    await tokenRevocation(configuration, tokens.access_token);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
    expect(await introspect(world(), tokens.access_token, 'web')).toEqual(INACTIVE);
    const refused = await userinfo(world(), tokens.access_token);
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_token']);
    expect((await refresh(world(), tokens.refresh_token)).status).toBe(400);
  });

  it('IS-17: ends a refresh token and every token of its grant', async () => {
    const { tokens } = await signIn(world());
    const renewed = (await refresh(world(), tokens.refresh_token)).body;
    const answer = await revoke(world(), String(renewed['refresh_token']), 'web');
    expect([answer.status, answer.text]).toEqual([200, '']);
    const late = await refresh(world(), String(renewed['refresh_token']));
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await introspect(world(), String(renewed['access_token']))).toEqual(INACTIVE);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
  });

  it('IS-02: ends a machine token, and no other of that service; a second time is 200 as well', async () => {
    const [one, other] = [
      await machineToken(world(), 'reports.read'),
      await machineToken(world(), 'reports.read'),
    ];
    for (let count = 0; count < 2; count += 1) {
      const answer = await revoke(world(), one, 'svc');
      expect([answer.status, answer.text]).toEqual([200, '']);
    }
    expect(await introspect(world(), one)).toEqual(INACTIVE);
    expect(await introspect(world(), one, 'svc')).toEqual(INACTIVE);
    expect(await introspect(world(), other)).toMatchObject({ active: true });
  });
});

describe('POST /oauth/revoke', () => {
  const world = useWorld();

  it.each(['access_token', 'refresh_token', 'nonsense'])('IS-10: revokes with hint %s', async (hint) => {
    const { tokens } = await signIn(world());
    const machine = await machineToken(world(), 'reports.read');
    await revoke(world(), tokens.access_token, 'web', { token_type_hint: hint });
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
    await revoke(world(), machine, 'svc', { token_type_hint: hint });
    expect(await introspect(world(), machine)).toEqual(INACTIVE);
    const other = await signIn(world());
    await revoke(world(), other.tokens.refresh_token, 'web', { token_type_hint: hint });
    expect((await refresh(world(), other.tokens.refresh_token)).body['error']).toBe('invalid_grant');
  });

  it('lets a public client revoke what is its own', async () => {
    const { tokens } = await signIn(world(), { client: 'spa', scope: 'openid reports.read' });
    const form = { token: tokens.access_token };
    expect((await post(world(), '/oauth/revoke', { ...form, client_id: 'native' })).status).toBe(400);
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
    expect((await post(world(), '/oauth/revoke', { ...form, client_id: 'spa' })).status).toBe(200);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
  });

  it('Spec §4 Content-Type: revocation takes a form only', async () => {
    const headers = { authorization: basic('web'), 'content-type': 'application/json' };
    const answer = await post(world(), '/oauth/revoke', '{"token":"a"}', headers);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});
