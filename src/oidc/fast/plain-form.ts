// What the short ways in front of the engine understand of a request: a plain form that is whole already, and a client that names
// itself without any need of decoding. Everything else is undefined, which leaves the request, as it was, to the engine.
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';

const FORM = 'application/x-www-form-urlencoded';
const MAX_BYTES = 4096;
/** With one of these the engine has something to say about how the client authenticates, or for whom the answer is. */
const UNUSUAL_HEADERS = [
  'origin',
  'transfer-encoding',
  'oauth-client-attestation',
  'oauth-client-attestation-pop',
];

/** Fields by name; each was sent once. */
export type PlainForm = Readonly<Partial<Record<string, string>>>;
export type PlainCredentials = { readonly clientId: string; readonly secret: string };

/** Whether the head announces a form that is small enough and has nothing unusual about it. */
export function announcesForm({ headers }: IncomingMessage): boolean {
  const length = lengthOf(headers);
  return (
    headers['content-type'] === FORM &&
    length > 0 &&
    length <= MAX_BYTES &&
    UNUSUAL_HEADERS.every((name) => headers[name] === undefined)
  );
}

const lengthOf = (headers: IncomingMessage['headers']) => Number(headers['content-length']);

/** The announced form, when it is whole already and holds `fields` only, each once. The request is left as it was. */
export function peekForm(request: IncomingMessage, fields: ReadonlySet<string>): PlainForm | undefined {
  const body = announcesForm(request) ? peek(request) : undefined;
  if (body?.length !== lengthOf(request.headers)) return undefined;
  return readForm(body.toString('utf8'), fields);
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

/** As node:querystring has it, which is what the engine uses; a pair with nothing encoded in it is only cut. */
function readPair(pair: string): readonly [name: string, value: string] {
  const equals = pair.indexOf('=');
  if (equals > 0 && !/[%+]/.test(pair)) return [pair.slice(0, equals), pair.slice(equals + 1)];
  const [name = '', value] = Object.entries(parse(pair))[0] ?? [];
  return [name, String(value)];
}

/** In one synchronous step, so that nobody else sees the stream in between. */
function peek(request: IncomingMessage): Buffer | undefined {
  const chunk = request.read() as Buffer | null;
  if (chunk === null) return undefined;
  request.unshift(chunk);
  return chunk;
}

/** One way of authenticating, without any need of decoding (RFC 6749 §2.3.1). */
export function credentialsOf(
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
  // What `%`, `+` and other encodings mean, and what a decoder forgives, is the engine's to say.
  const isPlain = /^[\x20-\x24\x26-\x2a\x2c-\x7e]+$/.test(decoded) && btoa(decoded) === encoded;
  if (!isPlain || colon < 1) return undefined;
  return { clientId: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}
