// The claims parameter (OIDC Core §5.5): single claims, of scopes that the app may ask for, and nothing behind the person's back.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { type AuthorizeOptions, signIn } from '../world/app.ts';
import { AUTHORIZATION_REQUEST, VERIFIER } from '../world/authorization-request.ts';
import type { Page } from '../world/browser.ts';
import { DocumentHost } from '../world/document-host.ts';
import { anyStore, useWorld } from '../world/each-store.ts';
import {
  authorizationError,
  begin,
  codeOf,
  complete,
  finishPages,
  newBrowser,
  signInAs,
  silently,
} from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { API, GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../world/world.ts';

type Members = Readonly<Record<string, unknown>>;

const OWN_SCOPE = 'openid email offline_access reports.read';
const PINNED = 'https://pinned.example/client.json';
const CONFIG = {
  ...GENEROUS,
  features: { claims_parameter: true },
  lifetimes: { consent: '180d' },
  groups: { staff: 'Employees', wiki: 'Wiki editors' },
  scopes: { storage: { claims: ['quota'] } },
  resources: [
    {
      resource: API,
      scopes: ['reports.read'],
      introspection_clients: ['rs1'],
      access_token_claims: ['quota', 'email'],
    },
  ],
  client_documents: { hosts: ['docs.example'], scope: 'openid email' },
  clients: [
    ...worldClients({
      web: { scope: `${OWN_SCOPE} profile groups storage` },
      web2: { scope: OWN_SCOPE },
      post: { scope: `${OWN_SCOPE} groups`, groups_claim: ['wiki'] },
      svc: { scope: 'reports.read', default_scope: undefined },
    }),
    {
      client_id: PINNED,
      redirect_uris: ['https://docs.example/cb'],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'none',
      scope: 'openid email',
    },
  ],
};
const CUSTOM = { groups: ['wiki', 'staff'], claims: { quota: 5 } };
const OPTIONS = { config: CONFIG, people: { alice: CUSTOM } };

const named = (claims: unknown) => ({ claims: JSON.stringify(claims) });
const EMAIL = named({ id_token: { email: { essential: true } }, userinfo: { groups: null, quota: null } });

const linesOf = ({ text }: Page) => [...text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, words]) => words);

async function seenBy(world: OpenWorld, tokens: Members) {
  const accessToken = String(tokens['access_token']);
  return {
    idToken: decodeJwt(String(tokens['id_token'])),
    userinfo: (await userinfo(world, accessToken)).body,
    accessToken: decodeJwt(accessToken),
    introspection: await introspect(world, accessToken),
  };
}

/** After a sign-in that asks for these claims, and after a refresh. */
async function seen(world: OpenWorld, claims: unknown, options: AuthorizeOptions = {}) {
  const { client = 'web' } = options;
  const { tokens } = await signIn(world, {
    scope: 'openid offline_access reports.read',
    parameters: named(claims),
    ...options,
  });
  const id = client === 'web2' ? 'web2' : 'web';
  const again = tokens.refresh_token && (await refresh(world, tokens.refresh_token, {}, id)).body;
  return { first: await seenBy(world, tokens), second: await seenBy(world, again || tokens), tokens };
}

anyStore(
  'the claims parameter',
  (world) => {
    it('PR-43: asks for what the person allowed nobody yet, by name, and gives no claim of a scope that the app may not have', async () => {
      const request = { client_id: 'web2', scope: 'openid' };
      const { browser } = await complete(world(), 'alice', request);
      expect(await silently(world(), browser, request)).toBe('signed in');
      expect(await silently(world(), browser, { ...request, ...EMAIL })).toBe('consent_required');

      const { page: denied } = await begin(world(), { ...request, ...EMAIL }, { browser });
      expect(linesOf(denied)).toEqual(['See your email address']);
      expect((await browser.submit(denied, '/cancel')).url).toContain('error=access_denied');
      expect(await silently(world(), browser, { ...request, ...EMAIL })).toBe('consent_required');

      const { page } = await begin(world(), { ...request, ...EMAIL }, { browser });
      const code = codeOf(await browser.submit(page, '/consent'));
      const { body } = await redeem(world(), { code, client: 'web2' });
      const { idToken, userinfo: info } = await seenBy(world(), body);
      expect(idToken['email']).toBe('alice@example.com');
      expect(info).toEqual({ sub: PEOPLE.alice });
      expect(await silently(world(), browser, { ...request, ...EMAIL })).toBe('signed in');
      expect(
        world()
          .recorded.audit()
          .find(({ claims }) => claims !== undefined),
      ).toMatchObject({
        event: 'consent',
        outcome: 'success',
        claims: 'email',
      });
    });

    it('PR-43: what was allowed is remembered, and asked again with prompt=consent in full', async () => {
      const claims = named({ userinfo: { birthdate: null, email: null } });
      const request = { scope: 'openid email', ...claims };
      await complete(world(), 'bob', request);
      const elsewhere = await begin(world(), request);
      expect((await signInAs(elsewhere.browser, elsewhere.page, 'bob')).url).toContain('code=');
      const { page } = await begin(world(), { ...request, prompt: 'consent' }, elsewhere);
      // The scope says it already.
      expect(linesOf(page)).toEqual(['Know who you are', 'See your email address', 'See your date of birth']);
    });

    it('AC-17: names a custom claim, which goes to an app with its scope and to no other', async () => {
      const wanted = { id_token: { quota: null }, userinfo: { quota: null } };
      const { browser, page } = await begin(world(), { scope: 'openid', ...named(wanted), ui_locales: 'de' });
      expect(linesOf(await signInAs(browser, page, 'alice'))).toEqual([
        'Ihr Konto erkennen',
        'Ihre Angabe „quota“ sehen',
      ]);

      const { first, second } = await seen(world(), wanted);
      for (const { idToken, userinfo: info, accessToken, introspection } of [first, second]) {
        expect([idToken['quota'], info['quota']]).toEqual([5, 5]);
        // An API gets what its scopes give.
        expect([accessToken['quota'], introspection['quota']]).toEqual([undefined, undefined]);
      }
      const other = await begin(world(), {
        client_id: 'web2',
        scope: 'openid',
        prompt: 'consent',
        ...named(wanted),
      });
      expect(linesOf(await signInAs(other.browser, other.page, 'alice'))).toEqual(['Know who you are']);
      const without = await seen(world(), wanted, { client: 'web2' });
      for (const places of [without.first, without.second])
        for (const place of Object.values(places)) expect(place).not.toHaveProperty('quota');
    });

    it('gives a claim where it was asked for and nowhere else, also after a refresh', async () => {
      const wanted = { id_token: { given_name: null }, userinfo: { family_name: { essential: true } } };
      const { first, second } = await seen(world(), wanted);
      for (const { idToken, userinfo: info } of [first, second]) {
        expect(idToken).toMatchObject({ given_name: 'Alice' });
        expect(info).toEqual({ sub: PEOPLE.alice, family_name: 'Example' });
        for (const absent of ['family_name', 'name', 'email']) expect(idToken).not.toHaveProperty(absent);
      }
    });

    it('gives nothing that was not asked for now, though it was allowed before', async () => {
      const browser = newBrowser(world());
      await seen(world(), { id_token: { name: null } }, { browser });
      const { first } = await seen(world(), { userinfo: { nickname: null } }, { browser });
      expect(first.idToken).not.toHaveProperty('name');
      expect(first.userinfo).toEqual({ sub: PEOPLE.alice });
    });

    it('goes through without a page at an app with implicit consent, which gets no more than others', async () => {
      const request = { client_id: 'first-party', scope: 'openid', ...EMAIL };
      const { browser, page } = await begin(world(), request);
      const code = codeOf(await signInAs(browser, page, 'alice'));
      const { body } = await redeem(world(), { code, client: 'first-party' });
      const { idToken, userinfo: info } = await seenBy(world(), body);
      expect([idToken['email'], info]).toEqual(['alice@example.com', { sub: PEOPLE.alice }]);
      expect(await silently(world(), browser, request)).toBe('signed in');
    });

    it('AC-15: gives the groups that the app may see', async () => {
      const { tokens } = await signIn(world(), {
        client: 'post',
        scope: 'openid',
        parameters: named({ id_token: { groups: null } }),
      });
      expect((await seenBy(world(), tokens)).idToken['groups']).toEqual(['wiki']);
    });

    it.each([
      ['fetched', 'https://docs.example/client.json'],
      ['pinned', PINNED],
    ])('a client by document, %s, can ask for no more than its scopes', async (_how, clientId) => {
      const wanted = { id_token: { email: null, name: null, groups: null } };
      const request = {
        ...AUTHORIZATION_REQUEST,
        client_id: clientId,
        redirect_uri: 'https://docs.example/cb',
        scope: 'openid',
      };
      const url = (changes: object = {}) =>
        `${world().issuer}/oauth/authorize?${new URLSearchParams({ ...request, ...changes }).toString()}`;
      const browser = newBrowser(world());
      await finishPages(browser, await browser.open(url()), 'alice');
      const silent = await browser.open(url({ ...named(wanted), prompt: 'none' }));
      expect(silent.url).toContain('error=consent_required');
      const page = await browser.open(url(named(wanted)));
      expect(linesOf(page)).toEqual(['Know who you are', 'See your email address']);
      const { body } = await post(world(), '/oauth/token', {
        grant_type: 'authorization_code',
        client_id: clientId,
        code: codeOf(await browser.submit(page, '/consent')) ?? '',
        redirect_uri: request.redirect_uri,
        code_verifier: VERIFIER,
      });
      const idToken = decodeJwt(String(body['id_token']));
      expect([idToken['email'], idToken['name'], idToken['groups']]).toEqual([
        'alice@example.com',
        undefined,
        undefined,
      ]);
      const again = await browser.open(url({ ...named(wanted), prompt: 'none' }));
      expect(codeOf(again)).toBeDefined();
    });

    it.each([
      ['no JSON', 'email'],
      ['a list', '[]'],
      ['a text', '"email"'],
      ['null', 'null'],
      ['nothing to look in', '{}'],
      ['a place that is a list', '{"id_token":["email"]}'],
      ['a place that is null', '{"userinfo":null}'],
      ['a member that is a text', '{"id_token":{"email":"essential"}}'],
      ['an unknown member that is a number', '{"userinfo":{"nope":1}}'],
    ])('refuses %s as invalid_request', async (_what, claims) => {
      expect(await authorizationError(world(), { claims })).toMatchObject({ error: 'invalid_request' });
    });

    it.each(['{"value":5}', '{"values":"x"}', '{"values":[["x"]]}', '{"essential":true,"values":5}'])(
      'refuses acr as %s as invalid_request',
      async (acr) => {
        const claims = `{"id_token":{"acr":${acr}}}`;
        expect(await authorizationError(world(), { claims })).toMatchObject({ error: 'invalid_request' });
      },
    );

    it('an essential acr is out of reach where nothing is said of sign-ins, and a wish is none', async () => {
      const acr = { essential: true, value: 'urn:example:gold' };
      for (const essential of [acr, { essential: true, values: ['urn:example:gold'] }]) {
        const request = named({ id_token: { acr: essential } });
        expect(await authorizationError(world(), request)).toMatchObject({
          error: 'unmet_authentication_requirements',
        });
      }
      for (const wish of [null, { essential: true }, { values: ['urn:example:gold'] }]) {
        const { first } = await seen(world(), { id_token: { acr: wish } });
        expect(first.idToken).not.toHaveProperty('acr');
      }
    });

    it('ignores what nobody has, whatever it is called', async () => {
      const claims =
        '{"id_token":{"nope":null,"__proto__":{"essential":true},"constructor":null,"sid":null,"iss":null},"other":{"email":null}}';
      const request = { scope: 'openid', prompt: 'consent', claims };
      const { browser, page } = await begin(world(), request);
      const consent = await signInAs(browser, page, 'alice');
      expect(linesOf(consent)).toEqual(['Know who you are']);
      const code = codeOf(await browser.submit(consent, '/consent'));
      const { body } = await redeem(world(), { code });
      expect(Object.keys(decodeJwt(String(body['id_token']))).toSorted()).toEqual(
        ['aud', 'exp', 'iat', 'iss', 'nonce', 'sub'].toSorted(),
      );
    });

    it('holds a sign-in to the person that sub names', async () => {
      const { browser } = await complete(world(), 'alice', { scope: 'openid' });
      const ofBob = { scope: 'openid', ...named({ id_token: { sub: { value: PEOPLE.bob } } }) };
      const ofAlice = { scope: 'openid', ...named({ id_token: { sub: { value: PEOPLE.alice } } }) };
      expect(await silently(world(), browser, ofAlice)).toBe('signed in');
      expect(await silently(world(), browser, ofBob)).toBe('login_required');
      const { page } = await begin(world(), ofBob, { browser });
      const still = await signInAs(browser, page, 'alice');
      expect(still.text).toContain('name="password"');
      const consent = await signInAs(browser, still, 'bob');
      const code = codeOf(await finishPages(browser, consent, 'bob'));
      const { body } = await redeem(world(), { code });
      expect(decodeJwt(String(body['id_token'])).sub).toBe(PEOPLE.bob);
    });
  },
  { ...OPTIONS, outgoing: documents() },
);

function documents(): DocumentHost {
  const host = new DocumentHost();
  host.publish('https://docs.example/client.json');
  return host;
}

anyStore(
  'a configuration that takes a claim away',
  (world) => {
    const wanted = { id_token: { quota: null, email: null }, userinfo: { quota: null, email: null } };
    const narrowed = {
      ...CONFIG,
      clients: worldClients({
        web: { scope: OWN_SCOPE },
        svc: { scope: 'reports.read', default_scope: undefined },
      }),
    };
    const off = { ...CONFIG, features: {} };

    it.each([
      ['its scope', narrowed, 'alice@example.com'],
      ['the parameter', off, undefined],
    ])('%s is in force for tokens and refresh tokens that exist', async (_what, changed, email) => {
      await world().reload(CONFIG);
      const { tokens } = await seen(world(), wanted);
      const before = await signIn(world(), { scope: 'openid offline_access', parameters: named(wanted) });
      expect((await userinfo(world(), before.tokens.access_token)).body).toMatchObject({ quota: 5 });
      await world().reload(changed);
      for (const accessToken of [tokens.access_token, before.tokens.access_token])
        expect((await userinfo(world(), accessToken)).body['quota']).toBeUndefined();
      expect((await userinfo(world(), before.tokens.access_token)).body['email']).toBe(email);
      const { body } = await refresh(world(), before.tokens.refresh_token);
      const after = await seenBy(world(), body);
      expect([after.idToken['quota'], after.userinfo['quota']]).toEqual([undefined, undefined]);
      expect([after.idToken['email'], after.userinfo['email']]).toEqual([email, email]);
    });

    it('is in force for a page that is open', async () => {
      await world().reload(CONFIG);
      const { browser, page } = await begin(world(), { scope: 'openid', ...named(wanted) });
      await world().reload(narrowed);
      const consent = await signInAs(browser, page, 'bob');
      expect(linesOf(consent)).toEqual(['Know who you are', 'See your email address']);
      const code = codeOf(await browser.submit(consent, '/consent'));
      const { idToken, userinfo: info } = await seenBy(world(), (await redeem(world(), { code })).body);
      expect([idToken['quota'], info]).toEqual([undefined, { sub: PEOPLE.bob, email: 'bob@example.com' }]);
    });
  },
  OPTIONS,
);

describe('without features.claims_parameter', () => {
  const world = useWorld({ ...OPTIONS, config: { ...CONFIG, features: {} } });

  it('every request goes on as if the parameter were not there', async () => {
    const { browser, page } = await begin(world(), { scope: 'openid', ...EMAIL });
    const consent = await signInAs(browser, page, 'alice');
    expect(linesOf(consent)).toEqual(['Know who you are']);
    const code = codeOf(await browser.submit(consent, '/consent'));
    const { idToken, userinfo: info } = await seenBy(world(), (await redeem(world(), { code })).body);
    expect([idToken['email'], info]).toEqual([undefined, { sub: PEOPLE.alice }]);
    const answer = await begin(world(), { scope: 'openid', claims: 'no JSON', prompt: 'none' }, { browser });
    expect(codeOf(answer.page)).toBeDefined();
  });
});

describe('discovery', () => {
  const [on, off] = [useWorld(OPTIONS), useWorld({ config: { ...CONFIG, features: {} } })];
  it('offers the claims parameter where it is on', async () => {
    const member = async (world: OpenWorld) =>
      (await get(world, '/.well-known/openid-configuration')).body['claims_parameter_supported'];
    expect([await member(on()), await member(off())]).toEqual([true, undefined]);
  });
});
