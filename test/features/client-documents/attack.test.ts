// Documents that claim more than their app may have, over HTTP: what is rejected, what has no effect, and what callers see.
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION_REQUEST, VERIFIER } from '../../world/authorization-request.ts';
import { finishPages, newBrowser } from '../../world/person.ts';
import { introspect } from '../../world/presented-tokens.ts';
import { get, post } from '../../world/requests.ts';
import { API } from '../../world/world.ts';
import { DocumentHost } from './document-host.ts';
import { useWorld } from '../../world/each-store.ts';

const CALLBACK = 'https://docs.example/cb';
const SCOPE = 'openid offline_access reports.read staff.read';
const RESOURCES = [
  { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'] },
  { resource: 'https://other.example/api', scopes: ['other.read'] },
  { resource: 'https://staff.example/api', scopes: ['staff.read'], access: { groups: ['staff'] } },
];
const config = (hosts: readonly string[]) => ({
  client_documents: { hosts, scope: SCOPE },
  groups: { staff: 'Employees' },
  resources: RESOURCES,
  trusted_proxies: ['127.0.0.1'],
});
const HOSTS = ['docs.example', ...Array.from({ length: 9 }, (_, one) => `host${one}.example`)];

const host = new DocumentHost();
let number = 0;
/** Publishes a document that no other test uses, each on the next host, so that no limit applies. */
function publishedInTurn(members: Readonly<Record<string, unknown>> = {}): string {
  number += 1;
  const url = `https://${HOSTS[number % HOSTS.length] ?? ''}/${number}/client.json`;
  host.publish(url, members);
  return url;
}

describe('a document that claims more than its app may have', () => {
  const world = useWorld({ config: config(HOSTS), outgoing: host });

  type Fields = Readonly<Record<string, string>>;

  function authorizeUrl(clientId: string, parameters: Fields = {}): string {
    const request = {
      ...AUTHORIZATION_REQUEST,
      client_id: clientId,
      redirect_uri: CALLBACK,
      scope: 'reports.read',
      nonce: '',
    };
    const all = Object.entries({ ...request, ...parameters }).filter(([, value]) => value !== '');
    return `${world().issuer}/oauth/authorize?${new URLSearchParams(Object.fromEntries(all)).toString()}`;
  }

  /** Opens a document's client, from a different address for each document. */
  async function open(clientId: string, parameters: Fields = {}) {
    const browser = newBrowser(world());
    const headers = { 'x-forwarded-for': `198.51.${number}.7` };
    return { browser, page: await browser.open(authorizeUrl(clientId, parameters), { headers }) };
  }

  const reasonFor = (clientId: string) =>
    world()
      .recorded.audit('client_document')
      .find(({ client_id: id }) => id === clientId)?.['reason'];

  async function tokensOf(clientId: string) {
    const { browser, page } = await open(clientId);
    const last = await finishPages(browser, page, 'alice');
    return post(world(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: new URL(last.url).searchParams.get('code') ?? '',
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
    });
  }

  it.each<[id: string, members: object, reason: string]>([
    ['MC-15: somebody else’s', { client_id: 'https://docs.example/other' }, 'client_id'],
    ['MC-16: a secret', { client_secret: 'canary-8f2k-secret' }, 'client_secret'],
    ['MC-16: a shared secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'shared secret'],
    ['MC-19: a script for a link', { policy_uri: 'javascript:alert(1)' }, 'policy_uri'],
    [
      'MC-27: another host without TLS',
      { redirect_uris: [CALLBACK, 'http://evil.example/cb'] },
      'redirect_uris[1]',
    ],
    ['MC-27: a wildcard', { redirect_uris: [CALLBACK, 'https://*.docs.example/cb'] }, 'redirect_uris[1]'],
    [
      'MC-27: loopback of a web app',
      { redirect_uris: [CALLBACK, 'http://127.0.0.1/cb'], application_type: 'web' },
      'redirect_uris[1]',
    ],
  ])('%s is refused whole, with the reason in the log and not on the page', async (_, members, reason) => {
    const clientId = publishedInTurn({ ...members });
    const { page } = await open(clientId);
    expect([page.status, page.url]).toEqual([400, expect.stringContaining(world().issuer)]);
    expect(reasonFor(clientId)).toContain(reason);
    expect(world().recorded.log.join('')).toContain(String(reasonFor(clientId)));
    expect(page.text).not.toContain(reason);
    expect(page.text + world().recorded.log.join('')).not.toContain('canary-8f2k');
  });

  it('gets no token for an API that its person may not use', async () => {
    const { browser, page } = await open(publishedInTurn(), { scope: 'staff.read' });
    const last = await finishPages(browser, page, 'alice');
    expect(new URL(last.url).searchParams.get('error') ?? last.url).toBe('access_denied');
  });

  it.each([
    ['ends with its host', config(['elsewhere.example'])],
    ['ends with client_documents', { ...config([]), client_documents: undefined }],
  ])('%s: tokens, codes, sessions and sign-ins, at once', async (_, without) => {
    const clientId = publishedInTurn();
    const issued = await tokensOf(clientId);
    const { access_token: token, refresh_token: refreshToken } = issued.body;
    expect(await introspect(world(), String(token))).toMatchObject({ active: true });
    const { browser, page } = await open(clientId);
    await world().reload(without);
    expect(await introspect(world(), String(token))).toEqual({ active: false });
    const refreshed = await post(world(), '/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: String(refreshToken),
    });
    expect([refreshed.status, refreshed.body['error']]).toEqual([401, 'invalid_client']);
    const signedIn = await browser.submit(page, '/login', {
      username: 'alice',
      password: 'alice-password-1',
    });
    expect([signedIn.status, signedIn.text.includes('/consent"')]).toEqual([400, false]);
    const again = await browser.open(authorizeUrl(clientId));
    expect([again.status, again.url]).toEqual([400, expect.stringContaining(world().issuer)]);
    expect((await get(world(), '/.well-known/openid-configuration')).status).toBe(200);
    await world().reload(config(HOSTS));
    expect(await introspect(world(), String(token))).toMatchObject({ active: true });
  });
});
