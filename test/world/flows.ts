// The flows that most tests begin with, done by openid-client as it ships and by a person in a browser.
import * as oidc from 'openid-client';
import { Browser, type Page } from './browser.ts';
import { CALLBACK, PASSWORDS, SECRETS, SPA_ORIGIN, type World } from './world.ts';

export type ClientId = 'web' | 'web2' | 'post' | 'spa' | 'native' | 'first-party' | 'svc' | 'rs1';
export type Person = keyof typeof PASSWORDS;

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
  readonly nonce: string;
  readonly redirectUri: string;
};

export const DEFAULT_SCOPE = 'openid email profile offline_access reports.read';

/** From the authorization request to the redirect that leaves for the app, signing in and consenting where asked. */
export async function authorize(world: World, options: AuthorizeOptions = {}): Promise<Authorized> {
  const { client = 'web', person = 'alice', scope = DEFAULT_SCOPE } = options;
  const configuration = await connect(world, client);
  const browser = options.browser ?? new Browser(world.issuer, world.base);
  const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  const redirectUri = REDIRECT_URIS[client] ?? '';
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    ...(scope.includes('offline_access') && { prompt: 'consent' }),
    state,
    ...(scope.includes('openid') && { nonce }),
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
      page = await browser.submit(page, '/login', { username: person, password: PASSWORDS[person] });
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
  const openid = (callback.searchParams.get('code') ?? '') !== '';
  const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    ...(openid && { expectedNonce: nonce }),
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
