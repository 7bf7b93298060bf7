// PKCE and authorization codes: a code is valid once, for the app, redirect URI and verifier that it was issued for.
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openTables } from '../../src/store/lmdb/tables.ts';
import { takeCode } from '../world/app.ts';
import {
  authorizationUrl,
  CHALLENGE,
  type CodeClient,
  REDIRECT_URIS,
  VERIFIER,
} from '../world/authorization-request.ts';
import { ask, newBrowser, redirectOf, signOut } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { type Answer, textOf } from '../world/requests.ts';
import { rounds } from '../world/rounds.ts';
import { changeAccount } from '../world/store-access.ts';
import { withStore } from '../world/stored.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { GENEROUS, PEOPLE, type StoreName } from '../world/world.ts';
import { startTwoProcesses } from '../world/two-processes.ts';
import { useWorld } from '../world/each-store.ts';
import { useStarted } from '../world/started.ts';

const world = useWorld({ rotationTimer: NEVER, config: GENEROUS });
afterEach(() => void vi.useRealTimers());

async function expectInvalidRequest(
  client: CodeClient,
  changes: Readonly<Record<string, string | undefined>>,
) {
  const page = await ask(world(), { client_id: client, ...changes });
  const { target, query } = redirectOf(page);
  const what = `${client} ${JSON.stringify(changes)}`;
  expect([page.status, target], what).toEqual([303, REDIRECT_URIS[client]]);
  expect(query, what).toMatchObject({
    error: 'invalid_request',
    state: 'state-of-the-client',
    iss: world().issuer,
  });
  expect(query, what).not.toHaveProperty('code');
}

describe('the code challenge', () => {
  it.each(Object.keys(REDIRECT_URIS) as CodeClient[])('PK-01: %s needs a code challenge', async (client) => {
    await expectInvalidRequest(client, { code_challenge: undefined, code_challenge_method: undefined });
    await expectInvalidRequest(client, { code_challenge: '', code_challenge_method: undefined });
    await expectInvalidRequest(client, { code_challenge: undefined });
  });

  it('Spec §4 GET /oauth/authorize, code_challenge_method, PK-02: plain is refused, and so is a challenge without a method', async () => {
    for (const method of ['plain', undefined, '', 's256', 'S512', 'none', 'S256 plain']) {
      await expectInvalidRequest('web', { code_challenge_method: method });
      await expectInvalidRequest('spa', { code_challenge_method: method });
    }
  });

  it('Spec §4 GET /oauth/authorize, code_challenge, PK-03: one that is no SHA-256 in base64url is refused', async () => {
    for (const challenge of [
      CHALLENGE.slice(1),
      `${CHALLENGE}${CHALLENGE}${CHALLENGE}`,
      `${CHALLENGE}=`,
      CHALLENGE.replace('-', '+'),
      `${CHALLENGE.slice(1)}/`,
      `${CHALLENGE.slice(1)}é`,
      `${CHALLENGE.slice(1)} `,
      `${CHALLENGE}\n`,
    ]) {
      await expectInvalidRequest('web', { code_challenge: challenge });
    }
  });
});

describe('the code verifier', () => {
  it('Spec §4 POST /oauth/token, authorization_code, code_verifier, PK-05: a wrong one is refused, and does not use up the code of its owner', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    const challenge = createHash('sha256').update(ticket.verifier).digest('base64url');
    for (const verifier of [
      VERIFIER,
      challenge,
      ticket.verifier.toLowerCase(),
      `${ticket.verifier.slice(1)}A`,
    ]) {
      const answer = await redeem(world(), ticket, { code_verifier: verifier });
      expect([answer.status, answer.body['error']], verifier).toEqual([400, 'invalid_grant']);
      expect(answer.body).not.toHaveProperty('access_token');
    }
    expect((await redeem(world(), ticket)).status).toBe(200);
  });

  it('PK-05: no verifier at all is refused', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    for (const verifier of [undefined, '']) {
      const answer = await redeem(world(), ticket, { code_verifier: verifier });
      expect([answer.status, answer.body['error']], String(verifier)).toEqual([400, 'invalid_grant']);
    }
  });

  it('PK-06: a verifier of the wrong form is refused', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    for (const verifier of [
      'a'.repeat(42),
      'a'.repeat(129),
      `${'a'.repeat(42)}é`,
      `${'a'.repeat(43)} `,
      '+'.repeat(43),
    ]) {
      const answer = await redeem(world(), ticket, { code_verifier: verifier });
      expect([answer.status, answer.body['error']], verifier).toEqual([400, 'invalid_request']);
    }
  });
});

describe('whose code it is', () => {
  it('PK-07: a code of one client is worth nothing to another', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    for (const client of ['web2', 'post', 'spa', 'native'] as const) {
      const answer = await redeem(world(), { ...ticket, client });
      expect([answer.status, answer.body['error']], client).toEqual([400, 'invalid_grant']);
    }
    expect((await redeem(world(), ticket)).status).toBe(200);
  });

  it('Spec §4 POST /oauth/token, authorization_code, redirect_uri, PK-08: that of the exchange must be the one of the request', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    for (const redirectUri of [
      'https://app.example/other',
      'https://app.example/out',
      `${ticket.redirectUri}/`,
      REDIRECT_URIS.web2,
    ]) {
      const answer = await redeem(world(), ticket, { redirect_uri: redirectUri });
      expect([answer.status, answer.body['error']], redirectUri).toEqual([400, 'invalid_grant']);
    }
    for (const redirectUri of [undefined, '']) {
      const answer = await redeem(world(), ticket, { redirect_uri: redirectUri });
      expect([answer.status, answer.body['error']], String(redirectUri)).toEqual([400, 'invalid_request']);
    }
  });

  it('Spec §4 POST /oauth/token, authorization_code, code, PK-13: one that was never issued, or of another kind, is refused without a 500', async () => {
    const ticket = await takeCode(world());
    const answer = await redeem(world(), ticket);
    const refreshToken = textOf(answer, 'refresh_token');
    const accessToken = textOf(answer, 'access_token');
    for (const code of [
      'x',
      '*',
      '{tag}x',
      'a\r\nFLUSHALL',
      '../../x',
      '\0',
      'a'.repeat(43),
      'a'.repeat(2e4),
      '__proto__',
      refreshToken,
      accessToken,
      String(decodeJwt(accessToken).jti),
      `${ticket.code}=`,
      ` ${ticket.code}`,
    ]) {
      const refused = await redeem(world(), ticket, { code });
      expect([refused.status, refused.body['error']], code.slice(0, 60)).toEqual([400, 'invalid_grant']);
    }
    const none = await redeem(world(), ticket, { code: '' });
    expect([none.status, none.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('a code is used once', () => {
  it.each([
    [
      'PK-09, PK-12: 30 s after the first use (Codereuse30seconds), which also ends what came of it',
      30,
      true,
    ],
    ['PK-12: 61 s after the first use, when the code itself has expired', 61, false],
  ])('%s, a replay is refused', async (_when, seconds, ends) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ticket = await takeCode(world());
    const first = await redeem(world(), ticket);
    vi.setSystemTime(Date.now() + seconds * 1000);
    const replay = await redeem(world(), ticket);
    expect([replay.status, replay.body['error']]).toEqual([400, 'invalid_grant']);
    const active = (await introspect(world(), textOf(first, 'access_token')))['active'];
    expect(active).toBe(!ends);
    expect((await userinfo(world(), textOf(first, 'access_token'))).status).toBe(ends ? 401 : 200);
    expect((await refresh(world(), textOf(first, 'refresh_token'))).status).toBe(ends ? 400 : 200);
  });

  it('PK-14: an unused code expires after 60 s', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const [early, late] = [
      await takeCode(world(), { scope: 'openid' }),
      await takeCode(world(), { scope: 'openid' }),
    ];
    vi.setSystemTime(Date.now() + 58_000);
    expect((await redeem(world(), early)).status).toBe(200);
    vi.setSystemTime(Date.now() + 3000);
    const answer = await redeem(world(), late);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
  });
});

describe.each<StoreName>(['lmdb', 'redis'])('two processes on %s', (storeName) => {
  const two = useStarted(() => startTwoProcesses(storeName));

  const WAVES = rounds(50, 5);

  it(`PK-10, PK-11: twenty parallel exchanges of one code give one answer, ${WAVES} times, and no token outlives it`, async () => {
    const [first, second] = two().nodes;
    const browser = newBrowser(first);
    // On a busy machine Redis may answer late, which gives a 503: the caller retries, as Retry-After says. Such a round may
    // lack its winner, but nothing else, and isn't counted.
    let late = 0;
    async function untilAnswered(request: () => Promise<Answer>): Promise<Answer> {
      const answer = await request();
      if (answer.status !== 503) return answer;
      late += 1;
      return untilAnswered(request);
    }
    let round = 0;
    for (let whole = 0; whole < WAVES; round += 1) {
      const ticket = await takeCode(first, { browser });
      late = 0;
      const exchanges = Array.from({ length: 20 }, async (_, index) =>
        untilAnswered(() => redeem(index % 2 === 0 ? first : second, ticket)),
      );
      const answers = await Promise.all(exchanges);
      const winners = answers.filter(({ status }) => status === 200);
      const losers = answers.filter(({ status }) => status !== 200);
      if (storeName === 'lmdb') expect(late).toBe(0);
      expect(winners.length, `round ${round}`).toBeLessThanOrEqual(1);
      if (late === 0) {
        expect(winners, `round ${round}`).toHaveLength(1);
        whole += 1;
      }
      for (const { status, body } of losers) expect([status, body['error']]).toEqual([400, 'invalid_grant']);
      // The winner's tokens are revoked in every round: one of the two callers may have been a thief (RFC 6749 §4.1.2).
      for (const winner of winners) {
        const accessToken = textOf(winner, 'access_token');
        const node = round % 2 === 0 ? first : second;
        expect(await introspect(node, accessToken), `round ${round}`).toEqual({ active: false });
        expect((await refresh(node, textOf(winner, 'refresh_token'))).status).toBe(400);
      }
    }
    expect(two().errors()).toBe('');
    if (storeName === 'redis') await expectNothingAlive(two().store, round);
    else await expectNothingAliveIn(two().store.replace('lmdb:', ''), round);
  }, 300_000);
});

/** Keys left by the rounds belong to revoked grants and expire: every key has an expiry, and no token is found. */
async function expectNothingAlive(url: string, played: number): Promise<void> {
  const raw = new Redis(url);
  try {
    for (const key of await raw.keys('postern:*')) {
      if (key.startsWith('postern:documents:')) continue;
      expect(await raw.pttl(key), key).toBeGreaterThan(0);
      if (!/^postern:record:(AccessToken|RefreshToken|AuthorizationCode|Grant):/.test(key)) continue;
      const grant = await raw.hget(key, 'g');
      expect(await raw.exists(`postern:{grant:${grant}}:dead`), key).toBe(1);
    }
    expect(await raw.keys('postern:*:dead')).toHaveLength(played);
  } finally {
    await raw.quit();
  }
}

/** The same for lmdb: records of a grant without its tombstone would still be valid. */
async function expectNothingAliveIn(folder: string, played: number): Promise<void> {
  const tables = openTables(folder);
  const { dead, left } = tables.read(() => ({
    dead: new Map(Array.from(tables.tombstones.getRange({}), ({ key, value }) => [key, value])),
    left: Array.from(tables.records.getRange({}), ({ key, value }) => ({ id: key, ...value })),
  }));
  await tables.close();
  expect(dead.size).toBe(played);
  for (const { id, grant, expiresAt } of left) {
    expect(expiresAt, id).toBeGreaterThan(Date.now() - 60_000);
    if (/^(AccessToken|RefreshToken|AuthorizationCode|Grant):/.test(id))
      expect(dead.has(grant ?? ''), id).toBe(true);
  }
  for (const end of dead.values()) expect(end).toBeGreaterThan(Date.now());
}

describe('who may not have it any more', () => {
  it('PK-17: a code is rejected once its user is disabled', async () => {
    const ticket = await takeCode(world(), { person: 'bob', scope: 'openid' });
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      const answer = await redeem(world(), ticket);
      expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
  });

  it('PK-18: a code of a session ends with it; one with offline_access is meant to outlive it', async () => {
    for (const [scope, status] of [
      ['openid', 400],
      ['openid offline_access', 200],
    ] as const) {
      const ticket = await takeCode(world(), { scope });
      const done = await signOut(world(), ticket.browser);
      expect(done.status).toBe(200);
      const answer = await redeem(world(), ticket);
      expect(answer.status, scope).toBe(status);
      if (status === 400) expect(answer.body['error']).toBe('invalid_grant');
    }
  });

  it('PK-19: a code whose consent is gone is refused', async () => {
    const ticket = await takeCode(world());
    const again = await takeCode(world(), { browser: ticket.browser });
    await redeem(world(), again);
    expect((await redeem(world(), again)).status).toBe(400); // revokes the grant that both codes share
    const answer = await redeem(world(), ticket);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
  });
});

describe('what a code and its ID token look like', () => {
  const CODES = rounds(10_000, 150);

  it(`PK-20: ${CODES} real codes are 43 characters of base64url each, all different`, async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const url = authorizationUrl(world(), { prompt: 'none', scope: 'openid' });
    const codes = new Set<string>();
    const seen = new Map<string, Set<string>>();
    for (let round = 0; round < CODES; round += 1) {
      const code = redirectOf(await browser.request(url)).query['code'] ?? '';
      expect(code).toMatch(/^[\w-]{43}$/);
      codes.add(code);
      // Each of the 42 full characters varies: none comes from a counter or a clock.
      for (let at = 0; at < 42; at += 1) {
        const characters = seen.get(String(at)) ?? new Set();
        seen.set(String(at), characters.add(code.charAt(at)));
      }
    }
    expect(codes.size).toBe(CODES);
    for (const characters of seen.values()) expect(characters.size).toBeGreaterThan(40);
  }, 300_000);

  it('Spec §4 GET /oauth/authorize, nonce, PK-23: comes back in the ID token as it was sent, and is absent when it was not', async () => {
    for (const nonce of ['n', 'ä"\\<script>', undefined]) {
      const browser = newBrowser(world());
      const authorized = await takeCode(world(), { scope: 'openid', browser });
      const page = await browser.request(
        authorizationUrl(world(), { nonce, prompt: 'none', scope: 'openid' }),
      );
      const code = redirectOf(page).query['code'] ?? '';
      const answer = await redeem(world(), { ...authorized, code, verifier: VERIFIER });
      const claims = decodeJwt(textOf(answer, 'id_token'));
      expect(claims['nonce']).toBe(nonce);
      expect('nonce' in claims).toBe(nonce !== undefined);
    }
  });

  it('PK-21: the code is only in the query of the redirect, which nothing may cache or refer from', async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const page = await browser.request(authorizationUrl(world(), { prompt: 'none', scope: 'openid' }));
    const { code = 'missing' } = redirectOf(page).query;
    expect(page.status).toBe(303);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
    expect(new URL(page.headers.get('location') ?? '').hash).toBe('');
    expect(page.headers.getSetCookie().join()).not.toContain(code);
    const found = await withStore(world(), (store) => store.records.find('AuthorizationCode', code));
    expect(found).toBeUndefined();
  });
});
