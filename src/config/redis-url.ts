// The notation of a Redis store: one server, Sentinels or a Cluster, as one URL. No message repeats it, since it may hold a
// password.

export type RedisNode = { readonly host: string; readonly port: number };

export type RedisPlace = {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** The server, the Sentinels, or some nodes of the Cluster. */
  readonly nodes: readonly RedisNode[];
  /** What the Sentinels call the master; empty without them. */
  readonly masterName: string;
  readonly db: number;
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** So many replicas must confirm what may not be lost, at least: one where failovers are to be expected, unless the URL says. */
  readonly leastReplicas: number;
  /** Before the name of each key: of one of several installations on this Redis. */
  readonly prefix: string;
  /** To print: without user, password and parameters. */
  readonly label: string;
};

/** Its message names what is wrong, never the URL. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError';
}

const SHAPE = /^(rediss?)(\+sentinel|\+cluster)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(\/[^?#]*)?(?:\?([^#]*))?$/;
const PARAMETERS = ['wait', 'prefix', 'sentinel_user', 'sentinel_password'];
/** Nothing that a pattern of SCAN or a hash tag would take for its own. */
const PREFIX = /^[\w.:-]{0,40}$/;

/** What makes it this store and no other: all but who asks. Throws RedisUrlError. */
export function withoutCredentials(url: string): object {
  const without = { username: '', password: '', sentinelUsername: '', sentinelPassword: '' };
  return { ...parseRedisUrl(url), ...without };
}

/** Throws RedisUrlError. */
export function parseRedisUrl(url: string): RedisPlace {
  const { scheme, mode, credentials, hosts, path, query } = split(url);
  const kind = KINDS[mode];
  const nodes = hosts.split(',').map((host) => toNode(host, kind === 'sentinel' ? 26_379 : 6379));
  if (kind === 'single' && nodes.length > 1) {
    throw new RedisUrlError('names several hosts: say redis+sentinel:// or redis+cluster://');
  }
  const parameters = toParameters(query);
  return {
    kind,
    nodes,
    ...toPath(kind, path),
    isTls: scheme === 'rediss',
    ...toCredentials(credentials),
    sentinelUsername: parameters.get('sentinel_user') ?? undefined,
    sentinelPassword: parameters.get('sentinel_password') ?? undefined,
    leastReplicas: Number(parameters.get('wait') ?? (kind === 'single' ? 0 : 1)),
    prefix: parameters.get('prefix') ?? '',
    label: `${scheme}${mode}://${hosts}${path}`,
  };
}

const KINDS = { '': 'single', '+sentinel': 'sentinel', '+cluster': 'cluster' } as const;

function split(url: string) {
  const parts = SHAPE.exec(url);
  if (parts === null) {
    throw new RedisUrlError(
      'must be lmdb:FOLDER, redis://HOST, redis+sentinel://HOST,HOST/NAME or redis+cluster://HOST,HOST (rediss for TLS)',
    );
  }
  const [, scheme = '', mode = '', credentials, hosts = '', path = '', query = ''] = parts;
  return { scheme, mode: mode as keyof typeof KINDS, credentials, hosts, path, query };
}

function toNode(text: string, defaultPort: number): RedisNode {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw new RedisUrlError('must name its hosts as HOST or HOST:PORT, separated by commas');
  }
  return { host, port: number };
}

function toPath(kind: RedisPlace['kind'], path: string): Pick<RedisPlace, 'masterName' | 'db'> {
  const [masterName = '', db = '', ...rest] =
    kind === 'sentinel' ? path.slice(1).split('/') : ['', ...path.slice(1).split('/')];
  if (kind === 'sentinel' && masterName === '') {
    throw new RedisUrlError('must end with the name that the Sentinels give the master: …/NAME');
  }
  if (kind === 'cluster' && db !== '') throw new RedisUrlError('must not name a database: a Cluster has one');
  if (!/^\d{0,4}$/.test(db) || rest.length > 0) throw new RedisUrlError('must name its database as /NUMBER');
  return { masterName: decode(masterName), db: Number(db) };
}

function toCredentials(text: string | undefined): Pick<RedisPlace, 'username' | 'password'> {
  if (text === undefined) return { username: undefined, password: undefined };
  const colon = text.indexOf(':');
  const user = colon === -1 ? text : text.slice(0, colon);
  return {
    username: user === '' ? undefined : decode(user),
    password: colon === -1 ? undefined : decode(text.slice(colon + 1)),
  };
}

function toParameters(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) throw new RedisUrlError(`must have no parameters but ${PARAMETERS.join(', ')}`);
  if (!/^\d$/.test(parameters.get('wait') ?? '0')) {
    throw new RedisUrlError('must say wait=0, or how many replicas to wait for at least: wait=1');
  }
  if (!PREFIX.test(parameters.get('prefix') ?? '')) {
    throw new RedisUrlError('must have as prefix up to 40 letters, digits and ._:-');
  }
  return parameters;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError('has a part that is not percent-encoded as a URL needs it');
  }
}
