// A user with a second factor must always use it: every endpoint, prompt and detour, with the correct password and everything that
// the user's browser may store. A new endpoint or prompt fails here until it is listed.
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINT_TABLE, PARTS } from '../../../src/config/endpoints.ts';
import { PROMPTS } from '../../../src/oidc/open-interaction.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { LINK_PURPOSES, oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { AUTHORIZATION_REQUEST } from '../../world/authorization-request.ts';
import { type Browser, type Page } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import {
  begin,
  codeOf,
  complete,
  enterPassword,
  isLogin,
  newBrowser,
  sessionOf,
  signInAs,
  signOut,
  silently,
} from '../../world/person.ts';
import { formPost, toQuery } from '../../world/requests.ts';
import {
  type AuthenticatorApp,
  factorsOf,
  giveOneTimeCodes,
  isSecondStep,
  newAuthenticatorApp,
  setFactors,
} from '../../world/second-factors.ts';
import { ALL_ON } from '../../world/switches.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE, worldClients } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';

const CONFIG = {
  ...GENEROUS,
  account: true,
  features: ALL_ON,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  // Alice allowed the app before, and isn't asked again.
  lifetimes: { consent: '180d' },
  groups: { staff: 'Employees' },
  clients: worldClients({ post: { access: { groups: ['staff'] } } }),
};

const place = useWorld({ issuer: 'https://id.example', rotationTimer: NEVER, config: CONFIG });
standingClock();

/** The code of each attempt, which may be repeated. */
const NO_CODE = 'made-up';

/** A browser in which alice signed in with both factors, allowed the app, and signed out. */
async function ownBrowser(world: OpenWorld, app: AuthenticatorApp): Promise<Browser> {
  const browser = newBrowser(world);
  const { page: step } = await enterPassword(world, {}, { browser });
  const next = await browser.submit(step, '/code', { code: app.code(-1) });
  if (codeOf(next) === undefined) expect(codeOf(await browser.submit(next, '/consent'))).toBeDefined();
  expect(await silently(world, browser)).toBe('signed in');
  await signOut(world, browser);
  expect(await silently(world, browser)).toBe('login_required');
  expect(browser.cookies.some(({ name }) => name.endsWith('device'))).toBe(true);
  return browser;
}

/** Expects no session, no code and no token. */
async function expectNothingGained(
  world: OpenWorld,
  browser: Browser,
  answers: readonly Page[] = [],
): Promise<void> {
  for (const { url, headers, text } of answers) {
    expect([null, NO_CODE]).toContain(new URL(url).searchParams.get('code'));
    expect(headers.get('location') ?? '').not.toMatch(new RegExp(`[?&]code=(?!${NO_CODE})`));
    expect(text).not.toMatch(/"(?:access|id|refresh)_token":\s*"/);
  }
  for (const client_id of ['web', 'first-party', 'spa']) {
    expect(await silently(world, browser, { client_id })).toBe('login_required');
  }
}

/** The status that an attacker with the password gets at each endpoint, from the second step of a sign-in on. */
const ANSWERS: Readonly<Record<string, number>> = {
  // A sign-in from the start, or the second step again.
  'GET /oauth/authorize': 303,
  'POST /oauth/authorize': 303,
  'GET /oauth/authorize/:uid': 303,
  'GET /interaction/:uid': 200,
  'POST /interaction/:uid/login': 303,
  // Wrong proofs.
  'POST /interaction/:uid/code': 401,
  'POST /interaction/:uid/passkey': 401,
  // Endpoints of other prompts than the current one.
  'POST /interaction/:uid/switch': 400,
  'POST /interaction/:uid/continue': 400,
  'POST /interaction/:uid/notice': 400,
  'POST /interaction/:uid/consent': 400,
  'POST /interaction/:uid/enrol': 400,
  // The app gets access_denied.
  'POST /interaction/:uid/cancel': 303,
  // A link that was made up.
  'GET /interaction/link/:link': 410,
  'HEAD /interaction/link/:link': 410,
  'POST /interaction/link/:link': 403,
  'GET /interaction/done/:purpose': 200,
  'HEAD /interaction/done/:purpose': 200,
  // Redirects to a sign-in; a form without a recent sign-in.
  'GET /account/factors': 303,
  'GET /account/factors/callback': 303,
  'POST /account/factors/:change': 403,
  // Redirects to the page for factors.
  'GET /factors': 303,
  'GET /account': 303,
  'GET /account/callback': 303,
  'POST /account/password': 403,
  'POST /account/end-session': 403,
  'POST /account/end-others': 403,
  'POST /account/withdraw': 403,
  'GET /device/callback': 303,
  // Asks for a device code; a form of another browser, and a pending sign-in of another kind.
  'GET /device': 200,
  'POST /device': 403,
  'GET /device/:uid': 400,
  // This configuration sends no email.
  'POST /account/email': 404,
  'GET /email/:link': 404,
  'HEAD /email/:link': 404,
  'POST /email/:link': 404,
  'GET /forgot': 404,
  'POST /forgot': 404,
  'GET /forgot/sent': 404,
  'GET /sign-up': 404,
  'POST /sign-up': 404,
  'GET /sign-up/sent': 404,
  // There is no session to sign out.
  'GET /oauth/logout': 200,
  'POST /oauth/logout': 303,
  'POST /oauth/logout/confirm': 400,
  'GET /oauth/logout/success': 200,
  // For clients and tokens.
  'POST /oauth/token': 401,
  'GET /oauth/userinfo': 401,
  'POST /oauth/userinfo': 401,
  'POST /oauth/introspect': 401,
  'POST /oauth/revoke': 401,
  'POST /oauth/device_authorization': 401,
  // The same for all callers.
  'GET /': 200,
  'HEAD /': 200,
  'GET /.well-known/openid-configuration': 200,
  'HEAD /.well-known/openid-configuration': 200,
  'GET /.well-known/oauth-authorization-server': 200,
  'HEAD /.well-known/oauth-authorization-server': 200,
  'GET /oauth/jwks.json': 200,
  'HEAD /oauth/jwks.json': 200,
  'GET /assets/:file': 200,
  'HEAD /assets/:file': 200,
  'GET /favicon.ico': 200,
  'HEAD /favicon.ico': 200,
  'GET /.well-known/change-password': 303,
};

function pathsOf(path: string): readonly string[] {
  const alternatives = (PARTS[':step'] ?? '').replaceAll(/[()]/g, '').split('|');
  return path.includes(':step') ? alternatives.map((step) => path.replace(':step', step)) : [path];
}

const REQUESTS = ENDPOINT_TABLE.flatMap(({ path, methods }) =>
  pathsOf(path).flatMap((one) => methods.map((method) => `${method} ${one}`)),
);

describe('at every endpoint', () => {
  let kept: Browser['cookies'];
  let begun = 0;
  beforeAll(async () => {
    kept = (await ownBrowser(place(), await giveOneTimeCodes(place()))).cookies;
  });

  it('is listed here', () => {
    expect(REQUESTS.filter((one) => !(one in ANSWERS))).toEqual([]);
  });

  it.each([...new Set(REQUESTS)])('%s makes no session of half a sign-in', async (request) => {
    const browser = newBrowser(place());
    for (const cookie of kept) browser.setCookie(cookie);
    // A sign-in that is never finished counts as a failure, until an administrator resets the count.
    begun += 1;
    await createAccountStates(place().openedStore.documents).update(PEOPLE.alice, { attemptsSince: begun });
    const { page: login } = await begin(place(), {}, { browser });
    const page = await signInAs(browser, login, 'alice');
    expect(isSecondStep(page)).toBe(true);
    const [method = '', path = ''] = request.split(' ');
    const uid = new URL(page.url).pathname.split('/').at(-1) ?? '';
    const target = `${place().issuer}${path}`
      .replace(':uid', uid)
      .replace(':link', randomBytes(32).toString('base64url'))
      .replace(':purpose', 'reset')
      .replace(':change', 'add')
      .replace(':act', 'withdraw')
      .replace(':file', 'page.js');
    const tokens = [login, page].flatMap(({ text }) =>
      [...text.matchAll(/name="csrf" value="([^"]*)"/g)].map(([, csrf = '']) => csrf),
    );
    const answers: Page[] = [];
    for (const csrf of new Set(tokens)) {
      const fields = {
        ...AUTHORIZATION_REQUEST,
        csrf,
        username: 'alice',
        password: PASSWORDS.alice,
        response: '{}',
        logout: 'yes',
        grant_type: 'authorization_code',
        code: NO_CODE,
        token: uid,
      };
      const query = toQuery(fields);
      answers.push(
        method === 'POST'
          ? await browser.request(target, { ...formPost(query), method })
          : await browser.request(`${target}?${query}`, { method }),
      );
      await expectNothingGained(place(), browser, answers);
    }
    // The form for a device code is bound to a session without a user.
    if (path !== '/device') expect(sessionOf(browser)).toBeUndefined();
    const lowest = Math.min(...answers.map(({ status }) => status));
    expect(lowest).toBe(ANSWERS[request]);
  });
});

type Prompt = (typeof PROMPTS)[number];

/** How an attacker with her password reaches each prompt, and the form that leads there. */
const AT_PROMPT: Readonly<Record<Prompt, (world: OpenWorld) => Promise<readonly [Browser, Page]>>> = {
  async login(world) {
    const { browser, page } = await begin(world);
    return [browser, await signInAs(browser, page, 'alice')];
  },
  async select_account(world) {
    const { browser } = await complete(world, 'bob');
    return asOther(world, browser, { prompt: 'select_account' }, '/login');
  },
  async second_factor(world) {
    const { browser } = await complete(world, 'bob');
    await setFactors(world, 'bob', { oneTimeCode: newAuthenticatorApp('bob').factor });
    return asOther(world, browser, {}, '/switch');
  },
  async notice(world) {
    const { browser } = await complete(world, 'bob');
    await setFactors(world, 'bob', { notices: [{ what: 'factor_removed', method: 'passkey', at: 0 }] });
    return asOther(world, browser, {}, '/switch');
  },
  async access(world) {
    const { browser } = await complete(world, 'bob');
    return asOther(world, browser, { client_id: 'post' }, '/switch');
  },
  async consent(world) {
    const { browser } = await complete(world, 'bob');
    return asOther(world, browser, { prompt: 'consent' }, '/switch');
  },
};

async function asOther(
  world: OpenWorld,
  browser: Browser,
  changes: Readonly<Record<string, string>>,
  action: string,
): Promise<readonly [Browser, Page]> {
  const { page } = await begin(world, changes, { browser });
  const login = await browser.open(`${page.url}?account=other`);
  return [browser, await signInAs(browser, login, 'alice', action)];
}

it.each(PROMPTS)('at every prompt her password alone signs nobody in (%s)', async (prompt) => {
  await setFactors(place(), 'bob');
  await giveOneTimeCodes(place());
  const [browser, page] = await AT_PROMPT[prompt](place());
  expect([prompt, isSecondStep(page), isLogin(page)]).toEqual([prompt, true, false]);
  const reloaded = await browser.open(page.url);
  expect([prompt, isSecondStep(reloaded)]).toEqual([prompt, true]);
  await setFactors(place(), 'bob');
});

/** Adds a user to the store, whose password can be changed. */
async function newStorePerson(world: OpenWorld, username: string) {
  const people = createStoredUsers(world.openedStore);
  const id = `usr_${randomBytes(10).toString('hex')}`;
  await people.add({ id, username, passwordHash: await hashPassword(PASSWORDS.alice), claims: {} });
  const store = await factorsOf(world);
  await store.change(id, () => ({ oneTimeCode: newAuthenticatorApp('alice').factor }));
  return { id, username, people };
}

async function typePassword(
  world: OpenWorld,
  username: string,
  password: string,
  browser = newBrowser(world),
) {
  const { page } = await begin(world, {}, { browser });
  return { browser, page: await browser.submit(page, '/login', { username, password }) };
}

describe('around it', () => {
  it('another tab beside the second step has to do both steps', async () => {
    const app = await giveOneTimeCodes(place());
    const { browser, page: first } = await typePassword(place(), 'alice', PASSWORDS.alice);
    const { page: second } = await typePassword(place(), 'alice', PASSWORDS.alice, browser);
    expect([isSecondStep(first), isSecondStep(second)]).toEqual([true, true]);
    await expectNothingGained(place(), browser);
    const consent = await browser.submit(second, '/code', { code: app.code() });
    expect(isSecondStep(consent)).toBe(false);
  });

  it('MF-47: neither a changed password nor a reset link goes around it, and no link makes a session', async () => {
    const { id, username, people } = await newStorePerson(place(), 'carol');
    await people.setPassword(id, await hashPassword('quiet lantern moss 12'), Math.floor(Date.now() / 1000));
    const changed = await typePassword(place(), username, 'quiet lantern moss 12');
    expect(isSecondStep(changed.page)).toBe(true);
    for (const purpose of LINK_PURPOSES) {
      const token = await newLink(place(), purpose, id);
      const browser = newBrowser(place());
      const form = await browser.open(oneTimeLinkUrl(place().issuer, token));
      if (purpose === 'factors') {
        // The link is for a first factor, and this user has one.
        expect(form.status).toBe(410);
        await expectNothingGained(place(), browser, [form]);
        continue;
      }
      const password = `river otter jazz ${purpose}`;
      const done = await browser.submit(form, token, { password, again: password });
      expect([purpose, done.status]).toEqual([purpose, 200]);
      await expectNothingGained(place(), browser, [done]);
      const { page } = await typePassword(place(), username, password, browser);
      expect([purpose, isSecondStep(page)]).toEqual([purpose, true]);
      await expectNothingGained(place(), browser, [page]);
    }
  });

  it('asks with nothing else in the browser, whatever the app asks for', async () => {
    await giveOneTimeCodes(place());
    for (const changes of [
      { client_id: 'first-party' },
      { login_hint: 'alice' },
      { prompt: 'login' },
      { acr_values: 'urn:postern:acr:password' },
      { scope: 'openid' },
      { prompt: 'consent' },
      { prompt: 'select_account' },
      { max_age: '100000' },
      { response_mode: 'query' },
    ]) {
      const { browser, page: step } = await enterPassword(place(), changes);
      expect([changes, isSecondStep(step)]).toEqual([changes, true]);
      await expectNothingGained(place(), browser);
    }
  });
});
