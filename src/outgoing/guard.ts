// Outbound requests for the configuration or for an unknown caller: https, to addresses that were checked before anything is sent,
// limited in bytes and time, without redirects (OWASP SSRF Prevention).
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Config } from '../config/config.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { isLoopbackAddress, isOwnBroadcast, isPrivateAddress, isPublicAddress } from './special-use.ts';

export type OutgoingRequest = Readonly<{
  /** Default: GET. */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** For the look-up, connection, headers and body together. */
  deadlineMs: number;
  /** An answer whose body is longer is refused. */
  maxBytes: number;
  /** Whether to read the body, by status; default: always. A body that isn't read may be long or compressed, and is never refused. */
  readsBody?: (status: number) => boolean;
}>;

export type OutgoingAnswer = Readonly<{
  /** Also 3xx: no redirect is followed. */
  status: number;
  headers: IncomingHttpHeaders;
  /** Empty if it isn't read. */
  body: Buffer;
}>;

export type OutgoingFault =
  /** The host has an address that may not be called. */
  'address' | 'name' | 'url' | 'connection' | 'timeout' | 'size' | 'encoding';

/** The request has no usable answer. `reason` is for logs and metrics; a message never repeats what a server sent. */
export class OutgoingRefused extends Error {
  readonly reason: OutgoingFault;

  constructor(reason: OutgoingFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutgoingRefused';
    this.reason = reason;
  }
}

const URL_FAULT = 'only https URLs without a user name are called';

type Address = Readonly<{ address: string; family: number }>;

export type Outgoing = ReturnType<typeof createOutgoing>;

/**
 * Hosts of `outgoing.internal_hosts` may have private addresses. Only if the issuer is on this machine, they may be on it as well,
 * then also without TLS.
 */
export function createOutgoing({ issuer, outgoing }: Pick<Config, 'issuer' | 'outgoing'>) {
  const { internalHosts } = outgoing;
  const issuerIsLoopback = isLoopbackUrl(issuer);
  const lookups = new Map<string, Promise<readonly Address[]>>();

  function mayCall({ hostname, protocol }: URL, address: string): boolean {
    if (isOwnBroadcast(address)) return false;
    const isInternal = internalHosts.includes(hostname);
    if (isInternal && issuerIsLoopback && isLoopbackAddress(address)) return true;
    if (protocol === 'http:') return false;
    return isPublicAddress(address) || (isInternal && isPrivateAddress(address));
  }

  /** Refuses all addresses if one may not be called: the next look-up might return that one alone. */
  async function checkedAddresses(url: URL): Promise<readonly Address[]> {
    const { hostname, protocol } = url;
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(literal);
    const addresses = family === 0 ? await resolve(hostname) : [{ address: literal, family }];
    const refused = addresses.find(({ address }) => !mayCall(url, address));
    if (refused === undefined) return addresses;
    if (protocol === 'http:') throw new OutgoingRefused('url', URL_FAULT);
    const message = `${hostname} has the address ${refused.address}, which is not public`;
    throw new OutgoingRefused('address', message);
  }

  /**
   * Looks a name up once at a time: a silent name server blocks a thread of Node's pool until the look-up times out, long after this
   * request. Node uses half of its threads for look-ups; the others sign tokens.
   */
  async function resolve(hostname: string): Promise<readonly Address[]> {
    const asked =
      lookups.get(hostname) ?? lookup(hostname, { all: true }).finally(() => lookups.delete(hostname));
    lookups.set(hostname, asked);
    try {
      return await asked;
    } catch (error) {
      throw new OutgoingRefused('name', `${hostname} has no address`, { cause: error });
    }
  }

  /** Whether the URL may be called at all; decided before its name is looked up. */
  const isCallable = ({ protocol, hostname, username, password }: URL) =>
    username + password === '' &&
    (protocol === 'https:' || (protocol === 'http:' && issuerIsLoopback && internalHosts.includes(hostname)));

  return {
    /** Throws OutgoingRefused; with the reason `address`, `name` or `url` nothing was sent to the host. */
    async request(text: string, asked: OutgoingRequest): Promise<OutgoingAnswer> {
      const url = URL.parse(text);
      if (!url || !isCallable(url)) throw new OutgoingRefused('url', URL_FAULT);
      const signal = AbortSignal.timeout(asked.deadlineMs);
      const late = timeout(signal, `${url.hostname} did not answer within ${asked.deadlineMs / 1000} s`);
      const addresses = await Promise.race([checkedAddresses(url), late]);
      return Promise.race([send({ url, addresses, signal }, asked), late]);
    },
  };
}

type Target = Readonly<{ url: URL; addresses: readonly Address[]; signal: AbortSignal }>;

/** Sends a request to one of `addresses` and nowhere else. */
async function send({ url, addresses, signal }: Target, asked: OutgoingRequest): Promise<OutgoingAnswer> {
  const { method = 'GET', headers, body, maxBytes, readsBody = () => true } = asked;
  const { request, Agent } = url.protocol === 'http:' ? http : https;
  const sent = request(url, {
    method,
    // A separate connection, without a proxy or lax certificates from the environment.
    agent: new Agent({ keepAlive: false }),
    rejectUnauthorized: true,
    lookup: pinnedTo(addresses),
    signal,
    headers: { ...headers, 'Accept-Encoding': 'identity', 'User-Agent': 'Postern' },
  });
  // An error after the answer has begun also fails its body.
  sent.on('error', () => undefined);
  sent.end(body);
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, headers: answered } = response;
    const read = readsBody(status) ? await readBody(response, maxBytes) : Buffer.alloc(0);
    return { status, headers: answered, body: read };
  } catch (error) {
    throw toRefused(error, url.hostname);
  } finally {
    sent.destroy();
  }
}

/**
 * Connects only to a checked address, whatever the name resolves to by now. The callback runs later: an address without a route fails at
 * once, and the socket has no listener for its error before this turn ends.
 */
function pinnedTo(addresses: readonly Address[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (all === true) setImmediate(callback, null, [...addresses]);
    else setImmediate(callback, null, first?.address ?? '', first?.family);
  };
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new OutgoingRefused('encoding', 'the answer is compressed, which was not asked for');
  const tooLong = () => new OutgoingRefused('size', `the answer has more than ${maxBytes} bytes`);
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function toRefused(error: unknown, hostname: string): OutgoingRefused {
  if (error instanceof OutgoingRefused) return error;
  const { code, name } = error as NodeJS.ErrnoException;
  return new OutgoingRefused('connection', `${hostname} did not answer: ${code ?? name}`, { cause: error });
}

async function timeout(signal: AbortSignal, message: string): Promise<never> {
  await once(signal, 'abort');
  throw new OutgoingRefused('timeout', message);
}
