// Apps and APIs for some users only, and scopes that some users don't get: at sign-in, with tokens of an earlier sign-in, and by every
// detour that a user or an app can take.
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { authorize, signIn } from '../../world/app.ts';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { fieldOf, type Page } from '../../world/browser.ts';
import {
  begin,
  codeOf,
  complete,
  itemsOf,
  newBrowser,
  signInAs,
  silently,
  titleOf,
  type User,
} from '../../world/person.ts';
import { introspect, userinfo } from '../../world/presented-tokens.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import {
  API,
  CALLBACK,
  GENEROUS,
  type OpenWorld,
  OTHER_API,
  PEOPLE,
  type World,
  worldClients,
} from '../../world/world.ts';
import { eachStore } from '../../world/each-store.ts';
import { watchSaving } from '../../world/saving.ts';

const WIKI = { client_id: 'web2', redirect_uri: 'https://app2.example/cb' };
const OWN = { client_id: 'first-party', redirect_uri: 'https://own.example/cb' };
const STAFF = { access: { groups: ['staff'] } };
const APIS = 'reports.read reports.write other.read other.write';

const CLIENTS_WEB = { scope: `openid email profile offline_access ${APIS}` };
const CLIENTS = worldClients({
  web: CLIENTS_WEB,
  web2: { client_name: 'Wiki', ...STAFF },
  'first-party': STAFF,
});

const CONFIG = {
  ...GENEROUS,
  groups: { staff: 'Employees', managers: 'Managers' },
  branding: { support_uri: 'https://help.example/' },
  resources: [
    { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'], ...STAFF },
    {
      resource: OTHER_API,
      name: 'Other API',
      scopes: ['other.read', 'other.write'],
      scope_groups: { 'other.write': ['managers'] },
      introspection_clients: ['rs1'],
    },
  ],
  clients: CLIENTS,
  lifetimes: { consent: '30d' },
};
const PEOPLE_OF_FILE = { alice: { groups: ['staff', 'managers'] } };

/** The query that the app receives. */
function queryAtApp({ url }: Page): Readonly<Record<string, string>> {
  const { origin, pathname, searchParams } = new URL(url);
  return { to: `${origin}${pathname}`, ...Object.fromEntries(searchParams) };
}

type Saved = { readonly kind: string; readonly payload: string };

const saving = watchSaving();

/** Returns the records that were saved while `action` ran. */
async function savedWhile(action: () => Promise<unknown>): Promise<readonly Saved[]> {
  const saved: Saved[] = [];
  saving.set((records) => saved.push(...records));
  await action();
  saving.set(undefined);
  return saved;
}

async function openAs(world: World, person: User, request: Readonly<Record<string, string>>) {
  const { browser, page } = await begin(world, request);
  return { browser, page: await signInAs(browser, page, person) };
}

const NO_ACCESS = 'You don’t have access to Wiki';
const SCOPE = 'openid offline_access';

eachStore('access', { config: CONFIG, people: PEOPLE_OF_FILE, handStore: saving.handStore }, (world) => {
  const denied = (to: string) => ({
    to,
    error: 'access_denied',
    state: 'state-of-the-client',
    iss: world().issuer,
  });
  const expectNothingGiven = (saved: readonly Saved[]) => {
    const kinds = saved.map(({ kind }) => kind);
    for (const kind of ['Grant', 'Consent', 'AuthorizationCode']) expect(kinds).not.toContain(kind);
  };
  const change = (people: Parameters<OpenWorld['reload']>[1]) => world().reload(CONFIG, people);
  const restore = () => change(PEOPLE_OF_FILE);

  it('AC-21: a page tells a user outside that they may not use the app, and leads back to it', async () => {
    const { browser, page: first } = await begin(world(), WIKI);
    expect(first.text).not.toMatch(/staff|Employees/);
    const before = world().recorded.audit('access_denied').length;
    const pages: Page[] = [];
    const saved = await savedWhile(async () => {
      const page = await signInAs(browser, first, 'bob');
      pages.push(page, await browser.submit(page, '/cancel'));
    });
    const [page, back] = pages as [Page, Page];
    expect([page.status, titleOf(page)]).toEqual([403, NO_ACCESS]);
    expect(page.text).toContain('href="https://help.example/"');
    expect(page.text).not.toMatch(/staff|Employees/);
    expect(queryAtApp(back)).toMatchObject(denied(WIKI.redirect_uri));
    expectNothingGiven(saved);
    const sessions = saved.filter(({ kind }) => kind === 'Session');
    expect(sessions.length).toBeGreaterThan(0);
    for (const { payload } of sessions) expect(payload).not.toContain('web2');
    expect(world().recorded.audit('access_denied').slice(before)).toMatchObject([
      { outcome: 'failure', client_id: 'web2', account_id: PEOPLE.bob, rule: 'clients[web2].access' },
    ]);
  });

  it('AC-21: prompt=none sends a user outside back at once, and tells a stranger nothing', async () => {
    const { browser } = await complete(world(), 'bob');
    expect(await silently(world(), newBrowser(world()), WIKI)).toBe('login_required');
    const pages: Page[] = [];
    const saved = await savedWhile(async () => {
      pages.push(await browser.open(authorizationUrl(world(), { ...WIKI, prompt: 'none' })));
    });
    expect(pages.map(queryAtApp)).toMatchObject([denied(WIKI.redirect_uri)]);
    expectNothingGiven(saved);
  });

  it('AC-22: a closed app stays closed to a user who is signed in, through every other door', async () => {
    const { browser } = await complete(world(), 'bob');
    const saved = await savedWhile(async () => {
      const { page } = await begin(world(), WIKI, { browser });
      expect(titleOf(page)).toBe(NO_ACCESS);

      const csrf = fieldOf(page, 'csrf');
      const byHand = await browser.post(`${page.url}/consent`, { csrf });
      expect(byHand.status).toBe(400);

      const other = await browser.open(`${page.url}?account=other`);
      const again = await signInAs(browser, other, 'bob', '/switch');
      expect([again.status, titleOf(again)]).toEqual([403, NO_ACCESS]);

      const own = await begin(world(), { ...OWN, scope: 'openid email' }, { browser });
      expect([own.page.status, titleOf(own.page)]).toEqual([403, 'You don’t have access to first-party']);
    });
    expectNothingGiven(saved);

    const { page } = await begin(world(), WIKI, { browser });
    const other = await browser.open(`${page.url}?account=other`);
    const alice = await browser.submit(await signInAs(browser, other, 'alice', '/switch'), '/consent');
    expect(queryAtApp(alice)).toMatchObject({ to: WIKI.redirect_uri, state: 'state-of-the-client' });
    expect(alice.url).toContain('code=');
  });

  it('AC-22: a consent that is answered after the group is gone is none', async () => {
    const { browser, page } = await openAs(world(), 'alice', { ...WIKI, prompt: 'consent' });
    expect(page.text).toContain('/consent"');
    await change({});
    const saved = await savedWhile(async () => {
      expect(titleOf(await browser.submit(page, '/consent'))).toBe(NO_ACCESS);
    });
    await restore();
    expectNothingGiven(saved);
  });

  it.each([
    ['by resource', { scope: 'openid reports.read', resource: API }],
    ['by its scope', { scope: 'openid reports.read' }],
  ])('AC-13: an API for some people, asked for %s, is refused before consent', async (_how, request) => {
    const { browser, page } = await begin(world(), request);
    const pages: Page[] = [];
    const saved = await savedWhile(async () => {
      pages.push(await signInAs(browser, page, 'bob'));
      pages.push(await browser.open(authorizationUrl(world(), { ...request, prompt: 'none' })));
    });
    for (const one of pages) expect(queryAtApp(one)).toMatchObject(denied(CALLBACK));
    expectNothingGiven(saved);
    expect(world().recorded.audit('access_denied').at(-1)).toMatchObject({
      client_id: 'web',
      account_id: PEOPLE.bob,
      rule: `resources[${API}].access`,
    });
    const { answer } = await complete(world(), 'alice', request);
    expect(answer.searchParams.has('code')).toBe(true);
  });

  it('AC-25: a refresh without the group ends the family for good', async () => {
    const { tokens } = await signIn(world(), { client: 'web2', scope: SCOPE });
    const { tokens: others } = await signIn(world(), { scope: SCOPE });
    await change({});
    const lost = await refresh(world(), tokens.refresh_token, {}, 'web2');
    expect([lost.status, lost.body['error']]).toEqual([400, 'invalid_grant']);
    expect(world().recorded.audit('access_denied').at(-1)).toMatchObject({
      client_id: 'web2',
      account_id: PEOPLE.alice,
      rule: 'clients[web2].access',
    });
    await restore();
    const late = await refresh(world(), tokens.refresh_token, {}, 'web2');
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    expect((await refresh(world(), others.refresh_token)).status).toBe(200);
    expect((await signIn(world(), { client: 'web2', scope: SCOPE })).tokens.refresh_token).toBeTruthy();
  });

  it('AC-25: a code is worth nothing once the group is gone, also when it comes back', async () => {
    const open = await authorize(world(), { client: 'web2', scope: SCOPE });
    await change({});
    const lost = await redeem(world(), open, {}, 'web2');
    expect([lost.status, lost.body['error']]).toEqual([400, 'invalid_grant']);
    await restore();
    expect((await redeem(world(), open, {}, 'web2')).status).toBe(400);
  });

  it('AC-26: an access token is dead while the group is gone; other apps are untouched', async () => {
    const { tokens } = await signIn(world(), { client: 'web2', scope: 'openid' });
    const { tokens: forApi } = await signIn(world(), {
      scope: 'openid reports.read',
      parameters: { resource: API },
    });
    const { tokens: others } = await signIn(world(), { scope: 'openid' });
    expect(await introspect(world(), forApi.access_token)).toMatchObject({ active: true });
    await change({});
    const answer = await userinfo(world(), tokens.access_token);
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
    expect(await introspect(world(), tokens.access_token, 'web2')).toEqual({ active: false });
    expect(await introspect(world(), forApi.access_token)).toEqual({ active: false });
    expect((await userinfo(world(), others.access_token)).status).toBe(200);
    expect(await introspect(world(), others.access_token, 'web')).toMatchObject({ active: true });
    await restore();
  });

  const OTHERS = { scope: 'openid offline_access other.read other.write', resource: OTHER_API };

  it('AC-36: a scope that a user may not have is neither shown nor granted nor remembered', async () => {
    const { browser, page } = await openAs(world(), 'bob', {
      scope: 'openid other.read other.write',
      prompt: 'consent',
    });
    expect(itemsOf(page)).toEqual(['Confirm your identity', 'other.read']);
    expect((await browser.submit(page, '/consent')).url).toContain('code=');
    expect(await silently(world(), browser, { scope: 'openid other.read other.write' })).toBe('signed in');
    await change({ ...PEOPLE_OF_FILE, bob: { groups: ['managers'] } });
    expect(await silently(world(), browser, { scope: 'openid other.read other.write' })).toBe(
      'consent_required',
    );
    await restore();
    const request = { scope: OTHERS.scope, parameters: { resource: OTHER_API } };
    const { tokens } = await signIn(world(), { person: 'bob', ...request });
    expect([tokens.scope, decodeJwt(tokens.access_token)['scope']]).toEqual(['other.read', 'other.read']);
    const { tokens: whole } = await signIn(world(), request);
    expect(whole.scope).toBe('other.read other.write');
  });

  it('AC-26: a scope that a user lost is gone at the next refresh, and the older token with it', async () => {
    const { tokens } = await signIn(world(), { scope: OTHERS.scope, parameters: { resource: OTHER_API } });
    const { tokens: byScope } = await signIn(world(), { scope: OTHERS.scope });
    const open = await authorize(world(), { scope: OTHERS.scope });
    await change({ alice: { groups: ['staff'] } });
    expect(await introspect(world(), tokens.access_token)).toEqual({ active: false });
    expect((await userinfo(world(), byScope.access_token)).status).toBe(200);
    expect(await introspect(world(), tokens.refresh_token, 'web')).toMatchObject({
      active: true,
      scope: 'openid offline_access other.read',
    });
    expect((await redeem(world(), open)).body['scope']).toBe('openid offline_access other.read');
    const none = await refresh(world(), byScope.refresh_token, { scope: 'other.write' });
    expect([none.status, none.body['error']]).toEqual([400, 'invalid_scope']);
    const asked = await refresh(world(), byScope.refresh_token, { scope: 'openid other.read other.write' });
    expect(asked.body['scope']).toBe('openid other.read');
    const { body } = await refresh(world(), tokens.refresh_token);
    expect([body['scope'], decodeJwt(String(body['access_token']))['scope']]).toEqual([
      'other.read',
      'other.read',
    ]);
    expect(await introspect(world(), String(body['access_token']))).toMatchObject({ active: true });
    await restore();
    const later = await refresh(world(), String(body['refresh_token']));
    expect(later.body['scope']).toBe('other.read');
  });

  it('AC-25, AC-26: what was lost under the rules stays lost once the file has none', async () => {
    const { tokens } = await signIn(world(), { client: 'web2', scope: SCOPE });
    const code = await authorize(world(), { client: 'web2', scope: SCOPE });
    const narrowed = await signIn(world(), { person: 'bob', scope: OTHERS.scope });
    const { browser, page } = await openAs(world(), 'bob', { scope: OTHERS.scope, prompt: 'consent' });
    await change({});
    await refresh(world(), tokens.refresh_token, {}, 'web2');
    await redeem(world(), code, {}, 'web2');

    const { groups: _groups, ...rest } = CONFIG;
    const resources = CONFIG.resources.map(({ resource, scopes }) => ({ resource, scopes }));
    await world().reload({ ...rest, resources, clients: worldClients({ web: CLIENTS_WEB }) }, {});
    const late = await refresh(world(), tokens.refresh_token, {}, 'web2');
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    expect((await redeem(world(), code, {}, 'web2')).body['error']).toBe('invalid_grant');
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
    // The page showed one scope less.
    const code2 = codeOf(await browser.submit(page, '/consent'));
    for (const { body } of [
      await refresh(world(), narrowed.tokens.refresh_token),
      await redeem(world(), { code: code2 }),
    ]) {
      expect(String(body['scope']).split(' ').toSorted()).toEqual(['offline_access', 'openid', 'other.read']);
    }
    expect(await silently(world(), browser, { scope: OTHERS.scope })).toBe('consent_required');
    await restore();
  });
});
