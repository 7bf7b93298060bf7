// An app that signs users in with openid-client as it ships: most tests begin with these flows.
import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import { type CodeClient, DEFAULT_SCOPE, REDIRECT_URIS } from './authorization-request.ts';
import type { Browser, Page } from './browser.ts';
import { finishPages, newBrowser, type User, titleOf } from './person.ts';
import type { ClientId } from './token-endpoint.ts';
import { SECRETS, type World } from './world.ts';

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
  readonly client?: CodeClient;
  readonly person?: User;
  readonly scope?: string;
  readonly browser?: Browser;
  readonly parameters?: Readonly<Record<string, string>>;
};

export type Authorized = {
  readonly configuration: oidc.Configuration;
  readonly client: CodeClient;
  readonly browser: Browser;
  /** The redirect URI that the browser was sent to, with `code` or `error`. */
  readonly callback: URL;
  readonly code: string | undefined;
  readonly verifier: string;
  readonly state: string;
  /** Empty without `openid`, because no ID token could hold it. */
  readonly nonce: string;
  readonly redirectUri: string;
  /** The last page of the browser: a page of the service, or the redirect to the app. */
  readonly page: Page;
};

/** Runs an authorization request up to the redirect to the app; signs in and consents where asked. */
export async function authorize(world: World, options: AuthorizeOptions = {}): Promise<Authorized> {
  const { client = 'web', person = 'alice', scope = DEFAULT_SCOPE } = options;
  const configuration = await connect(world, client);
  const browser = options.browser ?? newBrowser(world);
  const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  const nonce = scope.includes('openid') ? oidc.randomNonce() : '';
  const redirectUri = REDIRECT_URIS[client];
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
  const callback = new URL(page.url);
  const code = callback.searchParams.get('code') ?? undefined;
  return { configuration, client, browser, callback, code, verifier, state, nonce, redirectUri, page };
}

export type Ticket = Authorized & { readonly code: string };

/** Gets a new code; signs in and consents where asked. */
export async function takeCode(world: World, options: AuthorizeOptions = {}): Promise<Ticket> {
  const authorized = await authorize(world, options);
  const { code, page } = authorized;
  if (code === undefined) throw new Error(`no code: ${page.status} ${page.url} ${titleOf(page)}`);
  return { ...authorized, code };
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
  return exchange(await takeCode(world, options));
}

export async function machineToken(world: World, scope?: string): Promise<string> {
  const configuration = await connect(world, 'svc');
  const answer = await oidc.clientCredentialsGrant(configuration, scope === undefined ? {} : { scope });
  return answer.access_token;
}

/** The id of the session (`sid`) in the ID token. */
export const sidOf = ({ tokens }: SignedIn) => decodeJwt(tokens.id_token ?? '')['sid'];
