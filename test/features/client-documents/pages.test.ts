// The consent page for an app known only by a metadata document, and how its answer is stored.
import { describe, expect, it } from 'vitest';
import { DocumentHost } from './document-host.ts';
import { anyStore, useWorld } from '../../world/each-store.ts';
import { authorizationUrl, VERIFIER } from '../../world/authorization-request.ts';
import { begin, complete, finishPages, newBrowser, signInAs, silently, titleOf } from '../../world/person.ts';
import { get, post } from '../../world/requests.ts';
import { GENEROUS, worldClients } from '../../world/world.ts';

const A = 'https://docs.example/a';
const B = 'https://docs.example/b';
const DESKTOP = 'https://docs.example/desktop';
const LOCAL = 'https://docs.example/local';
/** Redirect URIs with TLS that are still on the device or in its network. */
const NEARBY = [
  'https://localhost/cb',
  'https://127.0.0.9:8443/cb',
  'https://[::1]/cb',
  'https://[::ffff:10.0.0.5]/cb',
  'https://192.168.1.5/cb',
  'https://app.localhost/cb',
  'https://printer.local/cb',
  'https://intranet/cb',
];
const HERE = 'https://docs.example/cb';
const ELSEWHERE = 'https://app.docs-cdn.example/cb';
const PRIVATE = 'com.example.app://callback';
const API = 'https://mcp.example/mcp';

const pinned = (clientId: string, redirectUris: readonly string[], name?: string) => ({
  client_id: clientId,
  ...(name !== undefined && { client_name: name }),
  redirect_uris: redirectUris,
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
  scope: 'openid email offline_access mcp.tools mcp.admin',
});

const DOCUMENTS = [
  pinned(A, [HERE, ELSEWHERE], 'Google – verified by Example'),
  pinned(B, [HERE], 'Google – verified by Example'),
  pinned(LOCAL, [HERE, ...NEARBY]),
  pinned(DESKTOP, ['http://127.0.0.1/callback', 'http://localhost/callback', PRIVATE, HERE]),
];
const host = new DocumentHost();
for (const { client_id: url, scope: _scope, ...document } of DOCUMENTS)
  host.publish(url, { client_name: undefined, logo_uri: 'https://bank.example/logo.svg', ...document });

const PINNED = {
  ...GENEROUS,
  lifetimes: { consent: '30d' },
  resources: [{ resource: API, name: 'Notes', scopes: ['mcp.tools', 'mcp.admin'] }],
  clients: [
    ...worldClients()
      .filter(({ client_id: id }) => ['web', 'native'].includes(id))
      .map((client) => ({ ...client, scope: 'openid email offline_access mcp.tools' })),
    ...DOCUMENTS,
  ],
};
const FETCHED = {
  ...PINNED,
  clients: PINNED.clients.filter(({ client_id: id }) => !id.startsWith('https:')),
  client_documents: { hosts: ['docs.example'], scope: 'openid email offline_access mcp.tools mcp.admin' },
};
const WORLDS = [
  ['pinned', { config: PINNED, outgoing: host }],
  ['fetched', { config: FETCHED, outgoing: host }],
] as const;

const request = (clientId: string, redirectUri = HERE, scope = 'mcp.tools') => ({
  client_id: clientId,
  redirect_uri: redirectUri,
  scope,
  resource: API,
  nonce: '',
});

/** The page without its tags. */
const wordsOf = ({ text }: { readonly text: string }) =>
  text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');

describe.each(WORLDS)('the consent page of a client by document, %s', (_way, options) => {
  const world = useWorld(options);

  async function asked(clientId: string, redirectUri?: string) {
    const { browser, page } = await begin(world(), request(clientId, redirectUri));
    expect(page.text).not.toContain('Google');
    return { browser, page: await signInAs(browser, page, 'alice') };
  }

  it('MC-21: is headed by the host, and says that the name isn’t verified', async () => {
    const { page } = await asked(A);
    expect(titleOf(page)).toBe('docs.example wants access to your account');
    expect(wordsOf(page)).toContain('You’ll be redirected to docs.example.');
    expect(wordsOf(page)).toContain(
      'The app calls itself Google – verified by Example. This app isn’t verified.',
    );
    expect(page.text.indexOf('class="destination"')).toBeLessThan(page.text.indexOf('Google'));
    const loaded = [...page.text.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, url = '']) => url);
    expect(loaded.filter((url) => !url.startsWith(`${world().issuer}/assets/`))).toEqual([]);
  });

  it('MC-23: names another host that the user is sent to', async () => {
    const { page } = await asked(A, ELSEWHERE);
    expect(wordsOf(page)).toContain('You’ll be redirected to app.docs-cdn.example, not to docs.example.');
  });

  it('MC-23: warns of a program on the device, at each sign-in, whatever was allowed before', async () => {
    const [first, second] = ['http://127.0.0.1:51004/callback', 'http://localhost:51005/callback'];
    const { browser, page } = await asked(DESKTOP, first);
    expect(wordsOf(page)).toContain('You’ll be redirected to an app on this device (127.0.0.1:51004).');
    expect(wordsOf(page)).toContain('Another app on this device could be pretending to be docs.example.');
    expect(wordsOf(page)).toContain('This app isn’t verified.');
    expect((await browser.submit(page, '/consent')).url).toContain(`${first}?code=`);
    for (const redirectUri of [first, second]) {
      const again = await begin(world(), request(DESKTOP, redirectUri), { browser });
      expect(wordsOf(again.page)).toContain('Another app on this device could be pretending to be');
      expect(await silently(world(), browser, request(DESKTOP, redirectUri))).toBe('consent_required');
    }
    const app = await begin(world(), request(DESKTOP, PRIVATE), { browser });
    expect(wordsOf(app.page)).toContain('redirected to an app on this device (com.example.app).');
    expect(await silently(world(), browser, request(DESKTOP, PRIVATE))).toBe('consent_required');
    const stranger = await begin(world(), request(DESKTOP, first));
    expect((await signInAs(stranger.browser, stranger.page, 'alice')).text).toContain('/consent"');
  });

  it.each(NEARBY)('MC-23: warns of %s as of any program on the device', async (redirectUri) => {
    const { page } = await asked(LOCAL, redirectUri);
    expect(wordsOf(page)).toContain(`redirected to an app on this device (${new URL(redirectUri).host}).`);
    expect(wordsOf(page)).toContain('Another app on this device could be pretending to be');
  });

  it('shows nothing of this for a client of the file', async () => {
    const web = { client_id: 'web', scope: 'openid email' };
    const { browser, page } = await begin(world(), web);
    const consent = await signInAs(browser, page, 'alice');
    expect(titleOf(consent)).toBe('Web app wants access to your account');
    expect(consent.text).not.toContain('class="destination"');
    const native = { client_id: 'native', redirect_uri: 'http://127.0.0.1:5100/cb', scope: 'openid' };
    expect(await silently(world(), browser, native)).toBe('interaction_required');
  });
});

describe.each(WORLDS)('MC-25: loopback redirects of a document, %s', (_way, options) => {
  const world = useWorld(options);

  it.each([
    'http://127.0.0.1:51004/callback',
    'http://localhost:51005/callback',
    'http://localhost/callback',
  ])('may be %s', async (redirectUri) => {
    const { answer } = await complete(world(), 'alice', request(DESKTOP, redirectUri));
    expect(answer.href).toContain(`${redirectUri}?code=`);
    const redeemed = await post(world(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: DESKTOP,
      code: answer.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: VERIFIER,
    });
    expect([redeemed.status, redeemed.body['scope']]).toEqual([200, 'mcp.tools']);
  });

  it.each([
    'http://127.0.0.1:51004/other',
    'http://127.0.0.1.evil.example:51004/callback',
    'http://[::1]:51004/callback',
    'https://localhost:51005/callback',
    'https://docs.example:51004/cb',
  ])('may not be %s', async (redirectUri) => {
    const { page } = await begin(world(), request(DESKTOP, redirectUri));
    expect(page.status).toBe(400);
    expect(page.url.startsWith(world().issuer)).toBe(true);
  });
});

anyStore('a consent to a client by document', { config: FETCHED, outgoing: host }, (world) => {
  it('MC-34: is asked for each time, and what a session was allowed gives nothing to another', async () => {
    const browser = newBrowser(world());
    const all = request(A, HERE, 'mcp.tools mcp.admin');
    await complete(world(), 'alice', all, browser);
    for (const next of [all, request(B), request(A, ELSEWHERE)]) {
      expect(await silently(world(), browser, next)).toBe('consent_required');
      const { page } = await begin(world(), next, { browser });
      expect(page.text).toContain('/consent"');
      expect(page.text.includes('<li>mcp.admin</li>')).toBe(next === all);
    }
  });

  it('is in the audit trail with each scope once', async () => {
    await complete(world(), 'alice', request(A, HERE, 'openid mcp.tools mcp.admin'));
    const written = world().recorded.audit('consent').at(-1);
    expect(written).toMatchObject({ client_id: A, scope: 'openid mcp.tools mcp.admin' });
  });
});

const ISSUER = 'https://id.example/auth';
const APP = 'https://docs.example/client.json';
host.publish(APP, { redirect_uris: ['https://app.example/cb'] });

describe('MC-38: each answer to a client by document', () => {
  const world = useWorld({
    issuer: ISSUER,
    config: { client_documents: { hosts: ['docs.example'], scope: 'openid email' } },
    outgoing: host,
  });
  const app = { client_id: APP, scope: 'openid' };

  it.each([
    ['login_required', { prompt: 'none' }],
    ['invalid_scope', { scope: 'openid nobodys' }],
    ['invalid_target', { resource: 'https://nobodys.example' }],
    ['access_denied', {}],
    [null, {}],
  ] as const)('names the issuer, byte for byte as discovery does: %s', async (error, changes) => {
    const browser = newBrowser(world());
    const page = await browser.open(authorizationUrl({ issuer: ISSUER }, { ...app, ...changes }));
    const left =
      error === 'access_denied'
        ? await browser.submit(page, '/cancel')
        : await finishPages(browser, page, 'alice');
    const { searchParams } = new URL(left.url);
    expect([searchParams.get('error'), searchParams.has('code')]).toEqual([error, error === null]);
    const document = (await get(world(), '/.well-known/openid-configuration')).body;
    expect(document['authorization_response_iss_parameter_supported']).toBe(true);
    expect(searchParams.getAll('iss')).toEqual([document['issuer']]);
  });
});
