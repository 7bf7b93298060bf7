// The requests that this folder answers: a small form that has arrived completely, with client credentials that need no decoding.
// Everything else goes to the engine unchanged.
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import { errors } from 'oidc-provider';
import type { Client } from '../../config/config.ts';
import { digestOf } from '../../config/secret-strength.ts';
import { type ClientPlace, TooManyRequests } from '../../limits/limits.ts';
import { findSecret } from '../../oidc/client-authentication.ts';
import { ClientUnavailable } from '../../oidc/clients.ts';
import type { EngineApp } from '../../oidc/provider.ts';
import { StoreUnavailable } from '../../store/store.ts';

/** The same as in the middleware's `ctx.state`. */
export type RequestState = Readonly<{ requestId: string; clientAddress: string }>;

/**
 * Resolves the body of a 200; undefined leaves the request to the engine. Until the answer is certain, nothing is counted or changed, and
 * the request stays intact. From then on, it throws the errors that the engine would throw (429, 503).
 */
export type FastAnswer = (request: IncomingMessage, state: RequestState) => Promise<object | undefined>;

const LEFT = [StoreUnavailable, ClientUnavailable, TooManyRequests, errors.OIDCProviderError];

/** Leaves an outage, a limit or a refusal to the engine, but no bug. */
export function leaveToEngine(error: unknown): undefined {
  if (!LEFT.some((kind) => error instanceof kind)) throw error;
}

export async function findWithGrant({ provider }: EngineApp, jwt: string) {
  const token = await provider.AccessToken.find(jwt);
  const grant = token && (await provider.Grant.find(token.grantId));
  const isItsOwn = grant?.clientId === token?.clientId && grant?.accountId === token?.accountId;
  return token && grant && isItsOwn ? { token, grant } : undefined;
}

/** Runs `read` as one request, which reads each record once. */
export async function asOneRequest<T>(
  { records }: EngineApp,
  read: () => Promise<T>,
): Promise<T | undefined> {
  let found: T | undefined;
  await records.run(async () => {
    found = await read();
  });
  return found;
}

const FORM = 'application/x-www-form-urlencoded';
const MAX_BYTES = 4096;
/** Headers of browsers, and of clients that don't know the length of their form. */
const UNUSUAL_HEADERS = ['cookie', 'origin', 'transfer-encoding'];

/** Fields by name; each was sent once. */
type PlainForm = Readonly<Partial<Record<string, string>>>;
type PlainCredentials = Readonly<{ clientId: string; secret: string }>;
type PlainRequest = Readonly<{
  form: PlainForm;
  client: Client;
  /** Awaited before any answer, see `comparePlain`. */
  count: () => Promise<void>;
}>;

const lengthOf = ({ headers }: IncomingMessage) => Number(headers['content-length']);

/** Whether the headers announce a small form and nothing unusual. */
export function announcesForm(request: IncomingMessage): boolean {
  const { headers } = request;
  const length = lengthOf(request);
  const isForm = headers['content-type'] === FORM && length > 0 && length <= MAX_BYTES;
  return isForm && UNUSUAL_HEADERS.every((name) => headers[name] === undefined);
}

/** Returns the form and its authenticated client, if the form has arrived and has only `fields`, each once. */
export function peekRequest(
  parts: EngineApp,
  request: IncomingMessage,
  fields: ReadonlySet<string>,
  from: ClientPlace,
): PlainRequest | undefined {
  const { clients, guard } = parts;
  const form = peekForm(request, fields);
  const credentials = form && credentialsOf(request, form);
  const client = credentials && clients.find(credentials.clientId);
  const count = client && guard.isPlain(client) && comparePlain(parts, from, client, credentials.secret);
  return count ? { form, client, count } : undefined;
}

/**
 * Checks whether `secret` is a live one of a client that is known at this address; undefined leaves everything to the engine. It is
 * undefined for a stranger, because this check isn't counted. The caller awaits the returned function before any answer: it counts the
 * attempt and the client's request, and throws errors that the application answers.
 */
function comparePlain(
  { limits, now, onSecretUsed }: EngineApp,
  from: ClientPlace,
  client: Client,
  secret: string,
): (() => Promise<void>) | undefined {
  const { clientId, secrets, tokenEndpointAuthMethod } = client;
  if (tokenEndpointAuthMethod === 'none' || !limits.isKnownClient(from, clientId)) return undefined;
  const match = findSecret(secrets, digestOf(secret), now() / 1000);
  if (match === undefined) return undefined;
  return async function count() {
    await limits.attemptSecret(from, clientId, () => true);
    onSecretUsed(client, match);
    await limits.takeClient(from, client);
  };
}

function peekForm(request: IncomingMessage, fields: ReadonlySet<string>): PlainForm | undefined {
  // Read and put back in one synchronous step, so that no other reader sees the stream in between.
  const body = request.read() as Buffer | null;
  if (body === null) return undefined;
  request.unshift(body);
  return body.length === lengthOf(request) ? readForm(body.toString('utf8'), fields) : undefined;
}

function readForm(text: string, fields: ReadonlySet<string>): PlainForm | undefined {
  const form: Record<string, string> = {};
  for (const pair of text.split('&')) {
    const [name, value] = readPair(pair);
    if (!fields.has(name) || form[name] !== undefined) return undefined;
    form[name] = value;
  }
  return form;
}

/** Parses a pair like node:querystring, which the engine uses. A pair without encoding is only split. */
function readPair(pair: string): readonly [name: string, value: string] {
  const equals = pair.indexOf('=');
  if (equals > 0 && !/[%+]/.test(pair)) return [pair.slice(0, equals), pair.slice(equals + 1)];
  const [name = '', value] = Object.entries(parse(pair))[0] ?? [];
  return [name, String(value)];
}

/** Returns the credentials of a single authentication method that needs no decoding (RFC 6749 §2.3.1). */
function credentialsOf(
  { headers: { authorization } }: IncomingMessage,
  form: PlainForm,
): PlainCredentials | undefined {
  const { client_id: clientId, client_secret: secret } = form;
  if (authorization === undefined) {
    return clientId !== undefined && secret !== undefined ? { clientId, secret } : undefined;
  }
  const credentials = secret === undefined ? basicCredentials(authorization) : undefined;
  return clientId === undefined || clientId === credentials?.clientId ? credentials : undefined;
}

function basicCredentials(authorization: string): PlainCredentials | undefined {
  if (!authorization.startsWith('Basic ')) return undefined;
  const encoded = authorization.slice('Basic '.length);
  const decoded = Buffer.from(encoded, 'base64').toString('latin1');
  const colon = decoded.indexOf(':');
  // The engine handles `%`, `+` and other encodings, and input that a decoder tolerates.
  const isPlain = /^[\x20-\x24\x26-\x2a\x2c-\x7e]+$/.test(decoded) && btoa(decoded) === encoded;
  if (!isPlain || colon < 1) return undefined;
  return { clientId: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}
