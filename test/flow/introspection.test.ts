import path from 'node:path';
import { decodeJwt } from 'jose';
import { tokenIntrospection } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { freePort } from '../world/servers.ts';
import { standingClock, moveClock } from '../world/clock.ts';
import { anyStore, useWorld } from '../world/each-store.ts';
import { connect, machineToken, signIn } from '../world/app.ts';
import { introspect, introspection, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { testFolder } from '../world/temp-folder.ts';
import { basic } from '../world/token-endpoint.ts';
import { API, OTHER_API, PEOPLE, startWorld, worldClients } from '../world/world.ts';

const INACTIVE = { active: false };

anyStore('token introspection', (world) => {
  it('Spec §4 POST /oauth/introspect, IS-01: says everything of a person’s token that RFC 7662 §2.2 names', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid email reports.read' });
    const { jti, iat, exp, auth_time: authTime } = decodeJwt(tokens.access_token);
    expect(await introspect(world(), tokens.access_token)).toEqual({
      active: true,
      scope: 'openid email reports.read',
      client_id: 'web',
      token_type: 'Bearer',
      exp,
      iat,
      sub: PEOPLE.alice,
      aud: [API, world().issuer],
      iss: world().issuer,
      jti,
      auth_time: authTime,
    });
  });

  it('IS-01: says the same of a machine token, whose subject is the service', async () => {
    const token = await machineToken(world(), 'reports.read');
    const { jti, iat, exp } = decodeJwt(token);
    expect(await introspect(world(), token)).toEqual({
      active: true,
      scope: 'reports.read',
      client_id: 'svc',
      token_type: 'Bearer',
      exp,
      iat,
      sub: 'svc',
      aud: API,
      iss: world().issuer,
      jti,
    });
  });

  it('has the login name of a person with profile, and nobody else’s', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid profile reports.read' });
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ username: 'alice' });
    const without = await signIn(world(), { scope: 'openid email reports.read' });
    for (const token of [without.tokens.access_token, await machineToken(world(), 'reports.read')])
      expect(await introspect(world(), token)).not.toHaveProperty('username');
  });

  it('tells a client about its own refresh token, through openid-client', async () => {
    const { tokens, configuration } = await signIn(world());
    const answer = await tokenIntrospection(configuration, tokens.refresh_token ?? '');
    expect(answer).toMatchObject({ active: true, client_id: 'web', sub: PEOPLE.alice, iss: world().issuer });
    expect(answer).not.toHaveProperty('token_type');
    expect(answer).not.toHaveProperty('jti');
  });
});

describe('POST /oauth/introspect', () => {
  const world = useWorld();
  const personsToken = async () => (await signIn(world(), { scope: 'openid reports.read' })).tokens;

  it.each([
    ['an ID token', async () => (await personsToken()).id_token ?? ''],
    ['garbage', async () => 'garbage'],
    ['three parts of garbage', async () => 'a.b.c'],
    ['five parts of garbage', async () => 'a.b.c.d.e'],
    ['dots alone', async () => '..'],
  ])('answers exactly {"active":false} for %s', async (_case, make) => {
    const token = await make();
    expect(token.length).toBeGreaterThan(1);
    for (const caller of ['rs1', 'web', 'svc'] as const) {
      const answer = await introspection(world(), token, caller);
      expect([answer.status, answer.text]).toEqual([200, '{"active":false}']);
    }
  });

  it('Spec §4 Content-Type: introspection takes a form only', async () => {
    const headers = { authorization: basic('rs1'), 'content-type': 'application/json' };
    const answer = await post(world(), '/oauth/introspect', '{"token":"a"}', headers);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('introspection and time', () => {
  const world = useWorld();
  standingClock();

  it('Spec §5 exp: a token is inactive from its end on', async () => {
    const configuration = await connect(world(), 'svc');
    const machine = await machineToken(world(), 'reports.read');
    const { tokens } = await signIn(world());
    moveClock(599);
    expect((await tokenIntrospection(configuration, machine)).active).toBe(true);
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
    moveClock(2);
    expect(await introspect(world(), machine)).toEqual(INACTIVE);
    expect(await introspect(world(), tokens.access_token)).toEqual(INACTIVE);
  });
});

it('a token for an API that is gone from the configuration is inactive for everybody, its own client included, and for who asks before and after', async () => {
  const folder = testFolder();
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const start = (resource: string) =>
    startWorld({
      issuer,
      store: `lmdb:${path.join(folder, 'data')}`,
      config: {
        resources: [
          { resource, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'] },
          { resource: OTHER_API, scopes: ['other.read'], introspection_clients: ['rs1'] },
        ],
      },
    });
  const before = await start(API);
  const person = await signIn(before, { scope: 'openid reports.read' });
  const bound = await signIn(before, { scope: 'openid reports.read', parameters: { resource: API } });
  const machine = await machineToken(before, 'reports.read');
  const gone = [bound.tokens.access_token, machine];
  for (const token of gone) expect(await introspect(before, token)).toMatchObject({ active: true });
  await before.stop();

  const after = await start('urn:example:renamed');
  for (const token of gone) {
    for (const caller of ['rs1', 'web', 'svc'] as const) {
      // First the engine answers, then the layer in front of it.
      for (let turn = 0; turn < 3; turn += 1)
        expect(await introspect(after, token, caller)).toEqual(INACTIVE);
    }
  }
  // The issuer is still an audience, the other one is gone.
  expect(await introspect(after, person.tokens.access_token, 'web')).toEqual(INACTIVE);
  expect((await userinfo(after, person.tokens.access_token)).status).toBe(401);
  await after.stop();
});

describe('a token whose client', () => {
  const world = useWorld();
  const both = async (scope: string) => [
    await machineToken(world(), scope),
    (await signIn(world(), { scope: `openid ${scope}` })).tokens.access_token,
  ];

  it('CF-05: lost all scopes of its API is inactive there; shorter lifetimes end none', async () => {
    const tokens = await both('reports.read');
    await world().reload({ lifetimes: { access_token: '5m' } });
    for (const token of tokens) expect(await introspect(world(), token)).toMatchObject({ active: true });
    const scope = 'openid offline_access other.read';
    const svc = { scope: 'other.read', default_scope: 'other.read' };
    await world().reload({ clients: worldClients({ svc, web: { scope } }) });
    for (const token of tokens) {
      for (const caller of ['rs1', 'svc', 'rs1', 'svc'] as const)
        expect(await introspect(world(), token, caller), caller).toEqual(INACTIVE);
    }
    // At userinfo it is still valid.
    const [, ofUser = ''] = tokens;
    expect(await introspect(world(), ofUser, 'web')).toMatchObject({ active: true, scope: 'openid' });
    expect((await userinfo(world(), ofUser)).status).toBe(200);
  });
});

describe('a token from the future', () => {
  const world = useWorld();
  standingClock();

  it('is nobody’s beyond what clocks may differ by, also where it was seen before', async () => {
    const machine = await machineToken(world(), 'reports.read');
    const { tokens } = await signIn(world(), { scope: 'openid reports.read' });
    const all = [machine, tokens.access_token];
    moveClock(-240);
    for (const token of all) expect(await introspect(world(), token)).toMatchObject({ active: true });
    expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
    moveClock(-1);
    for (const token of all) expect(await introspect(world(), token)).toEqual(INACTIVE);
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
    moveClock(241);
    for (const token of all) expect(await introspect(world(), token)).toMatchObject({ active: true });
  });
});
