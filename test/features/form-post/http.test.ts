// OAuth 2.0 Form Post Response Mode: the answer of a sign-in in a form that the browser sends, for apps that list it.
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import { authorize, type Authorized, type AuthorizeOptions, connect } from '../../world/app.ts';
import { AUTHORIZATION_REQUEST, authorizationUrl, VERIFIER } from '../../world/authorization-request.ts';
import { formOf, type Page } from '../../world/browser.ts';
import { anyStore, useWorld } from '../../world/each-store.ts';
import { ask, begin, complete, finishPages, newBrowser, redirectOf, silently } from '../../world/person.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { formPost, get } from '../../world/requests.ts';
import { watchSaving } from '../../world/saving.ts';
import { CALLBACK, GENEROUS, type OpenWorld, worldClients } from '../../world/world.ts';

const BOTH = ['query', 'form_post'];
const CONFIG = {
  ...GENEROUS,
  features: { response_modes: BOTH },
  clients: worldClients({
    web: { response_modes: BOTH },
    post: { response_modes: ['form_post'] },
    'first-party': { response_modes: BOTH },
  }),
};
const FORM_POST = { response_mode: 'form_post' };
const saving = watchSaving();

/** Signs in, up to the page with the form. */
async function posted(world: OpenWorld, changes: Readonly<Record<string, string>> = {}) {
  const { browser, page } = await begin(world, { ...FORM_POST, ...changes });
  const last = await finishPages(browser, page, 'alice');
  return { browser, last, fields: formOf(last, CALLBACK).fields };
}

/** The form as the app gets it from the browser. */
const sentTo = (uri: string, fields: Readonly<Record<string, string>>) =>
  new Request(uri, { method: 'POST', body: new URLSearchParams(fields) });

function expectFormPage({ status, headers, text, url }: Page, expected: number): void {
  expect([status, headers.get('content-type')]).toEqual([expected, 'text/html; charset=utf-8']);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-frame-options')).toBe('DENY');
  const policy = headers.get('content-security-policy')?.split('; ') ?? [];
  expect(policy).toEqual(expect.arrayContaining(["script-src 'self'", "frame-ancestors 'none'"]));
  expect(policy.join(' ')).not.toMatch(/unsafe|sha256|nonce/);
  // One form, to the redirect URI alone, with a button; each script is a file.
  expect(text.match(/<form/g)).toHaveLength(1);
  expect(text).toContain(`<form method="post" action="${CALLBACK}"`);
  expect(text).toContain('<button class="button primary" type="submit"');
  expect(text.match(/<script(?! src="[^"]+\/assets\/[\w.-]+\.js" defer><\/script>)/g)).toBeNull();
  expect(url).not.toMatch(/[?&#]code=/);
}

anyStore('response_mode=form_post', { config: CONFIG, handStore: saving.handStore }, (world) => {
  it('PR-01: openid-client takes the code from the form, and no address has it', async () => {
    const configuration = await connect(world(), 'web');
    const { last, fields } = await posted(world());
    expectFormPage(last, 200);
    expect(last.headers.get('location')).toBeNull();
    expect(Object.keys(fields).toSorted()).toEqual(['code', 'iss', 'state']);
    const tokens = await oidc.authorizationCodeGrant(configuration, sentTo(CALLBACK, fields), {
      pkceCodeVerifier: VERIFIER,
      expectedState: AUTHORIZATION_REQUEST.state,
      expectedNonce: AUTHORIZATION_REQUEST.nonce,
    });
    expect(tokens.claims()?.aud).toBe('web');
  });

  it('PR-01: no code leaves where it could not be stored', async () => {
    const { browser, page } = await begin(world(), FORM_POST);
    saving.set((saved) =>
      saved.some(({ kind }) => kind === 'AuthorizationCode')
        ? Promise.reject(new StoreUnavailable())
        : undefined,
    );
    const last = await finishPages(browser, page, 'alice');
    saving.set(undefined);
    expect([last.status, last.headers.get('retry-after')]).toEqual([503, '2']);
    expect(last.text).not.toContain('<form');
    expect(last.text).not.toContain('name="code"');
  });
});

const world = useWorld({ config: CONFIG });

describe('what the form says', () => {
  it.each([
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    '&#x22;&quot;&amp;&#34;',
    '\u2028\u2029',
    '</form><form action="https://evil.example/">',
    '<%= 1 %> ${1} {{1}}',
    '日本語 + %20 \u00a0é',
  ])('PR-01: the state %j arrives as it was sent, and is text alone', async (state) => {
    const { last, fields } = await posted(world(), { state });
    expectFormPage(last, 200);
    expect(fields['state']).toBe(state);
    const [, value = ''] = /name="state" value="([^"]*)"/.exec(last.text) ?? [];
    expect(value).not.toMatch(/[<>"']/);
  });

  it('PR-01: an error comes the same way, whatever of the request it repeats', async () => {
    const scope = 'openid "><script>alert(1)</script>';
    const refused = await ask(world(), { ...FORM_POST, scope });
    expectFormPage(refused, 400);
    expect(formOf(refused, CALLBACK).fields).toMatchObject({
      error: 'invalid_scope',
      error_description: expect.any(String),
      state: AUTHORIZATION_REQUEST.state,
      iss: world().issuer,
    });
    expect(refused.text).not.toContain('<script>');

    const unknown = await ask(world(), { ...FORM_POST, prompt: 'none' });
    expectFormPage(unknown, 400);
    expect(formOf(unknown, CALLBACK).fields['error']).toBe('login_required');
  });

  it('a user who goes back to the app brings it access_denied in the form', async () => {
    const { browser, page } = await begin(world(), FORM_POST);
    const last = await browser.submit(page, '/cancel');
    expectFormPage(last, 400);
    expect(formOf(last, CALLBACK).fields).toMatchObject({ error: 'access_denied', iss: world().issuer });
  });

  it('is in the language of the user, and has no links to others: the page is there once', async () => {
    const { browser, page } = await begin(world(), { ...FORM_POST, ui_locales: 'fr' });
    const last = await finishPages(browser, page, 'alice');
    expect(last.text).toContain('<html lang="fr"');
    expect(last.text).not.toContain('hreflang');
  });

  it('PR-01: the page is there once: who reloads it or goes back to it sees no code', async () => {
    const { browser, last } = await posted(world());
    const again = await browser.open(last.url);
    expect([again.status, again.text.includes('<form')]).toEqual([400, false]);
  });

  it('PR-01: a sign-out page that was left open in another tab ends nothing', async () => {
    const browser = newBrowser(world());
    const other = { client_id: 'web2', scope: 'openid' };
    await complete(world(), 'alice', other, browser);
    const out = 'client_id=web2&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fout';
    const left = await browser.open(`${world().issuer}/oauth/logout?${out}`);
    expect(left.text).toContain('/oauth/logout/confirm"');
    const { page } = await begin(world(), FORM_POST, { browser });
    expectFormPage(await finishPages(browser, page, 'alice'), 200);
    expect(await silently(world(), browser, other)).toBe('signed in');
  });

  it('PR-01: a request by POST ends on the same page', async () => {
    const browser = newBrowser(world());
    const { search } = new URL(authorizationUrl(world(), FORM_POST));
    const first = await browser.open(`${world().issuer}/oauth/authorize`, formPost(search.slice(1)));
    expectFormPage(await finishPages(browser, first, 'alice'), 200);
  });

  it('PR-01: an unknown redirect URI or client is a page of ours, as without it', async () => {
    for (const changes of [{ redirect_uri: 'https://evil.example/' }, { client_id: 'nobody' }]) {
      const page = await ask(world(), { ...FORM_POST, ...changes });
      expect([page.status, page.headers.get('location')]).toEqual([400, null]);
      expect(page.text).not.toContain('<form');
    }
  });
});

describe('who gets it', () => {
  const refusal = async (changes: Readonly<Record<string, string>>) => {
    const page = await ask(world(), changes);
    expect([page.status, page.text.includes('<form')]).toEqual([303, false]);
    return redirectOf(page).query;
  };

  it('AZ-16: a client that does not list it is refused, by query', async () => {
    for (const client of ['web2', 'spa', 'native']) {
      const query = await refusal({ ...FORM_POST, client_id: client });
      expect(query, client).toMatchObject({
        error: 'invalid_request',
        error_description: 'requested response_mode is not allowed for this client or request',
        state: AUTHORIZATION_REQUEST.state,
        iss: world().issuer,
      });
    }
    // Also for a request with another error that is found first.
    const twice = `${world().issuer}/oauth/authorize?client_id=web2&redirect_uri=https://app2.example/cb&response_mode=form_post&request=x`;
    const page = await newBrowser(world()).request(twice);
    expect(page.status).toBe(303);
    expect(redirectOf(page).query).toMatchObject({ error: 'request_not_supported' });
  });

  it('AZ-10: a request object is refused in a form to a client that takes nothing else', async () => {
    const object = 'eyJhbGciOiJub25lIn0.eyJyZXNwb25zZV9tb2RlIjoiZm9ybV9wb3N0In0.';
    for (const changes of [
      { request: object },
      { request: object, ...FORM_POST },
      { request_uri: CALLBACK },
    ]) {
      const page = await ask(world(), { client_id: 'post', ...changes });
      expectFormPage(page, 400);
      const error = 'request' in changes ? 'request_not_supported' : 'request_uri_not_supported';
      expect(formOf(page, CALLBACK).fields).toMatchObject({ error, state: AUTHORIZATION_REQUEST.state });
    }
    expect((await refusal({ request: object }))['error']).toBe('request_not_supported');
  });

  it('AZ-16: every other mode is refused to a client that lists it, and a client without query needs it', async () => {
    for (const mode of ['fragment', 'web_message', 'jwt', 'form_post.jwt', 'FORM_POST', 'form_post query'])
      expect((await refusal({ response_mode: mode }))['error'], mode).toBe('unsupported_response_mode');
    expect((await refusal({ client_id: 'post' }))['error']).toBe('invalid_request');
    expect((await ask(world(), { client_id: 'post', ...FORM_POST })).status).toBe(303);
  });

  it('AZ-16: two modes are none', async () => {
    const { search } = new URL(authorizationUrl(world(), FORM_POST));
    for (const twice of ['form_post', 'query']) {
      const url = `${world().issuer}/oauth/authorize${search}&response_mode=${twice}`;
      const page = await newBrowser(world()).request(url);
      expect([page.status, page.text.includes('<form')]).toEqual([303, false]);
      expect(redirectOf(page).query).toMatchObject({ error: 'invalid_request' });
    }
  });

  it('without it in the request the answer is a redirect, as before', async () => {
    for (const mode of [undefined, 'query']) {
      const parameters: AuthorizeOptions = mode === undefined ? {} : { parameters: { response_mode: mode } };
      const { callback, code }: Authorized = await authorize(world(), parameters);
      expect([`${callback.origin}${callback.pathname}`, code]).toEqual([CALLBACK, expect.any(String)]);
    }
  });

  it('discovery says so, and without it not', async () => {
    const modes = async () =>
      (await get(world(), '/.well-known/openid-configuration')).body['response_modes_supported'];
    expect(await modes()).toEqual(BOTH);
    await world().reload(GENEROUS);
    expect(await modes()).toEqual(['query']);
    await world().reload(CONFIG);
  });

  it('AZ-16: a sign-in that was open while the file changed ends without a code', async () => {
    const { features, ...without } = CONFIG;
    for (const [mode, changed] of [
      ['form_post', { ...CONFIG, clients: worldClients() }],
      ['form_post', { ...without, clients: worldClients() }],
      ['query', { ...CONFIG, clients: worldClients({ web: { response_modes: ['form_post'] } }) }],
      [undefined, { ...CONFIG, clients: worldClients({ web: { response_modes: ['form_post'] } }) }],
    ] as const) {
      const { browser, page } = await begin(world(), { response_mode: mode });
      await world().reload(changed);
      const last = await finishPages(browser, page, 'alice');
      expect(last.text).not.toContain('<form');
      expect(Object.fromEntries(new URL(last.url).searchParams)).toMatchObject({ error: 'invalid_request' });
      expect(last.url).not.toContain('code=');
      await world().reload({ features, ...without });
    }
  });
});
