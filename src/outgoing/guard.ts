// Every request that the service makes for the configuration or for an unknown caller: https only, to addresses that were checked
// before anything is sent, bounded in bytes and time, without redirects (OWASP SSRF Prevention).
import { lookup } from 'node:dns/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Config } from '../config/config.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { isLocalAddress, isOwnBroadcast, isPrivateAddress, isPublicAddress } from './special-use.ts';

/** Name, connection, headers and body together. */
const DEADLINE_MS = 2000;
const NOTHING = Promise.resolve(Buffer.alloc(0));

export type OutgoingAnswer = {
  /** Also 3xx: no redirect is followed. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty unless the status is 200: the page of a proxy that says 503 may be long, and says nothing else. */
  readonly body: Buffer;
};

export type OutgoingFault =
  /** It has an address that is not public, or none that may be called. */
  'address' | 'name' | 'url' | 'connection' | 'timeout' | 'size' | 'encoding';

/** Nothing usable came back. `reason` is for logs and metrics; a message never repeats what a server sent. */
export class OutgoingRefused extends Error {
  readonly reason: OutgoingFault;

  constructor(reason: OutgoingFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutgoingRefused';
    this.reason = reason;
  }
}

export type GetOptions = {
  /** The most bytes that the body may have. */
  readonly maxBytes: number;
  readonly accept: string;
};

export type OutgoingSettings = {
  /** `outgoing.internal_hosts`: names that may have private addresses. */
  readonly internalHosts: readonly string[];
  /** Only then may internal hosts be on this machine. */
  readonly issuerIsLoopback: boolean;
};

type Address = { readonly address: string; readonly family: number };

/** As the configuration has it. */
export function outgoingOf({ issuer, outgoing }: Pick<Config, 'issuer' | 'outgoing'>): Outgoing {
  const { internalHosts } = outgoing;
  return createOutgoing({ internalHosts, issuerIsLoopback: isLoopbackUrl(issuer) });
}

export type Outgoing = ReturnType<typeof createOutgoing>;

/** Both methods throw OutgoingRefused; with the reason `address`, `name` or `url` nothing was sent to the host. */
export function createOutgoing({ internalHosts, issuerIsLoopback }: OutgoingSettings) {
  const lookups = new Map<string, Promise<readonly Address[]>>();

  function mayCall(hostname: string, address: string): boolean {
    if (isOwnBroadcast(address)) return false;
    if (isPublicAddress(address)) return true;
    if (!internalHosts.includes(hostname)) return false;
    return isPrivateAddress(address) || (issuerIsLoopback && isLocalAddress(address));
  }

  /** One address that may not be called is enough to call none: the next answer might have it alone. */
  async function checkedAddresses(hostname: string): Promise<readonly Address[]> {
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(literal);
    const addresses = family === 0 ? await resolve(hostname) : [{ address: literal, family }];
    const refused = addresses.find(({ address }) => !mayCall(hostname, address));
    if (refused === undefined) return addresses;
    throw new OutgoingRefused(
      'address',
      `${hostname} has the address ${refused.address}, which is not public`,
    );
  }

  /**
   * One at a time for a name: a name server that is silent holds a thread of Node's pool until it is given up, long after this
   * request. Node leaves the other half of its threads to those who sign tokens.
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

  async function call<Result>(
    text: string,
    message: Message,
    read: (response: IncomingMessage) => Promise<Result>,
  ): Promise<Result> {
    const url = URL.parse(text);
    if (url?.protocol !== 'https:' || url.username + url.password !== '')
      throw new OutgoingRefused('url', 'only https URLs without a user name are called');
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const addresses = await Promise.race([checkedAddresses(url.hostname), timeout(signal, url.hostname)]);
    return Promise.race([send({ url, addresses, signal }, message, read), timeout(signal, url.hostname)]);
  }

  return {
    get: (url: string, { accept, maxBytes }: GetOptions): Promise<OutgoingAnswer> =>
      call(url, { method: 'GET', headers: { Accept: accept } }, async (response) => ({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: await (response.statusCode === 200 ? readBody(response, maxBytes) : NOTHING),
      })),
    /** Resolves the status of the answer, of which nothing else is read. */
    post: (url: string, form: Readonly<Record<string, string>>) =>
      call(
        url,
        {
          method: 'POST',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams(form).toString(),
        },
        async ({ statusCode = 0 }) => statusCode,
      ),
  };
}

type Target = {
  readonly url: URL;
  readonly addresses: readonly Address[];
  readonly signal: AbortSignal;
};
type Message = {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** A request that connects to one of `addresses` and nowhere else. */
function send<Result>(
  { url, addresses, signal }: Target,
  { method, headers, body }: Message,
  read: (response: IncomingMessage) => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      // Its own connection, and no proxy or lax certificates by the environment.
      agent: new Agent({ keepAlive: false }),
      rejectUnauthorized: true,
      lookup: pinnedTo(addresses),
      signal,
      headers: { ...headers, 'Accept-Encoding': 'identity', 'User-Agent': 'Postern' },
    });
    const fail = (error: Error) => {
      sent.destroy();
      reject(toRefused(error, url.hostname));
    };
    sent.on('error', fail);
    sent.on('response', (response) => {
      read(response).then((result) => {
        resolve(result);
        sent.destroy();
      }, fail);
    });
    sent.end(body);
  });
}

/**
 * The address that is connected to is one that was checked, whatever the name leads to by now. The callback runs later: an address
 * without a route fails as soon as it is known, and the socket has no listener for its error before this turn ends.
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
  const chunks: Buffer[] = [];
  let length = Number(response.headers['content-length'] ?? 0);
  if (length <= maxBytes) {
    length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) break;
      chunks.push(chunk);
    }
  }
  if (length > maxBytes) throw new OutgoingRefused('size', `the answer has more than ${maxBytes} bytes`);
  return Buffer.concat(chunks, length);
}

function toRefused(error: Error, hostname: string): OutgoingRefused {
  if (error instanceof OutgoingRefused) return error;
  const code = 'code' in error ? String(error.code) : error.name;
  return new OutgoingRefused('connection', `${hostname} did not answer: ${code}`, { cause: error });
}

function timeout(signal: AbortSignal, hostname: string): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(new OutgoingRefused('timeout', `${hostname} did not answer within ${DEADLINE_MS / 1000} s`));
    });
  });
}
