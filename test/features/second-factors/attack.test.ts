// An attacker with alice's password, another browser, another account and everything they could observe gets no further than the
// second step: no session, no code, no trusted browser.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { authorizationUrl, CHALLENGE, VERIFIER } from '../../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../../world/browser.ts';
import { HOUR, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import {
  begin,
  codeOf,
  enterPassword,
  finishPages,
  newBrowser,
  signInAs,
  silently,
} from '../../world/person.ts';
import { formPost, type Parameters, post, textOf, toQuery } from '../../world/requests.ts';
import {
  codeFor,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  ownFactors,
  passkeyOptionsOf,
  setFactors,
  SoftwareKey,
  withAddForms,
} from '../../world/second-factors.ts';
import { createTurns } from '../../world/turns.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE, worldClients } from '../../world/world.ts';

const CONFIG = {
  ...GENEROUS,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  lifetimes: { consent: '180d' },
  clients: worldClients(),
};
const turns = createTurns();
const OPTIONS = { issuer: 'https://id.example', config: CONFIG, rotationTimer: turns.timer };

/** Moves the clock, so that wrong codes of other tests no longer count. */
async function pass(seconds = HOUR + MINUTE): Promise<void> {
  moveClock(seconds);
  await turns.turn();
}
/** Users add their first factor themselves, and one app needs one. */
const SELF = {
  ...CONFIG,
  sign_in: { one_time_codes: true, recovery_codes: 10, enrolment: 'self' },
  clients: worldClients({ web2: { sign_in: { require: 'second_factor' } } }),
};
const REQUEST = { scope: 'openid' };

/** Sends the correct password, and returns the next page. */
const half = (world: OpenWorld, browser?: Browser, request: Parameters = REQUEST) =>
  enterPassword(world, request, { browser });

async function whole(world: OpenWorld, code: string, browser?: Browser, request?: Parameters) {
  const begun = await half(world, browser, request);
  expect(isSecondStep(begun.page), begun.page.text).toBe(true);
  const done = await begun.browser.submit(begun.page, '/code', { code });
  return { browser: begun.browser, page: await finishPages(begun.browser, done, 'alice') };
}

const namesOf = (browser: Browser) => browser.cookies.map(({ name }) => name);

/** Expects that the browser has no access, because no user is signed in. */
async function expectNobody(world: OpenWorld, browser: Browser): Promise<void> {
  expect(await silently(world, browser, REQUEST)).toBe('login_required');
}

describe('a half sign-in', () => {
  const world = useWorld(OPTIONS);
  standingClock();
  const fresh = async () => {
    await pass();
    await setFactors(world(), 'bob');
    return giveOneTimeCodes(world());
  };

  it('MF-31: is no session of any kind, whatever is tried with its cookies', async () => {
    const app = await fresh();
    const { browser, page } = await half(world());
    expect(isSecondStep(page)).toBe(true);
    expect(namesOf(browser).filter((name) => /device|trusted/.test(name))).toEqual([]);
    await expectNobody(world(), browser);
    const { action, fields } = formOf(page, '/code');
    const base = action.slice(0, -'/code'.length);
    for (const step of ['consent', 'continue', 'notice', 'enrol', 'switch']) {
      const answer = await browser.post(`${base}/${step}`, fields);
      expect(answer.status, step).toBe(400);
    }
    const resumed = await browser.open(base.replace('/interaction/', '/oauth/authorize/'));
    expect(codeOf(resumed)).toBeUndefined();
    await expectNobody(world(), browser);
    for (const path of ['/account/factors', '/oauth/logout']) {
      const answer = await browser.request(`${world().issuer}${path}`);
      expect(answer.text).not.toContain('alice');
    }
    // A complete sign-in still works.
    const other = await half(world());
    expect(codeOf(await whole(world(), app.code()).then(({ page: done }) => done))).toBeDefined();
    await expectNobody(world(), other.browser);
  });

  it('takes no forged field for a proof, and no field twice', async () => {
    const app = await fresh();
    const { browser, page } = await half(world());
    const { action, fields } = formOf(page, '/code');
    const forged = {
      ...fields,
      amr: 'pwd otp mfa',
      acr: 'urn:postern:acr:passkey',
      accountId: PEOPLE.bob,
      account_id: PEOPLE.bob,
      username: 'bob',
      factorAt: '9999999999',
      sessionsSince: '0',
      proof: 'one_time_code',
      second_factor: '{}',
    };
    for (const code of [undefined, '000000', 'true'])
      expect((await browser.post(action, { ...forged, code })).headers.get('location')).toBeNull();
    const twice = `${toQuery({ ...fields, code: app.code() })}&code=${app.code()}`;
    expect((await browser.post(action, twice)).status).toBe(400);
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const init = method === 'PUT' ? formPost({ ...fields, code: app.code() }) : {};
      const query = method === 'PUT' ? '' : `?${toQuery({ ...fields, code: app.code() })}`;
      const answer = await browser.request(`${action}${query}`, { ...init, method });
      expect([404, 405], method).toContain(answer.status);
    }
    await expectNobody(world(), browser);
  });

  it('MF-33: of the attacker is not completed in the browser of the user, nor the other way round', async () => {
    const app = await fresh();
    const attacker = await half(world());
    const victim = newBrowser(world());
    const { action, fields } = formOf(attacker.page, '/code');
    for (const cookies of [[], attacker.browser.cookies.filter(({ name }) => !name.includes('device'))]) {
      for (const cookie of cookies) if (cookie.path !== '/') victim.setCookie(cookie);
      expect((await victim.post(action, { ...fields, code: app.code() })).status).toBe(400);
    }
    await expectNobody(world(), victim);
    await expectNobody(world(), attacker.browser);
    // This didn't use up her code.
    const done = await whole(world(), app.code());
    expect(codeOf(done.page)).toBeDefined();
  });

  it('needs the factor of the user whose password it was', async () => {
    await fresh();
    const mallory = await giveOneTimeCodes(world(), 'bob');
    const { browser, page } = await half(world());
    const refused = await browser.submit(page, '/code', { code: mallory.code() });
    expect(isSecondStep(refused)).toBe(true);
    const own = await givePasskey(world(), 'alice');
    const key = await givePasskey(world(), 'bob', { oneTimeCode: mallory.factor });
    const again = await half(world());
    const { action, fields } = formOf(again.page, '/passkey');
    for (const userHandle of [key.handle, own.handle]) {
      const response = key.assert(world(), again.page, { userHandle });
      const answer = await again.browser.post(action, { ...fields, response });
      expect(answer.headers.get('location')).toBeNull();
    }
    await expectNobody(world(), again.browser);
    // In the same interaction bob may sign in as himself.
    const login = await again.browser.open(`${action.slice(0, -'/passkey'.length)}?account=other`);
    const asBob = await signInAs(again.browser, login, 'bob');
    const done = await again.browser.submit(asBob, '/code', { code: mallory.code() });
    const code = codeOf(await finishPages(again.browser, done, 'bob'));
    const { body } = await redeem(world(), { code });
    expect(decodeJwt(String(body['id_token'])).sub).toBe(PEOPLE.bob);
  });

  it('ends after five minutes, and with everything else that ends sessions', async () => {
    const app = await fresh();
    const late = await half(world());
    moveClock(5 * MINUTE + 1);
    const answer = await late.browser.submit(late.page, '/code', { code: app.code() });
    expect(codeOf(answer)).toBeUndefined();
    await expectNobody(world(), late.browser);
    const cancelled = await half(world());
    const { action, fields } = formOf(cancelled.page, '/code');
    await cancelled.browser.submit(cancelled.page, '/cancel');
    moveClock(MINUTE);
    expect((await cancelled.browser.post(action, { ...fields, code: app.code() })).status).toBe(400);
  });

  it.each([
    ['codes', '/code', { code: '000000' }, 'wrong'],
    ['passkeys', '/passkey', { response: '{"id":"AAAA"}' }, 'malformed'],
  ] as const)('LG-42: is over after five wrong %s of two hundred', async (_what, action, wrong, reason) => {
    await fresh();
    const key = await givePasskey(world(), 'alice', { oneTimeCode: newAuthenticatorApp('alice').factor });
    const earlier = world().recorded.audit().length;
    const { browser, page } = await half(world());
    const form = formOf(page, action);
    const statuses: number[] = [];
    for (let tried = 0; tried < 200; tried += 1)
      statuses.push((await browser.post(form.action, { ...form.fields, ...wrong })).status);
    expect([statuses.slice(0, 6), new Set(statuses.slice(6))]).toEqual([
      [401, 401, 401, 401, 401, 303],
      new Set([400]),
    ]);
    // The records report no cancelled sign-in, and that a password is known.
    const records = world().recorded.audit().slice(earlier);
    expect(records.map(({ event, outcome, reason: why }) => [event, outcome, why])).toEqual([
      ['password_accepted', 'success', undefined],
      ...Array.from({ length: 5 }, () => ['second_factor', 'failure', reason]),
      ['second_factor', 'failure', 'too_many_attempts'],
    ]);
    // Correct codes don't count, and a new sign-in continues.
    const next = await half(world());
    const done = await next.browser.submit(next.page, '/passkey', {
      response: key.assert(world(), next.page),
    });
    expect(codeOf(await finishPages(next.browser, done, 'alice'))).toBeDefined();
  });
});

/** Returns `auth_time`, `acr` and `amr` for the code of a page's redirect. */
async function proofOf(world: OpenWorld, page: Page, client?: 'web2') {
  const answer = await redeem(world, { code: codeOf(page), ...(client && { client }) });
  return { tokens: answer.body, claims: decodeJwt(textOf(answer, 'id_token')) };
}

describe('a session with fewer factors than the user has', () => {
  const world = useWorld(OPTIONS);
  standingClock();
  const fresh = async (config: Readonly<Record<string, unknown>> = CONFIG) => {
    await pass();
    await setFactors(world(), 'alice');
    await setFactors(world(), 'bob');
    await world().reload(config);
  };

  it('that is over is over for a consent page that was open before, too', async () => {
    await fresh();
    const app = await giveOneTimeCodes(world());
    const request = { scope: 'openid email', prompt: 'consent' };
    const begun = await half(world(), newBrowser(world()), request);
    const consent = await begun.browser.submit(begun.page, '/code', { code: app.code() });
    expect(consent.text).toContain('/consent"');
    // Another browser adds or removes a factor.
    await setFactors(world(), 'alice', { oneTimeCode: app.factor, sessionsSince: 1 });
    const done = await begun.browser.submit(consent, '/consent');
    expect(codeOf(done)).toBeUndefined();
    await expectNobody(world(), begun.browser);
    expect(done.text).toContain('name="password"');
  });

  it('is asked for its factor again with the password, by prompt=login and by max_age', async () => {
    await fresh();
    const app = await giveOneTimeCodes(world());
    const { browser } = await whole(world(), app.code());
    moveClock(2 * MINUTE);
    expect(await silently(world(), browser, { ...REQUEST, max_age: '60' })).toBe('login_required');
    for (const request of [{ prompt: 'login' }, { max_age: '60' }, { prompt: 'select_account' }]) {
      const { page } = await begin(world(), { ...REQUEST, ...request }, { browser });
      const other = page.text.includes('name="password"')
        ? page
        : await browser.open(`${page.url}?account=other`);
      const second = await signInAs(browser, other, 'alice');
      expect(isSecondStep(second), JSON.stringify(request)).toBe(true);
    }
    expect(await silently(world(), browser, REQUEST)).toBe('signed in');
  });

  it('is not changed by half a switch to another user, who is asked as everywhere', async () => {
    await fresh();
    const app = await giveOneTimeCodes(world());
    const { browser } = await whole(world(), app.code());
    const bobs = await giveOneTimeCodes(world(), 'bob');
    const { page: consent } = await begin(world(), { scope: 'openid email', prompt: 'consent' }, { browser });
    const login = await browser.open(
      `${formOf(consent, '/consent').action.slice(0, -'/consent'.length)}?account=other`,
    );
    const second = await signInAs(browser, login, 'bob', '/switch');
    expect(isSecondStep(second)).toBe(true);
    // Alice's own consent is unchanged.
    expect(await silently(world(), browser, REQUEST)).toBe('signed in');
    const refused = await browser.submit(second, '/code', { code: app.code(1) });
    expect(codeOf(refused)).toBeUndefined();
    const done = await browser.submit(await browser.open(login.url.replace('?account=other', '')), '/code', {
      code: bobs.code(),
    });
    const { claims } = await proofOf(world(), await finishPages(browser, done, 'bob'));
    expect(claims.sub).toBe(PEOPLE.bob);
  });

  it('is asked by a configuration that came while the page was open, and by one that took the method away', async () => {
    const { sign_in: _none, ...before } = CONFIG;
    await fresh(before);
    const app = await giveOneTimeCodes(world());
    const open = await begin(world(), REQUEST);
    await world().reload(CONFIG);
    const second = await signInAs(open.browser, open.page, 'alice');
    expect(isSecondStep(second)).toBe(true);
    await world().reload({ ...CONFIG, sign_in: { passkeys: true } });
    const answer = await open.browser.submit(second, '/code', { code: app.code() });
    expect(codeOf(answer)).toBeUndefined();
    await expectNobody(world(), open.browser);
    const again = await half(world());
    expect([again.page.status, codeOf(again.page)]).toEqual([403, undefined]);
    await expectNobody(world(), again.browser);
  });

  it('recovery codes that were switched off sign nobody in, are not spent, and can’t be made', async () => {
    await fresh(CONFIG);
    const { codes, recoveryCodes } = await newRecoveryCodes(world());
    const app = await giveOneTimeCodes(world(), 'alice', { recoveryCodes });
    const { browser, page } = await half(world());
    await world().reload({ ...CONFIG, sign_in: { ...CONFIG.sign_in, recovery_codes: 0 } });
    const refused = await browser.submit(page, '/code', { recovery_code: codes[0] ?? '' });
    expect([refused.status, isSecondStep(refused)]).toEqual([401, true]);
    expect(refused.text).not.toContain('name="recovery_code"');
    const begun = await browser.open(`${world().issuer}/account/factors`);
    const list = await browser.submit(await signInAs(browser, begun, 'alice'), '/code', { code: app.code() });
    expect(list.text).toContain('/remove"');
    const asked = { ...list, text: list.text.replaceAll('/remove"', '/recovery-codes"') };
    expect((await browser.submit(asked, '/recovery-codes')).status).toBe(403);
    expect((await ownFactors(world())).recoveryCodes).toEqual(recoveryCodes);
    await world().reload(CONFIG);
  });
});

describe('the page for factors', () => {
  const world = useWorld(OPTIONS);
  standingClock();
  const url = () => `${world().issuer}/account/factors`;
  const fresh = async (config: Readonly<Record<string, unknown>> = SELF) => {
    await pass();
    await setFactors(world(), 'alice');
    await setFactors(world(), 'bob');
    await world().reload(config);
  };
  const own = () => ownFactors(world());
  /** Opens the list, after a sign-in with the password and, if requested, this code. */
  async function list(person: 'alice' | 'bob' = 'alice', code = '', browser = newBrowser(world())) {
    const login = await browser.open(url());
    const next = await signInAs(browser, login, person);
    const page = isSecondStep(next) ? await browser.submit(next, '/code', { code }) : next;
    const afterNotice = page.text.includes('/notice"') ? await browser.submit(page, '/notice') : page;
    expect(afterNotice.url.startsWith(url()), afterNotice.text).toBe(true);
    return { browser, page: await withAddForms(browser, afterNotice) };
  }

  it('raises the session of the browser that enrols under another name, and not that of a copy of its cookie', async () => {
    await fresh();
    const { browser, page } = await list();
    const thief = newBrowser(world());
    for (const cookie of browser.cookies) thief.setCookie(cookie);
    expect(await silently(world(), thief, { client_id: 'first-party' })).toBe('signed in');
    const done = await browser.submit(page, '/add', { code: codeFor(page) });
    expect(done.url.startsWith(url())).toBe(true);
    await expectNobody(world(), thief);
    const { page: asked } = await begin(
      world(),
      { ...REQUEST, acr_values: 'urn:postern:acr:second-factor' },
      { browser: thief },
    );
    expect(asked.text).toContain('name="password"');
  });

  it('ends other sessions when codes take the place of others, and recovery codes with the last factor', async () => {
    await fresh({ ...SELF, clients: worldClients() });
    const { recoveryCodes } = await newRecoveryCodes(world());
    const app = await giveOneTimeCodes(world(), 'alice', { recoveryCodes });
    const other = await whole(world(), app.code());
    moveClock(MINUTE);
    const { browser, page } = await list('alice', app.code());
    expect(await silently(world(), other.browser, REQUEST)).toBe('signed in');
    const replaced = await browser.submit(page, '/add', { code: codeFor(page), replace: 'yes' });
    await expectNobody(world(), other.browser);
    const removed = await browser.submit(replaced, '/remove');
    expect(removed.status).toBe(200);
    expect(await own()).toMatchObject({ passkeys: [], recoveryCodes: [] });
    expect((await own()).oneTimeCode).toBeUndefined();
  });

  it('MF-12: changes nothing by a form that is six minutes old, by one of another session, or by one of another user', async () => {
    await fresh();
    const late = await list();
    moveClock(6 * MINUTE);
    const stale = await late.browser.submit(late.page, '/add', { code: codeFor(late.page) });
    expect(stale.status).toBe(403);
    const alice = await list();
    const bob = await list('bob');
    const { action, fields } = formOf(alice.page, '/add');
    const bobs = formOf(bob.page, '/add').fields;
    const wrong: readonly [Parameters, number][] = [
      [{ ...fields, csrf: bobs['csrf'], code: codeFor(alice.page) }, 403],
      [{ ...fields, csrf: '', code: codeFor(alice.page) }, 403],
      [{ ...fields, sealed: bobs['sealed'], code: codeFor(bob.page) }, 422],
      [{ ...fields, sealed: '', code: '000000' }, 422],
    ];
    for (const [form, status] of wrong)
      expect((await alice.browser.post(action, form)).status, JSON.stringify(form)).toBe(status);
    const good = { ...fields, code: codeFor(alice.page) };
    const elsewhere = { origin: 'https://evil.example' };
    expect((await alice.browser.post(action, good, elsewhere)).status).toBe(403);
    expect((await newBrowser(world()).post(action, good)).status).toBe(403);
    expect((await own()).oneTimeCode).toBeUndefined();
  });

  it('MF-30: allows no first factor by password alone where an administrator must allow it', async () => {
    await fresh();
    const before = await list();
    const { action, fields } = formOf(before.page, '/add');
    await world().reload({ ...SELF, sign_in: { ...SELF.sign_in, enrolment: 'link' } });
    const forged = await before.browser.post(action, { ...fields, code: codeFor(before.page) });
    expect(forged.status).toBe(403);
    const shown = await before.browser.open(`${url()}?add=one_time_code`);
    expect([shown.status, shown.text.includes('name="sealed"')]).toEqual([200, false]);
    const { page } = await begin(world(), { client_id: 'web2', ...REQUEST }, { browser: before.browser });
    expect(page.status).toBe(403);
    const step = page.url.replace(/[?#].*/, '');
    const answer = await before.browser.post(`${step}/enrol`, { ...fields, code: codeFor(before.page) });
    expect(answer.status).toBe(403);
    expect((await own()).oneTimeCode).toBeUndefined();
  });

  it('signs in by a client whose codes can’t be exchanged', async () => {
    await fresh();
    const browser = newBrowser(world());
    const [, query] = (await browser.request(url())).headers.get('location')?.split('?') ?? [];
    const parameters = { ...Object.fromEntries(new URLSearchParams(query)), code_challenge: CHALLENGE };
    const login = await browser.open(`${world().issuer}/oauth/authorize?${toQuery(parameters)}`);
    const { action, fields } = formOf(login, '/login');
    const form = { ...fields, username: 'alice', password: PASSWORDS.alice };
    const back = await browser.post(action, form);
    const code = codeOf({ url: back.headers.get('location') ?? '' });
    expect(code).toBeDefined();
    const exchange = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: parameters['redirect_uri' as keyof typeof parameters],
      code_verifier: VERIFIER,
    };
    const id = 'postern:account';
    for (const [more, headers] of [
      [{ client_id: id }, {}],
      [{ client_id: id, client_secret: '' }, {}],
      [{}, { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:`)}` }],
      [{}, { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:kept-elsewhere`)}` }],
    ] as const) {
      const answer = await post(world(), '/oauth/token', { ...exchange, ...more }, headers);
      expect(['invalid_client', 'invalid_request']).toContain(answer.body['error']);
    }
  });
});

describe('a passkey of an attacker', () => {
  const world = useWorld(OPTIONS);
  standingClock();
  const open = async () => {
    const begun = await begin(world(), REQUEST);
    return { ...begun, form: formOf(begun.page, '/passkey') };
  };

  it('LG-44, MF-01, MF-03: is refused with a challenge, an origin, a kind or a frame of another ceremony', async () => {
    moveClock(2 * MINUTE);
    const key = await givePasskey(world());
    const captured = await open();
    const response = key.assert(world(), captured.page);
    const good = await captured.browser.post(captured.form.action, { ...captured.form.fields, response });
    expect(good.headers.get('location')).not.toBeNull();

    const { browser, page, form } = await open();
    const { challenge } = passkeyOptionsOf(captured.page);
    const ownChallenge = Buffer.from('0.x').toString('base64url');
    const wrong: readonly string[] = [
      response,
      key.assert(world(), page, { challenge }),
      key.assert(world(), page, { challenge: ownChallenge }),
      key.assert(world(), page, { challenge: '' }),
      key.assert(world(), page, { type: 'webauthn.create' }),
      key.assert(world(), page, { origin: 'https://id.example:8443' }),
      key.assert(world(), page, { origin: 'http://id.example' }),
      key.assert(world(), page, { origin: 'https://id.example.evil.example' }),
      key.assert(world(), page, { rpId: 'evil.example' }),
      key.assert(world(), page, { verifiesUser: false }),
      key.assert(world(), page, { clientData: { crossOrigin: true } }),
      key.assert(world(), page, { clientData: { topOrigin: 'https://evil.example' } }),
      key.assert(world(), page, { userHandle: new SoftwareKey().handle }),
      new SoftwareKey().assert(world(), page, { userHandle: key.handle }),
      '',
      'null',
      '[]',
      '{}',
      '{"id":1,"response":{}}',
      JSON.stringify({ ...JSON.parse(response), response: null }),
      'x'.repeat(20_000),
    ];
    for (const [index, one] of wrong.entries()) {
      const answer = await browser.post(form.action, { ...form.fields, response: one, challenge });
      expect([answer.headers.get('location'), answer.status < 500], String(index)).toEqual([null, true]);
    }
    await expectNobody(world(), browser);
    const late = await open();
    const inTime = key.assert(world(), late.page);
    moveClock(5 * MINUTE + 1);
    const answer = await late.browser.post(late.form.action, { ...late.form.fields, response: inTime });
    expect(answer.headers.get('location')).toBeNull();
    await expectNobody(world(), late.browser);
  });
});

/** Which access to the document of a user's factors fails. */
let away: 'nothing' | 'reading' | 'writing' = 'nothing';

async function failing<T>(what: typeof away, act: () => Promise<T>): Promise<T> {
  away = what;
  try {
    return await act();
  } finally {
    away = 'nothing';
  }
}

function withoutFactors(store: Store): Store {
  const { documents, records } = store;
  const { exchange: use } = records;
  const refuse = (collection: string, kind: typeof away) => {
    if (collection === 'factors' && (away === kind || away === 'reading')) throw new StoreUnavailable();
  };
  return {
    ...store,
    documents: {
      ...documents,
      async get(collection, id) {
        refuse(collection, 'reading');
        return documents.get(collection, id);
      },
      async put(collection, ...rest) {
        refuse(collection, 'writing');
        return documents.put(collection, ...rest);
      },
    },
    records: {
      ...records,
      ...(use && {
        async exchange(kind, key, saved, more) {
          refuse(more?.document?.collection ?? '', 'writing');
          return use(kind, key, saved, more);
        },
      }),
    },
    ping: () => store.ping(),
    close: () => store.close(),
  };
}

describe("a store that can't read a user's factors", () => {
  const world = useWorld({
    ...OPTIONS,
    config: {
      ...CONFIG,
      sign_in: { ...CONFIG.sign_in, second_factor: 'required' },
      clients: worldClients({ web2: { sign_in: { require: 'second_factor' } } }),
    },
    handStore: withoutFactors,
  });
  standingClock();

  it('means 503 for sign-ins, step-ups and refreshes until it is back', async () => {
    const app = await giveOneTimeCodes(world());
    const asked = { client_id: 'web2', scope: 'openid offline_access', prompt: 'consent' };
    const { browser, page } = await whole(world(), app.code(), newBrowser(world()), asked);
    const { tokens } = await proofOf(world(), page, 'web2');
    moveClock(2 * MINUTE);
    const open = await begin(world(), REQUEST);
    const second = await half(world());
    await failing('reading', async () => {
      expect((await signInAs(open.browser, open.page, 'alice')).status).toBe(503);
      expect((await second.browser.submit(second.page, '/code', { code: app.code() })).status).toBe(503);
      const { url } = await browser.request(authorizationUrl(world(), REQUEST));
      expect((await browser.open(url)).status).toBe(503);
      const renewed = await refresh(world(), String(tokens['refresh_token']), {}, 'web2');
      expect([renewed.status, renewed.body['access_token']]).toEqual([503, undefined]);
    });
    await failing('writing', async () => {
      expect((await second.browser.submit(second.page, '/code', { code: app.code() })).status).toBe(503);
    });
    for (const one of [open.browser, second.browser]) await expectNobody(world(), one);
    const done = await second.browser.submit(second.page, '/code', { code: app.code() });
    expect(codeOf(await finishPages(second.browser, done, 'alice'))).toBeDefined();
    expect((await refresh(world(), String(tokens['refresh_token']), {}, 'web2')).status).toBe(200);
  });
});
