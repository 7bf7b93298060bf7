// The URL notation of a Redis store: one server, Sentinels or a Cluster. No message repeats the URL, because it may contain a
// password.
import { ValueFault } from './problems.ts';

export type RedisPlace = Readonly<ReturnType<typeof parseRedisUrl>>;

const SHAPE =
  /^(rediss?)(\+sentinel|\+cluster)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(\/[^/?#]*(?:\/\d*)?)?(\?[^#]*)?$/;
const KINDS = { '': 'single', '+sentinel': 'sentinel', '+cluster': 'cluster' } as const;
/** A prefix can't contain characters with a meaning in a SCAN pattern or a hash tag. */
const PARAMETERS = new Map([
  ['wait', /^\d$/],
  ['prefix', /^[\w.:-]{0,40}$/],
  ['sentinel_user', /^/],
  ['sentinel_password', /^/],
]);
const NOTATION =
  'must be lmdb:FOLDER, redis://HOST:PORT/DATABASE, redis+sentinel://HOST:PORT,HOST:PORT/NAME/DATABASE or redis+cluster://HOST:PORT,HOST:PORT (rediss for TLS)';

/** Throws ValueFault. */
export function parseRedisUrl(url: string) {
  const { scheme, mode, credentials, hosts, path, query } = split(url);
  const kind = KINDS[mode];
  const { wait, prefix, sentinel_user, sentinel_password } = toParameters(query);
  const [username, ...password] = credentials.split(':').map(decode);
  return {
    kind,
    ...toPlace(kind, hosts, path),
    isTls: scheme === 'rediss',
    username: username === '' ? undefined : username,
    password: password.length === 0 ? undefined : password.join(':'),
    sentinelUsername: sentinel_user,
    sentinelPassword: sentinel_password,
    /** Replicas that must confirm a write that may not be lost. Default: 0 for one server, 1 where failovers are to be expected. */
    leastReplicas: Number(wait ?? (kind === 'single' ? 0 : 1)),
    /** Prefix of every key, so that several installations can share a Redis. */
    prefix: prefix ?? '',
    /** For messages: without user, password and parameters. */
    label: `${scheme}${mode}://${hosts}${path}`,
  };
}

function split(url: string) {
  const parts = SHAPE.exec(url);
  if (parts === null) throw new ValueFault(NOTATION);
  const [, scheme = '', mode = '', credentials = '', hosts = '', path = '', query = ''] = parts;
  return { scheme, mode: mode as keyof typeof KINDS, credentials, hosts, path, query };
}

function toPlace(kind: (typeof KINDS)[keyof typeof KINDS], hosts: string, path: string) {
  const nodes = hosts.split(',').map((host) => toNode(host, kind === 'sentinel' ? 26_379 : 6379));
  const [masterName = '', db = ''] = kind === 'sentinel' ? path.slice(1).split('/') : ['', path.slice(1)];
  const isWhole = { single: nodes.length === 1, sentinel: masterName !== '', cluster: db === '' }[kind];
  if (!isWhole || !/^\d{0,4}$/.test(db)) throw new ValueFault(NOTATION);
  return {
    /** The server, the Sentinels, or some nodes of the Cluster. */
    nodes,
    /** The name of the master at the Sentinels. Empty without Sentinels. */
    masterName: decode(masterName),
    db: Number(db),
  };
}

function toNode(text: string, defaultPort: number) {
  const url = URL.parse(`redis://${text}`);
  if (url === null || url.port === '0') throw new ValueFault(NOTATION);
  return { host: url.hostname.replaceAll(/[[\]]/g, ''), port: Number(url.port || defaultPort) };
}

function toParameters(query: string): Readonly<Record<string, string | undefined>> {
  const parameters = [...new URLSearchParams(query)];
  if (!parameters.every(([name, value]) => PARAMETERS.get(name)?.test(value)))
    throw new ValueFault(
      'has an unknown or invalid parameter: use wait (0 to 9), prefix (up to 40 letters, digits and ._:-), sentinel_user and sentinel_password',
    );
  return Object.fromEntries(parameters);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ValueFault('is not a valid URL: percent-encode special characters');
  }
}
