// Answers to callers when the service itself fails: the store throws an unexpected error (500), can't be reached (503), or a limit
// is reached (429). No answer may reveal internals, and every answer has the security headers.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../src/store/store.ts';
import { signIn } from '../world/app.ts';
import { authorizationPath } from '../world/authorization-request.ts';
import { Browser, formOf } from '../world/browser.ts';
import { post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { type OpenWorld, SPA_ORIGIN } from '../world/world.ts';
import { eachStore, useWorld } from '../world/each-store.ts';

const ISSUER = 'https://id.example';
const AUTHORIZE = authorizationPath();
const REFRESH = { grant_type: 'refresh_token', refresh_token: 'x'.repeat(43) };
/** Headers of a script that may read the answer. */
const WEB = { authorization: basic('web'), origin: SPA_ORIGIN };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
/** An error of the service's own code, with members that a package would add. */
const BUG = () =>
  new TypeError("Cannot read properties of undefined (reading 'canary') in oidc-provider 9.13.3");
const INTERNALS =
  /canary|TypeError|\bat .*[:(]\d+|node:|node_modules|\/src\/|\/dist\/|oidc-provider|\bkoa\b|\bv?\d+\.\d+\.\d+\b/i;
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

type Request = { readonly path: string; readonly init: RequestInit; readonly isPage: boolean };

/** One request for each route that calls the store. */
async function requestsOf(world: OpenWorld): Promise<Request[]> {
  const { browser, tokens } = await signIn(world, {
    browser: new Browser(ISSUER, world.base),
    scope: 'openid offline_access',
  });
  const cookieOf = (one: Browser) => one.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const other = new Browser(ISSUER, world.base);
  const page = await other.open(`${ISSUER}${AUTHORIZE}`);
  const { pathname: login } = new URL(formOf(page, '/login').action);
  const [session, interaction] = [{ cookie: cookieOf(browser) }, { cookie: cookieOf(other) }];
  const program = (path: string, body: Record<string, string>, headers: Record<string, string> = WEB) => ({
    path,
    init: { method: 'POST', headers: { ...FORM, ...headers }, body: new URLSearchParams(body).toString() },
    isPage: false,
  });
  const form = (path: string) => ({ ...program(path, { logout: 'yes' }, interaction), isPage: true });
  const opened = (path: string, headers: Record<string, string>) => ({
    path,
    init: { headers },
    isPage: true,
  });
  return [
    program('/oauth/token', REFRESH),
    program('/oauth/token', {
      grant_type: 'authorization_code',
      code: 'x'.repeat(43),
      redirect_uri: 'https://app.example/cb',
      code_verifier: 'v'.repeat(43),
    }),
    program('/oauth/introspect', { token: 'x'.repeat(43) }),
    program('/oauth/introspect', { token: tokens.access_token }),
    program('/oauth/revoke', { token: 'x'.repeat(43) }),
    program('/oauth/revoke', { token: tokens.access_token }),
    {
      path: '/oauth/userinfo',
      init: { headers: { authorization: `Bearer ${tokens.access_token}` } },
      isPage: false,
    },
    opened(AUTHORIZE, {}),
    opened(AUTHORIZE, session),
    opened(login.replace(/\/login$/, ''), interaction),
    form(login),
    opened('/oauth/logout', session),
    {
      ...form('/oauth/logout/confirm'),
      init: { ...form('/oauth/logout/confirm').init, headers: { ...FORM, ...session } },
    },
  ];
}

async function sendRequest(world: OpenWorld, { path, init }: Request) {
  const response = await fetch(`${world.base}${path}`, { ...init, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
type Answer = Awaited<ReturnType<typeof sendRequest>>;

function expectSafe({ headers, text }: Answer, name: string): void {
  expect(headers.get('strict-transport-security'), name).toMatch(/^max-age=\d+/);
  expect(headers.get('x-content-type-options'), name).toBe('nosniff');
  expect(headers.get('referrer-policy'), name).toBe('same-origin');
  expect(headers.get('content-security-policy'), name).toContain("default-src 'none'");
  expect(headers.get('cache-control'), name).toBe('no-store');
  for (const header of ['server', 'x-powered-by', 'location', 'set-cookie'])
    expect(headers.get(header), name).toBeNull();
  expect(`${text}${JSON.stringify([...headers])}`, name).not.toMatch(INTERNALS);
}

/** The reference that the caller receives. */
function referenceOf({ headers, text }: Answer, { isPage }: Request, error: string): string {
  if (isPage) {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain(`<code>${error}</code>`);
    return UUID.exec(text)?.[0] ?? '';
  }
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  const body = JSON.parse(text) as Record<string, unknown>;
  expect(body).toEqual({
    error,
    error_description: expect.any(String),
    request_id: expect.stringMatching(UUID),
  });
  return String(body['request_id']);
}

function failStore({ openedStore: { records } }: OpenWorld, fault: () => Error): void {
  for (const name of ['find', 'findByAlias', 'save', 'consume', 'destroy', 'revokeGrant'] as const) {
    vi.spyOn(records, name).mockImplementation(() => Promise.reject(fault()));
  }
}

eachStore('when the service fails', { issuer: ISSUER }, (world) => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([
    [500, 'server_error', BUG],
    [503, 'temporarily_unavailable', () => new StoreUnavailable({ cause: BUG() })],
  ] as const)('HT-18, HT-31, HT-32: a %i has a reference, and no internals', async (status, error, fault) => {
    const requests = await requestsOf(world());
    failStore(world(), fault);
    for (const request of requests) {
      const name = `${request.init.method ?? 'GET'} ${request.path.split('?')[0]}`;
      const answer = await sendRequest(world(), request);
      expect(answer.status, name).toBe(status);
      expectSafe(answer, name);
      const origin = new Headers(request.init.headers).get('origin');
      expect(answer.headers.get('access-control-allow-origin'), name).toBe(origin);
      expect(answer.headers.get('retry-after') !== null, name).toBe(status === 503);
      const reference = referenceOf(answer, request, error);
      const lines = world()
        .recorded.log.map((line) => JSON.parse(line) as { level: number; requestId?: string; err?: object })
        .filter(({ level, requestId }) => level >= 50 && requestId === reference);
      expect(lines, name).toEqual([
        expect.objectContaining({
          err: expect.anything() as object,
          route: expect.not.stringMatching('unknown') as string,
        }),
      ]);
    }
  });
});

describe('when a limit is reached', () => {
  const world = useWorld({
    issuer: ISSUER,
    config: {
      rate_limits: {
        token: '1/1m',
        introspection: '1/1m',
        revocation: '1/1m',
        userinfo: '1/1m',
        authorization: '1/1m',
        logout: '1/1m',
      },
    },
  });

  it('HT-31, HT-32: a 429 has the security headers and says nothing of what is inside', async () => {
    const json = (path: string, body?: string) => ({
      path,
      init: body === undefined ? {} : { method: 'POST', headers: FORM, body },
      isPage: false,
    });
    const page = (path: string) => ({ path, init: { headers: { accept: 'text/html' } }, isPage: true });
    for (const request of [
      json('/oauth/token', 'x=y'),
      json('/oauth/introspect', 'token=x'),
      json('/oauth/revoke', 'token=x'),
      json('/oauth/userinfo'),
      page(AUTHORIZE),
      page('/oauth/logout'),
    ]) {
      await sendRequest(world(), request);
      const answer = await sendRequest(world(), request);
      expect(answer.status, request.path).toBe(429);
      expectSafe(answer, request.path);
      expect(referenceOf(answer, request, 'temporarily_unavailable'), request.path).toMatch(UUID);
    }
    expect((await post(world(), '/nothing', 'x=y')).status).toBe(404);
  });
});
