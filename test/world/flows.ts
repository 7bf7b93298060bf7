// The flows that most tests begin with, done by openid-client as it ships and by a person in a browser.
import * as oidc from 'openid-client';
import { Browser, type Page } from './browser.ts';
import { CALLBACK, PASSWORDS, SECRETS, SPA_ORIGIN, type World } from './world.ts';

export type ClientId = 'web' | 'web2' | 'post' | 'spa' | 'native' | 'first-party' | 'svc' | 'rs1';
/** Those of the world, or one of its crowd. */
export type Person = keyof typeof PASSWORDS | `person${number}`;

const passwordOf = (person: Person): string => PASSWORDS[person === 'bob' ? 'bob' : 'alice'];

const REDIRECT_URIS: Partial<Record<ClientId, string>> = {
  web: CALLBACK,
  web2: 'https://app2.example/cb',
  post: CALLBACK,
  spa: `${SPA_ORIGIN}/cb`,
  native: 'http://127.0.0.1:51004/cb',
  'first-party': 'https://own.example/cb',
};

/** The client as an app developer would set it up; strict as the library ships, but for http on loopback. */
export async function connect(world: World, id: ClientId): Promise<oidc.Configuration> {
  const secret = id in SECRETS ? SECRETS[id as keyof typeof SECRETS] : undefined;
  const authentication =
    secret === undefined
      ? oidc.None()
      : id === 'post'
        ? oidc.ClientSecretPost(secret)
        : oidc.ClientSecretBasic(secret);
  const redirected: oidc.CustomFetch = (url, options) =>
    fetch(url.replace(world.issuer, world.base), options as RequestInit);
  return oidc.discovery(new URL(world.issuer), id, undefined, authentication, {
    execute: [oidc.allowInsecureRequests],
    [oidc.customFetch]: redirected,
  });
}

export type AuthorizeOptions = {
  readonly client?: ClientId;
  readonly person?: Person;
  readonly scope?: string;
  readonly browser?: Browser;
  readonly parameters?: Readonly<Record<string, string>>;
};

export type Authorized = {
  readonly configuration: oidc.Configuration;
  readonly browser: Browser;
  /** Where the browser was sent, with `code` or `error`. */
  readonly callback: URL;
  readonly verifier: string;
  readonly state: string;
  /** Empty without `openid`, where there is no ID token to hold it. */
  readonly nonce: string;
  readonly redirectUri: string;
};

export const DEFAULT_SCOPE = 'openid email profile offline_access reports.read';

/** From the authorization request to the redirect that leaves for the app, signing in and consenting where asked. */
export async function authorize(world: World, options: AuthorizeOptions = {}): Promise<Authorized> {
  const { client = 'web', person = 'alice', scope = DEFAULT_SCOPE } = options;
  const configuration = await connect(world, client);
  const browser = options.browser ?? new Browser(world.issuer, world.base);
  const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  const nonce = scope.includes('openid') ? oidc.randomNonce() : '';
  const redirectUri = REDIRECT_URIS[client] ?? '';
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    ...(scope.includes('offline_access') && { prompt: 'consent' }),
    state,
    ...(nonce !== '' && { nonce }),
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...options.parameters,
  });
  const page = await finishPages(browser, await browser.open(url.href), person);
  return { configuration, browser, callback: new URL(page.url), verifier, state, nonce, redirectUri };
}

/** Signs in and consents until the browser leaves for the app or meets an error page. */
export async function finishPages(browser: Browser, first: Page, person: Person): Promise<Page> {
  let page = first;
  for (let step = 0; step < 4; step += 1) {
    if (/name="password"/.test(page.text)) {
      page = await browser.submit(page, '/login', { username: person, password: passwordOf(person) });
    } else if (/\/consent"/.test(page.text)) {
      page = await browser.submit(page, '/consent');
    } else return page;
  }
  return page;
}

export type SignedIn = Authorized & {
  readonly tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;
};

export async function exchange(authorized: Authorized): Promise<SignedIn> {
  const { configuration, callback, verifier, state, nonce } = authorized;
  const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    ...(nonce !== '' && { expectedNonce: nonce }),
  });
  return { ...authorized, tokens };
}

export async function signIn(world: World, options: AuthorizeOptions = {}): Promise<SignedIn> {
  return exchange(await authorize(world, options));
}

export async function machineToken(world: World, scope?: string): Promise<string> {
  const configuration = await connect(world, 'svc');
  const answer = await oidc.clientCredentialsGrant(configuration, scope === undefined ? {} : { scope });
  return answer.access_token;
}

export function basic(id: keyof typeof SECRETS, secret: string = SECRETS[id]): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
}

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly text: string;
};

/** A form post to an endpoint of the service, with nothing added. */
export async function post(
  world: Pick<World, 'base'>,
  path: string,
  form: Readonly<Record<string, string>> | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${world.base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    redirect: 'manual',
  });
  return toAnswer(response);
}

export async function get(
  world: Pick<World, 'base'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return toAnswer(await fetch(`${world.base}${path}`, { headers, redirect: 'manual' }));
}

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: Record<string, unknown> = {};
  if (response.headers.get('content-type')?.includes('json'))
    body = JSON.parse(text) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body, text };
}

export async function introspect(
  world: World,
  token: string,
  caller: keyof typeof SECRETS = 'rs1',
): Promise<Record<string, unknown>> {
  return (await post(world, '/oauth/introspect', { token }, { authorization: basic(caller) })).body;
}

export async function userinfo(world: World, token: string): Promise<Answer> {
  return get(world, '/oauth/userinfo', { authorization: `Bearer ${token}` });
}

/** A refresh as the client `id` sends it. */
export async function refresh(
  world: World,
  refreshToken: string | undefined,
  form: Readonly<Record<string, string>> = {},
  id: keyof typeof SECRETS = 'web',
): Promise<Answer> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken ?? '', ...form };
  return post(world, '/oauth/token', fields, { authorization: basic(id) });
}

/** A machine token request as `svc` sends it. */
export async function clientCredentials(
  world: World,
  form: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const fields = { grant_type: 'client_credentials', ...form };
  return post(world, '/oauth/token', fields, { authorization: basic('svc') });
}

/** The exchange of a code with nothing added or checked, as the client `id` sends it. */
export async function redeem(
  world: World,
  authorized: Authorized,
  form: Readonly<Record<string, string>> = {},
  id: keyof typeof SECRETS = 'web',
): Promise<Answer> {
  const fields = {
    grant_type: 'authorization_code',
    code: authorized.callback.searchParams.get('code') ?? '',
    redirect_uri: authorized.redirectUri,
    code_verifier: authorized.verifier,
    ...form,
  };
  return post(world, '/oauth/token', fields, { authorization: basic(id) });
}

/** What an authorization request without any page ends in: the parameters of the redirect to the app. */
export async function authorizationError(
  world: World,
  parameters: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const query = new URLSearchParams({ ...AUTHORIZATION_REQUEST, ...parameters }).toString();
  const page = await new Browser(world.issuer, world.base).open(`${world.issuer}/oauth/authorize?${query}`);
  const url = new URL(page.url);
  if (`${url.origin}${url.pathname}` !== CALLBACK) throw new Error(`not sent to the app: ${page.url}`);
  return Object.fromEntries(url.searchParams);
}

/** Everything that Spec §4 names for GET /oauth/authorize; the challenge is that of RFC 7636 appendix B. */
export const AUTHORIZATION_REQUEST = {
  response_type: 'code',
  client_id: 'web',
  redirect_uri: CALLBACK,
  scope: 'openid email profile',
  state: 'state-of-the-client',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  nonce: 'nonce-of-the-client',
} as const;
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
