// Introspection, revocation and userinfo: which client may learn what about a token, and what revokes it.
import { decodeJwt } from 'jose';
import { afterAll, afterEach, describe, expect, it, vi, onTestFinished } from 'vitest';
import { type AuthorizeOptions, machineToken, takeCode } from '../world/app.ts';
import { introspect, introspection, revoke, userinfo } from '../world/presented-tokens.ts';
import { type Answer, get, post, textOf } from '../world/requests.ts';
import { changeAccount } from '../world/store-access.ts';
import { basic, redeem, requestToken } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { GENEROUS, PEOPLE, startWorld, type World } from '../world/world.ts';
import { startTwoProcesses } from '../world/two-processes.ts';
import { signOut } from '../world/person.ts';
import { useWorld } from '../world/each-store.ts';

const world = useWorld({ rotationTimer: NEVER, config: GENEROUS });
afterEach(() => void vi.useRealTimers());

type Tokens = { readonly accessToken: string; readonly refreshToken: string; readonly idToken: string };

async function tokensOf(options: AuthorizeOptions = {}, at: World = world()): Promise<Tokens> {
  const answer = await redeem(at, await takeCode(at, options));
  return {
    accessToken: textOf(answer, 'access_token'),
    refreshToken: textOf(answer, 'refresh_token'),
    idToken: textOf(answer, 'id_token'),
  };
}

/** RFC 7662 §2.2: the only answer about a token that is inactive or that the caller may not inspect. */
function expectInactive(answer: Answer, what = ''): void {
  expect([answer.status, answer.text], what).toEqual([200, '{"active":false}']);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
}

describe('introspection', () => {
  it('IS-03: nobody learns anything without credentials', async () => {
    const { accessToken, refreshToken } = await tokensOf();
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      for (const token of [accessToken, refreshToken, 'x']) {
        const answer = await post(world(), path, { token });
        expect([answer.status, answer.body['error']], path).toEqual([401, 'invalid_client']);
        expect(answer.headers.get('www-authenticate'), path).toBe(`Basic realm="${world().issuer}"`);
      }
      const bearer = await post(
        world(),
        path,
        { token: accessToken },
        { authorization: `Bearer ${accessToken}` },
      );
      expect([bearer.status, bearer.body['error']], path).toEqual([400, 'invalid_request']);
      const named = await post(world(), path, { token: accessToken, client_id: 'rs1' });
      expect([named.status, named.body['error']], path).toEqual([401, 'invalid_client']);
    }
    expect(await introspect(world(), accessToken)).toMatchObject({ active: true });
  });

  it('IS-04: a public client, which anybody can be, learns nothing of tokens that are not its own, and is limited', async () => {
    const { accessToken, refreshToken } = await tokensOf();
    const own = await tokensOf({ client: 'spa' });
    const ask = async (token: string) => post(world(), '/oauth/introspect', { token, client_id: 'spa' });
    for (let asked = 0; asked < 20; asked += 1)
      expectInactive(await ask(asked % 2 === 0 ? accessToken : refreshToken));
    for (const token of [accessToken, refreshToken, 'x']) {
      const answer = await ask(token);
      expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true]);
    }
    expect((await ask(own.accessToken)).body).toMatchObject({ active: true, client_id: 'spa' });
    expect(await introspect(world(), accessToken)).toMatchObject({ active: true });
  });

  it('IS-05: a confidential client that is neither owner nor audience learns nothing', async () => {
    const { accessToken } = await tokensOf();
    for (const caller of ['svc', 'web2'] as const)
      expectInactive(await introspection(world(), accessToken, caller), caller);
    expect((await introspection(world(), accessToken, 'web')).body).toMatchObject({ active: true });
  });

  it('IS-06: an API learns nothing of a token for another API, or for the issuer alone', async () => {
    const machine = await machineToken(world(), 'other.read');
    expectInactive(await introspection(world(), machine));
    expect(await introspect(world(), machine, 'svc')).toMatchObject({ active: true });
    const answer = await redeem(world(), await takeCode(world(), { scope: 'openid email' }));
    expectInactive(await introspection(world(), textOf(answer, 'access_token')));
    // One audience of several is enough.
    const { accessToken } = await tokensOf();
    expect((await introspection(world(), accessToken)).body).toMatchObject({ active: true });
  });

  it('IS-07: a refresh token is nobody’s business but its client’s', async () => {
    const { refreshToken } = await tokensOf();
    for (const caller of ['rs1', 'svc', 'web2'] as const)
      expectInactive(await introspection(world(), refreshToken, caller), caller);
    const own = await introspection(world(), refreshToken, 'web');
    expect(own.body).toMatchObject({ active: true, client_id: 'web', sub: PEOPLE.alice });
    expect(own.body).not.toHaveProperty('jti');
    expect(own.text).not.toContain(refreshToken);
  });

  it('IS-08: the tokens of a disabled person are inactive, and userinfo refuses them', async () => {
    const { accessToken, refreshToken } = await tokensOf({ person: 'bob' });
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      expectInactive(await introspection(world(), accessToken));
      expectInactive(await introspection(world(), accessToken, 'web'));
      for (const caller of ['rs1', 'web'] as const)
        expectInactive(await introspection(world(), refreshToken, caller));
      const answer = await userinfo(world(), accessToken);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
    expect(await introspect(world(), accessToken)).toMatchObject({ active: true });
  });

  it('IS-09: a token of a session ends with it', async () => {
    const ticket = await takeCode(world(), { scope: 'openid reports.read' });
    const accessToken = textOf(await redeem(world(), ticket), 'access_token');
    expect((await introspection(world(), accessToken)).body['active']).toBe(true);
    await signOut(world(), ticket.browser);
    expectInactive(await introspection(world(), accessToken));
    expect((await userinfo(world(), accessToken)).status).toBe(401);
  });

  it('IS-09: the tokens of a client that was removed are inactive (a second service without it on the same store)', async () => {
    const [one] = (two ??= await startTwoProcesses('lmdb')).nodes;
    const { accessToken } = await tokensOf({}, one);
    const machine = textOf(
      await requestToken(one, 'svc', { grant_type: 'client_credentials', scope: 'reports.read' }),
      'access_token',
    );
    const rest = [
      {
        client_id: 'rs1',
        client_secret: 'env:TEST_RS1',
        grant_types: ['client_credentials'],
        scope: 'reports.read',
      },
    ];
    const removed = await startWorld({
      store: two.store,
      issuer: one.issuer,
      config: { ...GENEROUS, clients: rest },
    });
    onTestFinished(() => removed.stop());
    expect(await introspect(one, accessToken)).toMatchObject({ active: true });
    expect(await introspect(one, machine)).toMatchObject({ active: true });
    expect(await introspect(removed, accessToken)).toEqual({ active: false });
    expect(await introspect(removed, machine)).toEqual({ active: false });
    expect((await userinfo(removed, accessToken)).status).toBe(401);
  });

  it('IS-16: the bare jti of a token is no credential anywhere', async () => {
    const { accessToken } = await tokensOf();
    const machine = await machineToken(world(), 'reports.read');
    for (const token of [accessToken, machine]) {
      const jti = String(decodeJwt(token).jti);
      for (const value of [jti, `~${jti}`, `.${jti}.`, `${jti}.`, `..${jti}`]) {
        expectInactive(await introspection(world(), value), value);
        expect((await userinfo(world(), value)).status, value).toBe(401);
        expect((await post(world(), '/oauth/userinfo', { access_token: value })).status, value).toBe(401);
        const answer = await revoke(world(), value, token === machine ? 'svc' : 'web');
        expect(answer.status, value).toBe(200);
      }
      expect((await introspection(world(), token)).body['active']).toBe(true);
    }
  });

  it('IS-20: a missing or repeated token is a bad request', async () => {
    const headers = { authorization: basic('rs1') };
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      for (const form of ['', 'token=', 'token=a&token=b', 'token=a.b.c&token=a.b.c']) {
        const answer = await post(world(), path, form, headers);
        expect([answer.status, answer.body['error']], `${path} ${form}`).toEqual([400, 'invalid_request']);
      }
    }
  });
});

let two: Awaited<ReturnType<typeof startTwoProcesses>> | undefined;
afterAll(() => two?.stop());

describe('revocation', () => {
  it('IS-02: a revoked machine token stays revoked until it ends', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const token = await machineToken(world(), 'reports.read');
    await revoke(world(), token, 'svc');
    for (const seconds of [60, 300, 239, 2]) {
      vi.setSystemTime(Date.now() + seconds * 1000);
      expectInactive(await introspection(world(), token), String(seconds));
    }
  });

  it('IS-18: the token of another client survives, whatever its kind', async () => {
    const { accessToken, refreshToken } = await tokensOf();
    const machine = await machineToken(world(), 'reports.read');
    for (const client of ['web2', 'spa', 'rs1', 'post'] as const) {
      for (const token of [accessToken, refreshToken, machine]) {
        const { status, body } = await revoke(world(), token, client);
        expect([status, body['error']], client).toEqual([400, 'invalid_request']);
      }
    }
    expect((await introspection(world(), accessToken)).body['active']).toBe(true);
    expect((await introspection(world(), refreshToken, 'web')).body['active']).toBe(true);
    expect((await introspection(world(), machine)).body['active']).toBe(true);
  });

  it('IS-19: a token that does not exist is revoked already: 200 and no body', async () => {
    for (const token of ['zzz', '..', 'a.b.c', 'a.b.c.d.e', '*', '\0', 'x'.repeat(10_000)]) {
      const answer = await revoke(world(), token);
      expect([answer.status, answer.text], token.slice(0, 20)).toEqual([200, '']);
    }
  });
});

describe('userinfo', () => {
  it('IS-23: without a token a challenge without an error; with a bad one invalid_token', async () => {
    const none = await get(world(), '/oauth/userinfo');
    expect(none.status).toBe(401);
    expect(none.headers.get('www-authenticate')).toBe(`Bearer realm="${world().issuer}"`);

    const { accessToken, refreshToken } = await tokensOf();
    for (const authorization of [basic('web'), 'Digest username="x"', accessToken]) {
      const answer = await get(world(), '/oauth/userinfo', { authorization });
      expect(answer.status, authorization).toBe(400);
    }

    for (const token of ['garbage', 'a.b.c', 'x'.repeat(5000), refreshToken]) {
      const answer = await userinfo(world(), token);
      expect([answer.status, answer.body['error']], token.slice(0, 20)).toEqual([401, 'invalid_token']);
      const challenge = answer.headers.get('www-authenticate');
      expect(challenge).toMatch(/^Bearer realm="[^"]+", error="invalid_token"/);
      expect(challenge).not.toMatch(/DPoP|Basic/);
    }
  });

  it('IS-24: a token without openid is insufficient_scope', async () => {
    for (const scope of ['email', 'reports.read', 'email reports.read']) {
      const answer = await redeem(world(), await takeCode(world(), { scope }));
      expect(answer.body).not.toHaveProperty('id_token');
      const refused = await userinfo(world(), textOf(answer, 'access_token'));
      expect([refused.status, refused.body['error']], scope).toEqual([403, 'insufficient_scope']);
      expect(refused.headers.get('www-authenticate')).toMatch(
        /^Bearer .*error="insufficient_scope".*scope="openid"/,
      );
    }
  });

  it('IS-25: a token in the query is refused, also beside a good one', async () => {
    const { accessToken } = await tokensOf();
    const alone = await get(world(), `/oauth/userinfo?access_token=${accessToken}`);
    expect([alone.status, alone.body['error']]).toEqual([400, 'invalid_request']);
    expect(alone.text).not.toContain(accessToken);
    const beside = await get(world(), `/oauth/userinfo?access_token=${accessToken}`, {
      authorization: `Bearer ${accessToken}`,
    });
    expect([beside.status, beside.body['error']]).toEqual([400, 'invalid_request']);
  });

  it('IS-26: two ways at once are refused', async () => {
    const { accessToken } = await tokensOf();
    const answer = await post(
      world(),
      '/oauth/userinfo',
      { access_token: accessToken },
      { authorization: `Bearer ${accessToken}` },
    );
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });

  it('IS-27, PR-43: a claims parameter is not offered and gets nothing out', async () => {
    const claims = JSON.stringify({ userinfo: { email: null }, id_token: { email: { essential: true } } });
    const answer = await redeem(
      world(),
      await takeCode(world(), { scope: 'openid', parameters: { claims } }),
    );
    expect((await userinfo(world(), textOf(answer, 'access_token'))).body).toEqual({ sub: PEOPLE.alice });
    expect(decodeJwt(textOf(answer, 'id_token'))).not.toHaveProperty('email');
  });
});

it('IS-32: no answer about a token may be cached', async () => {
  const { accessToken } = await tokensOf();
  const answers = [
    await introspection(world(), accessToken),
    await introspection(world(), 'x'),
    await userinfo(world(), accessToken),
    await userinfo(world(), 'x'),
    await revoke(world(), 'x'),
    await post(world(), '/oauth/introspect', { token: 'x' }),
    await post(world(), '/oauth/revoke', { token: 'x' }),
  ];
  expect(answers.map(({ headers }) => headers.get('cache-control'))).toEqual(answers.map(() => 'no-store'));
  expect(answers.map(({ headers }) => headers.get('etag'))).toEqual(answers.map(() => null));
});
