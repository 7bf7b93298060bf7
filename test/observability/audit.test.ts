// The audit trail: who did what, when, from where, with which client, and the outcome.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as oidc from 'openid-client';
import { list } from '../../src/features/index.ts';
import { AUDIT_EVENTS, clientAddressOf, createThrottle } from '../../src/observability/audit.ts';
import { createLog } from '../../src/observability/log.ts';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { formOf, type Page } from '../world/browser.ts';
import { moveClock, standingClock } from '../world/clock.ts';
import { begin, newBrowser, signInAs } from '../world/person.ts';
import { post } from '../world/requests.ts';
import { basic, refresh } from '../world/token-endpoint.ts';
import { giveOneTimeCodes, newRecoveryCodes } from '../world/second-factors.ts';
import { GENEROUS, PASSWORDS, PEOPLE, SECRETS, worldClients } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';
import { type Store, StoreUnavailable } from '../../src/store/store.ts';
import { listen, assertNoSecrets, type AuditRecord } from '../world/recorded-telemetry.ts';

const world = useWorld();

/** The new records of `act`. */
async function recordsOf(act: () => Promise<unknown>): Promise<AuditRecord[]> {
  const before = world().recorded.audit().length;
  await act();
  return world().recorded.audit().slice(before);
}

const shapeOf = ({ event, outcome }: AuditRecord) => `${event} ${outcome}`;

describe('CF-15: the audit trail', () => {
  it('has a sign-in, the consent and the tokens of one flow, each with user, client, address and request', async () => {
    const records = await recordsOf(() => signIn(world()));
    expect(records.map(shapeOf)).toEqual(['sign_in success', 'consent success', 'token_issued success']);
    for (const record of records) {
      expect(record).toMatchObject({ client_id: 'web', account_id: PEOPLE.alice, address: '127.0.0.1' });
      expect(record['request_id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(Math.abs(Date.parse(record.time) - Date.now())).toBeLessThan(60_000);
    }
    expect(records[1]).toMatchObject({ scope: 'openid email profile offline_access reports.read' });
    expect(records[2]).toMatchObject({ grant_type: 'authorization_code' });
  });

  it('has a failed sign-in, with the user if there is one, and never what was typed', async () => {
    async function fail(username: string) {
      const { browser, page } = await begin(world());
      await browser.submit(page, '/login', { username, password: 'canary-wrong-password' });
    }
    const records = await recordsOf(async () => {
      await fail('alice');
      await fail('canary-my-password-in-the-wrong-field');
    });
    expect(records.map(shapeOf)).toEqual(['sign_in failure', 'sign_in failure']);
    expect(records[0]).toMatchObject({
      account_id: PEOPLE.alice,
      client_id: 'web',
      reason: 'wrong_password',
    });
    expect(records[1]).not.toHaveProperty('account_id');
    expect(JSON.stringify(records)).not.toContain('canary');
  });

  it('has a consent that was declined', async () => {
    const records = await recordsOf(async () => {
      const { browser, page } = await begin(world(), { scope: 'openid' });
      await browser.submit(await signInAs(browser, page, 'bob'), '/cancel');
    });
    expect(records.map(shapeOf)).toEqual(['sign_in success', 'consent failure']);
    expect(records[1]).toMatchObject({ account_id: PEOPLE.bob, client_id: 'web', reason: 'declined' });
  });

  it('has each token by its grant, from the engine and from the fast path alike', async () => {
    const { configuration, tokens } = await signIn(world());
    const refreshed = await recordsOf(() =>
      oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? ''),
    );
    expect(refreshed).toMatchObject([
      { event: 'token_issued', grant_type: 'refresh_token', account_id: PEOPLE.alice },
    ]);

    await machineToken(world(), 'reports.read');
    const form = { grant_type: 'client_credentials', scope: 'reports.read' };
    const { log } = world().recorded.telemetry;
    const before = log.level;
    // As in production: at level debug every request goes through the middleware.
    log.level = 'info';
    const [fast] = await recordsOf(() =>
      post(world(), '/oauth/token', form, { authorization: basic('svc') }),
    );
    log.level = before;
    // The engine answers requests with a resource.
    const [engine] = await recordsOf(() =>
      post(
        world(),
        '/oauth/token',
        { ...form, resource: 'urn:example:api' },
        { authorization: basic('svc') },
      ),
    );
    const shared = (record: AuditRecord | undefined) => ({
      ...record,
      time: '',
      request_id: '',
      token_id: '',
    });
    expect(fast).toMatchObject({
      grant_type: 'client_credentials',
      client_id: 'svc',
      scope: 'reports.read',
    });
    expect(shared(engine)).toEqual(shared(fast));
    expect(Object.keys(engine ?? {})).toEqual(Object.keys(fast ?? {}));

    const [foreign] = await recordsOf(() => refresh(world(), 'x', {}, 'svc'));
    expect(foreign).toMatchObject({ outcome: 'failure', client_id: 'svc', reason: 'unauthorized_client' });
  });

  it('has wrong client credentials and a grant that was refused', async () => {
    const records = await recordsOf(async () => {
      await post(
        world(),
        '/oauth/token',
        { grant_type: 'client_credentials' },
        { authorization: basic('svc', 'no') },
      );
      await post(world(), '/oauth/introspect', { token: 'x' }, { authorization: basic('rs1', 'no') });
      await refresh(world(), 'made-up');
    });
    expect(records).toMatchObject([
      { event: 'client_authentication', outcome: 'failure', endpoint: 'token', reason: 'invalid_client' },
      { event: 'client_authentication', outcome: 'failure', endpoint: 'introspection' },
      {
        event: 'token_issued',
        outcome: 'failure',
        client_id: 'web',
        grant_type: 'refresh_token',
        reason: 'invalid_grant',
      },
    ]);
  });

  it('has a revocation, the consent that went with it, and the grant that ended', async () => {
    const { tokens } = await signIn(world());
    const form = { token: tokens.refresh_token ?? '' };
    const records = await recordsOf(() =>
      post(world(), '/oauth/revoke', form, { authorization: basic('web') }),
    );
    expect(records.map(shapeOf)).toEqual([
      'grant_ended success',
      'token_revoked success',
      'consent_withdrawn success',
    ]);
    for (const record of records)
      expect(record).toMatchObject({ client_id: 'web', account_id: PEOPLE.alice });
    expect(JSON.stringify(records)).not.toContain(form.token);
  });

  it('has a replayed code, which ends the grant', async () => {
    const authorized = await authorize(world());
    const form = {
      grant_type: 'authorization_code',
      code: authorized.callback.searchParams.get('code') ?? '',
      redirect_uri: authorized.redirectUri,
      code_verifier: authorized.verifier,
    };
    await post(world(), '/oauth/token', form, { authorization: basic('web') });
    const records = await recordsOf(() =>
      post(world(), '/oauth/token', form, { authorization: basic('web') }),
    );
    expect(records.map(shapeOf)).toEqual(['grant_ended success', 'token_issued failure']);
  });

  it('has a sign-out once a user has signed out, and none for a user who stays', async () => {
    const { browser } = await signIn(world());
    const ask = await browser.open(`${world().issuer}/oauth/logout`);
    expect(await recordsOf(() => browser.submit(ask, '/logout/confirm', {}))).toEqual([]);
    const again = await browser.open(`${world().issuer}/oauth/logout`);
    const records = await recordsOf(() => browser.submit(again, '/logout/confirm', { logout: 'yes' }));
    expect(records.find(({ event }) => event === 'sign_out')).toMatchObject({
      outcome: 'success',
      account_id: PEOPLE.alice,
    });
  });

  it('has a sign-out of one user when another signs in', async () => {
    const { browser } = await signIn(world());
    const records = await recordsOf(() =>
      authorize(world(), { browser, person: 'bob', scope: 'openid', parameters: { prompt: 'login' } }),
    );
    expect(records.map(shapeOf)).toEqual(['sign_in success', 'sign_out success', 'consent success']);
    expect(records[1]).toMatchObject({ account_id: PEOPLE.alice, reason: 'another_person_signed_in' });
    expect(records[2]).toMatchObject({ account_id: PEOPLE.bob });
  });

  it('begins with the start of the process and its keys', () => {
    const records = world().recorded.audit();
    expect(records.find(({ event }) => event === 'keys_changed')?.['kid']).toMatch(/^[\w-]{43}$/);
    expect(records.find(({ event }) => event === 'service_started')).toBeDefined();
  });

  it('is described in docs/observability.md, event by event', () => {
    const page = readFileSync('docs/observability.md', 'utf8');
    const events: readonly string[] = [...AUDIT_EVENTS, ...list('audit')];
    for (const event of events) expect(page).toContain(`| \`${event}\``);
    const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));
    const recorded = sources.flatMap((source) => [
      ...source.matchAll(/\.record\(\s*'(\w+)'|, \['(\w+)', '(?:success|failure)'\]/g),
    ]);
    expect(
      recorded.map(([, event, other]) => event ?? other).filter((name = '') => !events.includes(name)),
    ).toEqual([]);
    expect(recorded.length).toBeGreaterThan(25);
  });
});

describe('F1-24: the audit trail', () => {
  const place = useWorld({
    config: {
      ...GENEROUS,
      account: true,
      sign_in: { one_time_codes: true, recovery_codes: 3, enrolment: 'self' },
      clients: worldClients({ web2: { sign_in: { require: 'second_factor' } } }),
    },
  });
  standingClock();

  it('has forms that our pages didn’t send, once in ten seconds however many there are', async () => {
    const { issuer, recorded } = place();
    const browser = newBrowser(place());
    const forge = async (page: Page, action: string, token: string) => {
      await browser.submit(page, action, { [token]: 'forged' });
      for (let turn = 0; turn < 20; turn += 1)
        await browser.submit(page, action, {}, { origin: 'https://evil.example' });
    };
    const { page } = await begin(place(), {}, { browser });
    for (let turn = 0; turn < 2; turn += 1) {
      await forge(page, '/login', 'csrf');
      moveClock(11);
    }
    await signInAs(browser, page, 'alice');
    await forge(await browser.open(`${issuer}/oauth/logout`), '/confirm', 'xsrf');
    await forge(await browser.open(`${issuer}/account/factors?add=one_time_code`), '/add', 'csrf');
    const records = recorded.audit('form_refused');
    expect(records.map(({ endpoint, reason, times }) => [endpoint, reason, times])).toEqual([
      ['interaction', 'csrf', 1],
      ['interaction', 'origin', 1],
      ['interaction', 'csrf', 1],
      ['interaction', 'origin', 20],
      ['logout', 'csrf', 1],
      ['logout', 'origin', 1],
      ['factors', 'csrf', 1],
      ['factors', 'origin', 1],
    ]);
    expect(records[0]).toMatchObject({ outcome: 'failure', address: '127.0.0.1' });
  });

  it('has factors that were not added or removed, and codes that were not made', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const app = await giveOneTimeCodes(place(), 'alice', { recoveryCodes });
    const open = async (fields: Record<string, string>) => {
      const browser = newBrowser(place());
      const login = await browser.open(`${place().issuer}/account/factors`);
      const step = await signInAs(browser, login, 'alice');
      const next = await browser.submit(step, '/code', fields);
      return { browser, page: next.text.includes('/notice"') ? await browser.submit(next, '/notice') : next };
    };
    const { browser, page } = await open({ code: app.code() });
    const adding = await browser.open(`${place().issuer}/account/factors?add=one_time_code`);
    await browser.submit(adding, '/add', { code: '000000', replace: 'on' });
    await browser.submit(page, '/remove', { id: 'one-time-codes' });
    const recovered = await open({ recovery_code: codes[0] ?? '' });
    await recovered.browser.submit(recovered.page, '/recovery-codes');
    const records = place().recorded.audit('factor_changed');
    const who = { outcome: 'failure', account_id: PEOPLE.alice, address: '127.0.0.1' };
    expect(records).toMatchObject([
      { ...who, action: 'added', method: 'one_time_code', reason: 'wrong_code' },
      { ...who, action: 'removed', method: 'one_time_code', reason: 'still_needed' },
      { ...who, action: 'made', method: 'recovery_codes', reason: 'not_yours' },
    ]);
  });
});

describe('CF-15: a sign-in that was not decided, in the audit trail', () => {
  let canFinish = true;
  /** Makes the transaction that finishes an interaction fail, unless `canFinish`. */
  function fragile(store: Store): Store {
    const { exchange } = store.records;
    if (exchange === undefined) throw new TypeError('this store has no transactions');
    const finish: typeof exchange = (...claim) =>
      canFinish ? exchange(...claim) : Promise.reject(new StoreUnavailable());
    return Object.assign(store, { records: { ...store.records, exchange: finish } });
  }
  const limited = useWorld({ config: { rate_limits: { sign_in: '1/1m' } }, handStore: fragile });

  async function recordsIn(act: () => Promise<unknown>): Promise<AuditRecord[]> {
    const before = limited().recorded.audit('sign_in').length;
    await act();
    return limited().recorded.audit('sign_in').slice(before);
  }

  it('names the user when there were too many attempts, and none for an unknown username', async () => {
    for (const [username, id] of [
      ['bob', PEOPLE.bob],
      ['canary-nobody', undefined],
    ] as const) {
      const statuses: number[] = [];
      const records = await recordsIn(async () => {
        for (let tries = 0; tries < 2; tries += 1) {
          const { browser, page } = await begin(limited());
          const again = await browser.submit(page, '/login', { username, password: 'wrong password 1' });
          statuses.push(again.status);
        }
      });
      expect(statuses).toEqual([401, 429]);
      expect(records.map(({ outcome, reason, account_id }) => [outcome, reason, account_id])).toEqual([
        ['failure', id === undefined ? 'unknown' : 'wrong_password', id],
        ['failure', 'too_many_attempts', id],
      ]);
    }
  });

  it('says unavailable when the store could not be asked before the password or after it', async () => {
    const { documents } = limited().openedStore;
    const get = documents.get.bind(documents);
    const fail = () => Promise.reject(new StoreUnavailable());
    const away = await begin(limited());
    const first = await recordsIn(async () => {
      documents.get = fail;
      expect((await signInAs(away.browser, away.page, 'alice')).status).toBe(503);
      documents.get = get;
    });
    expect(first).toMatchObject([{ outcome: 'failure', reason: 'unavailable', client_id: 'web' }]);
    const last = await recordsIn(async () => {
      canFinish = false;
      expect((await signInAs(away.browser, away.page, 'alice')).status).toBe(503);
      canFinish = true;
    });
    expect(last).toMatchObject([{ outcome: 'failure', reason: 'unavailable', account_id: PEOPLE.alice }]);
  });

  it('has one success for one form that was sent four times at once', async () => {
    const { browser, page } = await begin(limited());
    const { action, fields } = formOf(page, '/login');
    const form = { ...fields, username: 'alice', password: PASSWORDS.alice };
    const { origin } = new URL(limited().issuer);
    const statuses: number[] = [];
    const records = await recordsIn(async () => {
      const url = new URL(action, page.url).href;
      const send = async () => (await browser.post(url, form, { origin })).status;
      statuses.push(...(await Promise.all([send(), send(), send(), send()])));
    });
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(records.filter(({ outcome }) => outcome === 'success')).toHaveLength(1);
  });
});

describe('IN-08: the search for secrets in what is reported', () => {
  it.each<[what: string, tell: (telemetry: ReturnType<typeof listen>['telemetry']) => void]>([
    ['a client secret', ({ log }) => log.info({ note: SECRETS.web }, 'x')],
    ['a token', ({ log }) => log.info('got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.x')],
    ['a code', ({ log }) => log.info({ path: '/cb?code=Zk3vT8xZ5kN1rB7yL9wC2sD6fH4jP0aQm' }, 'x')],
    [
      'a refresh token in a record',
      ({ audit }) =>
        audit.record('token_revoked', 'success', { reason: 'Zk3vT8xZ5kN1rB7yL9wC2sD6fH4jP0aQm' }),
    ],
  ])('finds %s', (_what, tell) => {
    const recorded = listen();
    recorded.telemetry.log.info({ requestId: crypto.randomUUID(), clientId: 'web' }, 'nothing to see');
    expect(() => assertNoSecrets(recorded, Object.values(SECRETS))).not.toThrow();
    tell(recorded.telemetry);
    expect(() => assertNoSecrets(recorded, Object.values(SECRETS))).toThrow('IN-08');
  });

  it('and the log hides what is named like a secret, no matter who passes it', () => {
    const lines: string[] = [];
    const log = createLog('trace', { write: (line) => lines.push(line) });
    log.info({ password: 'canary', body: { client_secret: 'canary', code_verifier: 'canary' } }, 'x');
    expect(lines.join('')).toContain('"msg":"x"');
    expect(lines.join('')).not.toContain('canary');
  });
});

it('IN-08: the log has only the beginning of an unknown client_id, which may be a misplaced token', async () => {
  const token = await machineToken(world());
  const before = world().recorded.log.length;
  for (const client_id of [token, 'wep']) {
    await post(world(), '/oauth/token', {
      grant_type: 'client_credentials',
      client_id,
      client_secret: 'x',
    });
  }
  const named = world()
    .recorded.log.slice(before)
    .map((line) => (JSON.parse(line) as { clientId?: string }).clientId)
    .filter((clientId) => clientId !== undefined);
  expect(named).toEqual([token.slice(0, 12), 'wep']);
});

it('a request that has not passed the edge has no address, and shares none with others', () => {
  expect(() => clientAddressOf({ state: {} })).toThrow(TypeError);
});

it('what is left out of the trail for a while is bounded', () => {
  const timesToSay = createThrottle(() => 0);
  const names = Array.from({ length: 10_001 }, (_, index) => `usr_${index}`);
  expect(names.map((name) => timesToSay(name)).every((times) => times === 1)).toBe(true);
  expect([timesToSay('usr_10000'), timesToSay('usr_0')]).toEqual([undefined, 1]);
});
