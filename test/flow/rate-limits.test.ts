import { beforeAll, describe, expect, it, vi } from 'vitest';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { authorizationPath, VERIFIER } from '../world/authorization-request.ts';
import { introspect } from '../world/presented-tokens.ts';
import { type Answer, get, post } from '../world/requests.ts';
import { basic, redeem } from '../world/token-endpoint.ts';
import { API, CALLBACK, OTHER_API, SECRETS, type World, worldClients } from '../world/world.ts';
import { MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { anyStore, eachStore, useWorld } from '../world/each-store.ts';

const TWO = '2/1m';
const MACHINE = { grant_type: 'client_credentials' };
const AUTHORIZE = authorizationPath();
const behindProxy = { trusted_proxies: ['127.0.0.1'] };
const from = (address: string) => ({ 'x-forwarded-for': address });

/** Callers without valid client credentials count by their address. */
const ANYBODY = { client_id: 'nobody', client_secret: 'x' };
const REQUESTS: readonly [string, (world: World, headers?: Record<string, string>) => Promise<Answer>][] = [
  ['GET /oauth/authorize', (world, headers) => get(world, AUTHORIZE, headers)],
  ['POST /oauth/token', (world, headers) => post(world, '/oauth/token', { ...MACHINE, ...ANYBODY }, headers)],
  ['GET /oauth/userinfo', (world, headers) => get(world, '/oauth/userinfo', headers)],
  [
    'POST /oauth/introspect',
    (world, headers) => post(world, '/oauth/introspect', { token: 'x', ...ANYBODY }, headers),
  ],
  [
    'POST /oauth/revoke',
    (world, headers) => post(world, '/oauth/revoke', { token: 'x', ...ANYBODY }, headers),
  ],
  ['GET /oauth/logout', (world, headers) => get(world, '/oauth/logout', headers)],
];

/** Spec §7: 429 with the seconds to wait; otherwise an error as in RFC 6749 §5.2. */
function expectLimited(answer: Answer): number {
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.body).toEqual({
    error: 'temporarily_unavailable',
    error_description: 'too many requests, wait before trying again',
    request_id: expect.stringMatching(/^[\da-f-]{36}$/),
  });
  return Number(answer.headers.get('retry-after'));
}

const BY_ADDRESS = {
  config: {
    ...behindProxy,
    rate_limits: {
      token: '4/1m',
      introspection: TWO,
      revocation: TWO,
      userinfo: TWO,
      authorization: TWO,
      logout: TWO,
    },
  },
};

eachStore('rate limits by address', BY_ADDRESS, (world) => {
  it.each(REQUESTS)('Spec §7 rate limit exceeded: %s is 429 until Retry-After', async (_name, request) => {
    try {
      moveClock(0);
      const statuses = [(await request(world())).status, (await request(world())).status];
      expect(statuses.includes(429)).toBe(false);
      const wait = expectLimited(await request(world()));
      expect(wait).toBeLessThanOrEqual(60);
      // The limit of one address doesn't affect another address.
      expect((await request(world(), from('192.0.2.1'))).status).toBe(statuses[0]);
      moveClock(wait);
      expect((await request(world())).status).toBe(statuses[0]);
    } finally {
      vi.useRealTimers();
    }
  });
});

const BY_NETWORK = { config: { ...behindProxy, rate_limits: { authorization: TWO, logout: TWO } } };
anyStore('rate limits by network', BY_NETWORK, (world) => {
  it.each([
    ['/oauth/logout', 200],
    [AUTHORIZE, 303],
  ])('HT-12: %s answers 429 to a network above ten times the limit of an address', async (path, ok) => {
    const ask = async (address: string) => get(world(), path, from(address));
    for (let host = 1; host <= 20; host += 1) {
      expect((await ask(`203.0.113.${host}`)).status).toBe(ok);
    }
    expectLimited(await ask('203.0.113.21'));
    for (let host = 1; host <= 20; host += 1) {
      expect((await ask(`2001:db8:1:${host}::1`)).status).toBe(ok);
    }
    expectLimited(await ask('2001:db8:1:21::1'));
    expect((await ask('203.0.114.1')).status).toBe(ok);
  });
});

const RELOADED = { ...behindProxy, rate_limits: { token: '200/1m' } };

anyStore('limits when the configuration changes', { config: RELOADED }, (world) => {
  standingClock();
  const token = async (client: 'svc' | 'rs1' | 'web' | 'web2' | 'post', address: string, secret?: string) =>
    post(world(), '/oauth/token', MACHINE, { ...from(address), authorization: basic(client, secret) });
  const reload = async (name: string) => world().reload({ ...RELOADED, branding: { name } });

  it('CF-01: a limit that is reached stays reached', async () => {
    let passed = 0;
    while ((await token('svc', '192.0.2.1')).status === 200) passed += 1;
    expect(passed).toBeGreaterThanOrEqual(200);
    for (const name of ['first', 'second']) {
      await reload(name);
      expectLimited(await token('svc', '192.0.2.1'));
    }
    moveClock(MINUTE + 1);
    expect((await token('svc', '192.0.2.1')).status).toBe(200);
  });
});

describe('rate limits and pages', () => {
  const world = useWorld({ config: { rate_limits: { authorization: '1/1m' } } });

  it('Spec §7 a browser that ran into the limit sees a page, with the same status and headers', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    await get(world(), AUTHORIZE, headers);
    const answer = await get(world(), AUTHORIZE, headers);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('too many requests, wait before trying again');
  });
});

describe('Spec §8 limits by client', () => {
  const world = useWorld({
    config: {
      ...behindProxy,
      rate_limits: { token: TWO, introspection: TWO, revocation: TWO },
      clients: worldClients({ rs1: { rate_limits: { token: '4/1m' } } }),
    },
  });
  let host = 0;
  const fresh = () => from(`198.51.100.${(host += 1)}`);

  it.each([
    ['/oauth/token', 'svc', MACHINE],
    ['/oauth/revoke', 'web', { token: 'x' }],
  ] as const)('count a client at %s from wherever it comes', async (path, client, form) => {
    const send = async () => post(world(), path, form, { ...fresh(), authorization: basic(client) });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    expectLimited(await send());
    const limit = path === '/oauth/token' ? 'token.client' : 'revocation.unknown';
    const ofLimit = (entry: object) => 'limit' in entry && entry.limit === limit;
    const logged = world()
      .recorded.log.map((line) => JSON.parse(line) as object)
      .find(ofLimit);
    expect(logged).toMatchObject({ clientId: client, address: `198.51.100.${host}`, times: 1 });
    const recorded = world().recorded.audit('limit_reached').find(ofLimit);
    expect(recorded).toMatchObject({ client_id: client, address: `198.51.100.${host}`, times: 1 });
  });

  it('are not used up by a caller who only knows the client_id', async () => {
    for (let count = 0; count < 5; count += 1) {
      const headers = { ...fresh(), authorization: basic('web', 'wrong') };
      expect((await post(world(), '/oauth/introspect', { token: 'x' }, headers)).status).toBe(401);
    }
    const headers = { ...fresh(), authorization: basic('web') };
    expect((await post(world(), '/oauth/introspect', { token: 'x' }, headers)).status).toBe(200);
  });

  it('may be the client’s own', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      const headers = { ...fresh(), authorization: basic('rs1') };
      statuses.push((await post(world(), '/oauth/token', MACHINE, headers)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
  });
});

const LOOK_UPS = {
  config: {
    ...behindProxy,
    rate_limits: { introspection: '60/1m', userinfo: '4/1m' },
    lifetimes: { access_token: '1h' },
    resources: [
      { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'] },
      {
        resource: OTHER_API,
        scopes: ['other.read'],
        introspection_clients: ['rs1'],
        access_token: '5m',
      },
    ],
  },
};

anyStore('an API that is sent tokens that are not live', LOOK_UPS, (world) => {
  standingClock();
  const ask = async (form: Record<string, string>, client: 'rs1' | 'svc' = 'rs1', address = '192.0.2.40') =>
    post(world(), '/oauth/introspect', form, { ...from(address), authorization: basic(client) });
  // Created before the clock moves: a service that has not read its keys for minutes signs nothing.
  let live: { machine: string; person: string };
  let dead: readonly Record<string, string>[];
  beforeAll(async () => {
    const revoke = async (token: string, client: 'svc' | 'web') =>
      post(world(), '/oauth/revoke', { token }, { authorization: basic(client) });
    const [revoked, expired] = [await machineToken(world()), await machineToken(world(), 'other.read')];
    await revoke(revoked, 'svc');
    const signedIn = async (scope = 'openid reports.read') =>
      (await signIn(world(), { scope })).tokens.access_token;
    const revokedPerson = await signedIn();
    await revoke(revokedPerson, 'web');
    live = { machine: await machineToken(world(), 'reports.read'), person: await signedIn() };
    const [header, claims] = live.machine.split('.');
    const tampered = `${header}.${claims}.${'A'.repeat(342)}`;
    // Valid, but not for this API to introspect.
    const foreign = await signedIn('openid');
    const tokens = ['x'.repeat(43), 'a.b.c', tampered, revoked, revokedPerson, expired, foreign];
    // The last two are requests of an API that received no token at all.
    dead = [...tokens.map((token) => ({ token })), { token: '' }, {}];
    moveClock(6 * MINUTE);
  });

  it('IS-29: goes on answering live ones: the others have a limit of their own, for each client', async () => {
    for (const form of dead) {
      moveClock(MINUTE + 1);
      for (let count = 0; count < 3; count += 1) {
        const { status, body } = await ask(form);
        const isAnswered = status === 200 ? body['active'] === false : status === 400;
        expect(isAnswered, JSON.stringify(form)).toBe(true);
      }
      for (let count = 0; count < 10; count += 1) expectLimited(await ask(form));
      for (let count = 0; count < 5; count += 1) {
        expect((await ask({ token: live.machine })).body, JSON.stringify(form)).toMatchObject({
          active: true,
        });
        expect((await ask({ token: live.person })).body).toMatchObject({ active: true });
      }
    }
    // The client's limit is sixty requests: none of those above counted.
    for (let count = 10; count < 60; count += 1)
      expect((await ask({ token: live.machine })).status).toBe(200);
    expectLimited(await ask({ token: live.machine }));
    // Another client behind that address has its own limits.
    expect((await ask({ token: live.machine }, 'svc')).body).toMatchObject({ active: true });
    expect((await ask({ token: 'x' }, 'svc')).body).toEqual({ active: false });
  });

  it('IS-29: is not stopped by callers behind its address that do not authenticate', async () => {
    moveClock(MINUTE + 1);
    const anonymous = async () =>
      post(world(), '/oauth/introspect', { token: live.machine }, from('192.0.2.41'));
    for (let count = 0; count < 60; count += 1) expect((await anonymous()).status).toBe(401);
    expectLimited(await anonymous());
    expect((await ask({ token: live.machine }, 'rs1', '192.0.2.41')).body).toMatchObject({ active: true });
  });

  it('asks userinfo about live ones all the same', async () => {
    moveClock(MINUTE + 1);
    const userinfo = async (token: string) =>
      get(world(), '/oauth/userinfo', { ...from('192.0.2.42'), authorization: `Bearer ${token}` });
    for (let count = 0; count < 4; count += 1) expect((await userinfo(`x${count}`)).status).toBe(401);
    expectLimited(await userinfo('x'));
    for (let count = 0; count < 4; count += 1) {
      expect((await userinfo(live.person)).status).toBe(200);
    }
    expectLimited(await userinfo(live.person));
  });
});

const refreshing = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token });
const CODE = { grant_type: 'authorization_code', redirect_uri: CALLBACK, code_verifier: VERIFIER };

const FIVE_A_MINUTE = {
  config: { ...behindProxy, rate_limits: { token: '5/1m', revocation: TWO } },
};

anyStore('an app that is sent codes and tokens that are not real', FIVE_A_MINUTE, (world) => {
  standingClock();
  type Form = Readonly<Record<string, string>>;
  const send = async (path: string, form: Form, client: 'web' | 'svc' = 'web', address = '192.0.2.50') =>
    post(world(), path, form, { ...from(address), authorization: basic(client) });
  const token = async (form: Form, client?: 'web' | 'svc') => send('/oauth/token', form, client);
  const revoke = async (one: string, client?: 'web' | 'svc') => send('/oauth/revoke', { token: one }, client);
  const nextOf = ({ status, body }: Answer) => {
    expect(status).toBe(200);
    return String(body['refresh_token']);
  };
  const signedIn = async () => String((await signIn(world())).tokens.refresh_token);
  /** A code of a signed-in user, with another client's verifier. */
  const stolen = async () => {
    const { callback, redirectUri } = await authorize(world());
    return { ...CODE, code: callback.searchParams.get('code') ?? '', redirect_uri: redirectUri };
  };

  it('exchanges real ones all the same: the others have a limit of their own, for each client', async () => {
    const [used, real] = [await signedIn(), await signedIn()];
    nextOf(await token(refreshing(used)));
    moveClock(MINUTE + 1);
    const code = await authorize(world());
    const refused: readonly Form[] = [
      refreshing('x'.repeat(43)),
      refreshing(used),
      { ...CODE, code: 'x'.repeat(43) },
      await stolen(),
      { grant_type: 'refresh_token' },
    ];
    for (const form of refused) expect((await token(form)).status, JSON.stringify(form)).toBe(400);
    for (const form of refused) expectLimited(await token(form));
    // The limits are five requests of the client and two of the address: none of those above counted.
    let latest = real;
    for (let count = 0; count < 4; count += 1) latest = nextOf(await token(refreshing(latest)));
    expect((await redeem(world(), code)).status).toBe(200);
    const limited = await token(refreshing(latest));
    // Services behind the same address have their own limits.
    expect((await token(MACHINE, 'svc')).status).toBe(200);
    // A refused request uses nothing up.
    moveClock(expectLimited(limited));
    nextOf(await token(refreshing(latest)));
  });

  it('ends the sign-in of a replayed token, although the answer is 429', async () => {
    moveClock(MINUTE + 1);
    const first = await signedIn();
    const second = nextOf(await token(refreshing(first)));
    for (let count = 0; count < 5; count += 1) await token(refreshing('x'));
    expectLimited(await token(refreshing(first)));
    moveClock(MINUTE + 1);
    expect((await token(refreshing(second))).body['error']).toBe('invalid_grant');
  });

  it('revokes real ones all the same', async () => {
    moveClock(MINUTE + 1);
    const machines = [await machineToken(world()), await machineToken(world()), await machineToken(world())];
    moveClock(MINUTE + 1);
    for (let count = 0; count < 2; count += 1) expect((await revoke('x', 'svc')).status).toBe(200);
    expectLimited(await revoke('x', 'svc'));
    const [first = '', second = '', third = ''] = machines;
    for (const one of [first, second]) expect((await revoke(one, 'svc')).status).toBe(200);
    // `first` is already revoked, and the limit is used up.
    expectLimited(await revoke(first, 'svc'));
    const limited = await revoke(third, 'svc');
    expect((await revoke('x')).status).toBe(200);
    expect((await introspect(world(), third, 'svc'))['active']).toBe(true);
    moveClock(expectLimited(limited));
    expect((await revoke(third, 'svc')).status).toBe(200);
    expect((await introspect(world(), third, 'svc'))['active']).toBe(false);
  });

  it.each(['/oauth/token', '/oauth/revoke'])('is not limited at %s by unknown callers', async (path) => {
    moveClock(MINUTE + 1);
    const form = path === '/oauth/token' ? MACHINE : { token: 'x' };
    const anonymous = async () => post(world(), path, form, from('192.0.2.51'));
    for (let count = 0; count < 2; count += 1) expect((await anonymous()).status).toBe(401);
    expectLimited(await anonymous());
    expect((await send(path, form, 'svc', '192.0.2.51')).status).toBe(200);
    // Any caller can name a public client, so only the address counts.
    expectLimited(await post(world(), path, { ...form, client_id: 'spa' }, from('192.0.2.51')));
  });
});

describe('failed client authentication', () => {
  const world = useWorld({ config: behindProxy });
  const cases = [
    ['/oauth/token', MACHINE],
    ['/oauth/introspect', { token: 'x' }],
    ['/oauth/revoke', { token: 'x' }],
  ] as const;

  it.each(cases)('TK-13: counts at %s by client and address, before the secret', async (path, form) => {
    const send = async (address: string, secret: string) =>
      post(world(), path, form, { ...from(address), authorization: basic('svc', secret) });
    for (let count = 0; count < 20; count += 1) {
      expect((await send('203.0.113.1', 'wrong')).status).toBe(401);
    }
    expectLimited(await send('203.0.113.1', SECRETS.svc));
    expect((await send('203.0.113.2', SECRETS.svc)).status).toBe(200);
  });
});
