// What an attacker can do with the service that no client library would: requests made by hand, byte by byte where it
// matters. Owns no expectation.
import { changeAccount } from '../world/store-access.ts';
import { connect } from 'node:net';
import { generateKey } from '../../src/keys/generate-key.ts';
import { createKeyStore, type KeyStore } from '../../src/keys/key-store.ts';
import { openPepper } from '../../src/keys/installation.ts';
import { KEYS_COLLECTION, PEPPER_ID } from '../../src/keys/ring-document.ts';
import type { Timer } from '../../src/keys/rotation.ts';
import { toTiming } from '../../src/keys/timing.ts';
import { createVault } from '../../src/keys/vault.ts';
import { createKeyedHash, type KeyedHash } from '../../src/store/keyed-hash.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { Browser, type Page } from '../world/browser.ts';
import {
  type Answer,
  type Authorized,
  authorize,
  type AuthorizeOptions,
  basic,
  type ClientId,
  post,
} from '../world/flows.ts';
import { CALLBACK, SECRETS, SPA_ORIGIN, type OpenWorld, WORLD_ENV, type World } from '../world/world.ts';

/** For tests that ask more often than a person would, from one address. Limits have tests of their own. */
export const GENEROUS = {
  rate_limits: {
    token: { client: '1000000/1m', address: '1000000/1m', failures: '100000/1m' },
    introspection: { client: '1000000/1m', unknown: '1000000/1m', failures: '100000/1m' },
    revocation: { client: '1000000/1m', failures: '100000/1m' },
    userinfo: { address: '1000000/1m' },
    authorization: { address: '1000000/1m' },
    logout: { address: '1000000/1m' },
    sign_in: { account_failures: '100000/1m', address_failures: '100000/1m' },
  },
};

/** So many rounds in `npm run chaos:flows`, and `few` of them in `npm test`. */
export function rounds(all: number, few: number): number {
  return process.env['POSTERN_ROUNDS'] === 'all' ? all : few;
}

/** The service never looks at its key ring again: where a test moves the clock for minutes, and back afterwards. */
export const NEVER: Timer = () => () => undefined;

/** A key ring that is looked at when the test says so: where it moves the clock for days. */
export function createTurns(): { readonly timer: Timer; turn(): Promise<void> } {
  let due: (() => void) | undefined;
  let armed: (() => void) | undefined;
  return {
    timer(fire) {
      due = fire;
      armed?.();
      return () => (due = undefined);
    },
    async turn() {
      // The job asks for its next turn when this one is done.
      const done = new Promise<void>((resolve) => {
        armed = resolve;
      });
      due?.();
      await done;
    },
  };
}

export const REDIRECT_URIS = {
  web: CALLBACK,
  web2: 'https://app2.example/cb',
  post: CALLBACK,
  spa: `${SPA_ORIGIN}/cb`,
  native: 'http://127.0.0.1:51004/cb',
  'first-party': 'https://own.example/cb',
} as const;
export type CodeClient = keyof typeof REDIRECT_URIS;

/** RFC 7636 Appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

export type Parameters = Readonly<Record<string, string | undefined>>;

/** A correct authorization request of `client`, with `changes`; undefined takes a parameter away. */
export function authorizationUrl(
  world: Pick<World, 'issuer'>,
  client: CodeClient,
  changes: Parameters = {},
): string {
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT_URIS[client],
    scope: 'openid',
    state: 'state-of-the-app',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...changes,
  };
  const present = Object.entries(parameters).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return `${world.issuer}/oauth/authorize?${new URLSearchParams(present).toString()}`;
}

export function newBrowser(world: Pick<World, 'issuer' | 'base'>): Browser {
  return new Browser(world.issuer, world.base);
}

/** One authorization request by a browser that has never been here; no redirect followed. */
export async function ask(world: World, client: CodeClient, changes: Parameters = {}): Promise<Page> {
  return newBrowser(world).request(authorizationUrl(world, client, changes));
}

/** The parameters of the redirect in `page`'s Location, with where it goes to as `target`. */
export function redirectOf(page: Pick<Page, 'headers' | 'url'>): {
  readonly target: string;
  readonly query: Readonly<Record<string, string>>;
} {
  const url = new URL(page.headers.get('location') ?? page.url);
  return { target: `${url.origin}${url.pathname}`, query: Object.fromEntries(url.searchParams) };
}

export type Ticket = Authorized & { readonly client: ClientId; readonly code: string };

/** A fresh code, by signing in and consenting where asked. */
export async function takeCode(world: World, options: AuthorizeOptions = {}): Promise<Ticket> {
  const authorized = await authorize(world, options);
  const code = authorized.callback.searchParams.get('code');
  if (code === null) throw new Error(`no code: ${authorized.callback.href}`);
  return { ...authorized, client: options.client ?? 'web', code };
}

/** How `client` proves who it is, as header and form. */
export function credentialsOf(client: ClientId) {
  if (client === 'post')
    return { headers: {}, form: { client_id: 'post', client_secret: SECRETS.post } } as const;
  if (client in SECRETS)
    return { headers: { authorization: basic(client as keyof typeof SECRETS) }, form: {} };
  return { headers: {}, form: { client_id: client } };
}

/** A token request by hand, as `client`. */
export async function requestToken(
  world: Pick<World, 'base'>,
  client: ClientId,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const credentials = credentialsOf(client);
  return post(world, '/oauth/token', { ...credentials.form, ...form }, credentials.headers);
}

/** Exchanges the code of `ticket` once, at `world`, with `changes` to the form. */
export async function exchangeCode(
  world: Pick<World, 'base'>,
  ticket: Ticket,
  changes: Parameters = {},
): Promise<Answer> {
  const form = {
    grant_type: 'authorization_code',
    code: ticket.code,
    redirect_uri: ticket.redirectUri,
    code_verifier: ticket.verifier,
    ...changes,
  };
  const present = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return requestToken(world, ticket.client, Object.fromEntries(present));
}

export async function refresh(
  world: Pick<World, 'base'>,
  client: ClientId,
  refreshToken: string,
  form: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return requestToken(world, client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...form });
}

export async function revoke(
  world: Pick<World, 'base'>,
  client: ClientId,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const credentials = credentialsOf(client);
  return post(world, '/oauth/revoke', { ...credentials.form, ...form }, credentials.headers);
}

/** A member of an answer that must be text. */
export function textOf(answer: Answer, member: string): string {
  const value = answer.body[member];
  if (typeof value !== 'string') throw new Error(`no ${member} in ${answer.status} ${answer.text}`);
  return value;
}

/** The store of a running world, or one that nobody has open: LMDB forbids one process to open a folder twice. */
export async function withStore<T>(
  at: Pick<OpenWorld, 'openedStore'> | { readonly folder: string },
  use: (store: Store) => Promise<T>,
): Promise<T> {
  if ('openedStore' in at) return use(at.openedStore);
  const opened = await openStore({ engine: 'lmdb', folder: at.folder }, () => Date.now());
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** The key ring in `store`, as another node would read it. Its timing is that of the defaults. */
export function keyStoreOf(store: Store): KeyStore {
  const day = 86_400;
  return createKeyStore({
    documents: store.documents,
    vault: worldVault(),
    now: () => Date.now(),
    timing: toTiming({
      accessToken: 600,
      idToken: 3600,
      rotateEvery: 30 * day,
      publishAhead: day,
      jwksMaxAge: 300,
    }),
    generateKey: () => generateKey(2048),
  });
}

/** What turns a bearer value into the name of its record in this store. */
export async function hashOf(store: Store): Promise<KeyedHash> {
  const pepper = await store.documents.get(KEYS_COLLECTION, PEPPER_ID);
  return createKeyedHash(openPepper(pepper?.value ?? '', worldVault()));
}

function worldVault() {
  return createVault([Buffer.from(WORLD_ENV.TEST_ENCRYPTION_KEY, 'base64url')]);
}

/** Disables a person, or lets them in again, behind the back of the running service. */
export async function setDisabled(world: World, accountId: string, disabled: boolean): Promise<void> {
  await changeAccount(world, accountId, { disabled });
}

export type RawAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

/** Sends `request` as it stands and reads until the server closes; for what fetch would put right or refuse. */
export async function sendRaw(world: Pick<World, 'base'>, request: string): Promise<RawAnswer> {
  const bytes = await new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = connect(Number(new URL(world.base).port), '127.0.0.1', () =>
      socket.write(request, 'latin1'),
    );
    socket.setTimeout(5000, () => socket.destroy(new Error(`no end of the answer:\n${received}`)));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (received += chunk));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.slice(0, end).split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    ),
    text: bytes.slice(end + 4),
  };
}
