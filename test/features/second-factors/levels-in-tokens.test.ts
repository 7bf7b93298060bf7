// What tokens say about their sign-in (the `amr` values of each way, and its level), and whether they work at a client that requires a
// higher level.
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { levelOf } from '../../../src/users/authentication-methods.ts';
import { amrOf, isRecovered, type Proof } from '../../../src/features/second-factors/proofs.ts';
import { signIn, takeCode } from '../../world/app.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { anyStore } from '../../world/each-store.ts';
import { introspect, userinfo } from '../../world/presented-tokens.ts';
import { get } from '../../world/requests.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { NEVER } from '../../world/turns.ts';
import { API, GENEROUS, type OpenWorld, worldClients } from '../../world/world.ts';

const CONFIG = { ...GENEROUS, sign_in: { one_time_codes: true } };
const AT_LEAST_TWO = { sign_in: { require: 'second_factor' } };
const BY_PASSWORD = { acr: 'urn:postern:acr:password', amr: ['pwd'] };

async function expectDead(world: OpenWorld, accessToken: string, refreshToken: string | undefined) {
  expect(await introspect(world, accessToken, 'web')).toEqual({ active: false });
  expect((await userinfo(world, accessToken)).status).toBe(401);
  const refused = await refresh(world, refreshToken);
  expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
}

anyStore('a sign-in by password', { config: CONFIG, rotationTimer: NEVER }, (world) => {
  standingClock();
  // As in production: at debug no refresh takes the fast path.
  beforeAll(() => {
    world().recorded.telemetry.log.level = 'info';
  });

  it('is called that in each token, also after a refresh', async () => {
    const expected = BY_PASSWORD;
    await world().reload(CONFIG);
    const { tokens } = await signIn(world(), { scope: 'openid offline_access reports.read' });
    const { body } = await refresh(world(), tokens.refresh_token);
    const slow = await refresh(world(), String(body['refresh_token']), { scope: 'openid reports.read' });
    for (const answer of [tokens, body, slow.body]) {
      expect(decodeJwt(String(answer['id_token']))).toMatchObject(expected);
      expect(decodeJwt(String(answer['access_token']))).toMatchObject(expected);
      expect(await introspect(world(), String(answer['access_token']))).toMatchObject(expected);
    }
    const atApi = await signIn(world(), { scope: 'openid reports.read', parameters: { resource: API } });
    expect(decodeJwt(atApi.tokens.access_token)).toMatchObject(expected);
  });

  it('is in no token, and no level in discovery, where the file says nothing of it', async () => {
    await world().reload(GENEROUS);
    const { tokens } = await signIn(world(), {
      scope: 'openid',
      parameters: { acr_values: BY_PASSWORD.acr },
    });
    for (const token of [tokens.id_token, tokens.access_token])
      for (const claim of ['acr', 'amr']) expect(decodeJwt(String(token))).not.toHaveProperty(claim);
    const { body } = await get(world(), '/.well-known/openid-configuration');
    expect(body).not.toHaveProperty('acr_values_supported');
  });

  it('discovery has the levels that are on, from weak to strong', async () => {
    await world().reload(CONFIG);
    const { body } = await get(world(), '/.well-known/openid-configuration');
    expect(body['acr_values_supported']).toEqual([BY_PASSWORD.acr, 'urn:postern:acr:second-factor']);
    expect(body['claims_supported']).toEqual(expect.arrayContaining(['acr', 'amr']));
    await world().reload({ ...CONFIG, sign_in: {} });
    const without = await get(world(), '/.well-known/openid-configuration');
    expect(without.body['acr_values_supported']).toEqual([BY_PASSWORD.acr]);
  });

  it('is good for nothing at a client that requires more since, and its grant stays dead', async () => {
    await world().reload(CONFIG);
    const scope = 'openid offline_access';
    const { tokens } = await signIn(world(), { scope });
    const other = await signIn(world(), { client: 'web2', scope });
    const unused = await takeCode(world(), { scope });
    const needs = { ...CONFIG, clients: worldClients({ web: AT_LEAST_TWO }) };
    await world().reload(needs);
    await expectDead(world(), tokens.access_token, tokens.refresh_token);
    const late = await redeem(world(), { code: unused.code, verifier: unused.verifier });
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    // Other clients still accept it.
    expect((await refresh(world(), other.tokens.refresh_token, {}, 'web2')).status).toBe(200);
    expect(world().recorded.audit('grant_ended').at(-1)).toMatchObject({ client_id: 'web' });
    await world().reload(CONFIG);
    await expectDead(world(), tokens.access_token, tokens.refresh_token);
  });

  it('is rejected everywhere once the user’s grace period is over', async () => {
    await world().reload({
      ...CONFIG,
      sign_in: { ...CONFIG.sign_in, second_factor: 'required', grace: '5m' },
    });
    const { tokens } = await signIn(world(), { scope: 'openid offline_access' });
    moveClock(2 * MINUTE);
    const { status, body } = await refresh(world(), tokens.refresh_token);
    expect(status).toBe(200);
    moveClock(3 * MINUTE);
    await expectDead(world(), String(body['access_token']), String(body['refresh_token']));
  });
});

const key = (verifiedUser: boolean, synced: boolean): Proof => ({ passkey: { verifiedUser, synced } });

describe('a sign-in', () => {
  it.each([
    ['a password', ['password'], 'pwd', 'password'],
    ['a password and a one-time code', ['password', 'one_time_code'], 'pwd otp mfa', 'second_factor'],
    ['a password and a recovery code', ['password', 'recovery_code'], 'pwd mfa', 'second_factor'],
    ['a password and a security key', ['password', key(false, false)], 'pwd hwk mfa', 'second_factor'],
    ['a passkey', [key(true, false)], 'hwk user mfa', 'passkey'],
    ['a synced passkey', [key(true, true)], 'swk user mfa', 'passkey'],
    ['a password and a passkey', ['password', key(true, true)], 'pwd swk user mfa', 'passkey'],
    // The service offers no such sign-in: the level must not be higher than this.
    ['a security key alone', [key(false, false)], 'hwk', 'password'],
  ] satisfies (readonly [string, readonly Proof[], string, string])[])(
    'MF-35: by %s says what was done',
    (_way, proofs, amr, level) => {
      expect(amrOf(proofs).join(' ')).toBe(amr);
      expect(levelOf(amrOf(proofs))).toBe(level);
      expect(isRecovered(amrOf(proofs))).toBe(proofs.includes('recovery_code'));
    },
  );

  it('of before there was any amr was one by password', () => {
    expect(levelOf(undefined)).toBe('password');
  });
});
