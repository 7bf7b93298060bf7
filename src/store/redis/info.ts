// Reads a server's INFO and finds what is wrong for a store of tokens. INFO, because managed servers forbid CONFIG. Each rule
// names the setting to change.

export type Finding = Readonly<{
  /** `fault`: tokens would be lost, the service doesn't start. `warning`: less safe than it could be. */
  severity: 'fault' | 'warning';
  /** For a metric: stays the same as long as the problem does, whatever numbers are in the message. */
  name: string;
  message: string;
}>;

export type InfoFields = ReadonlyMap<string, string>;

export function parseInfo(info: string): InfoFields {
  const lines = info.matchAll(/^([^:\r\n]*):(.*)$/gm);
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}

export type Replication = Readonly<ReturnType<typeof toReplication>>;

/** Returns what a server reports of its replicas. */
export function toReplication(info: InfoFields) {
  const lags = [...info]
    .filter(([name, value]) => /^slave\d/.test(name) && value.includes('state=online'))
    .map(([, value]) => Number(/lag=(\d+)/.exec(value)?.[1] ?? Infinity));
  return {
    role: info.get('role') ?? '',
    /** The replication ID, which changes at each promotion. */
    history: info.get('master_replid') ?? '',
    /** How many replicas follow it, without those that still receive its first copy. */
    online: lags.length,
    /** Seconds since the slowest of them last reported its position. */
    lagSeconds: Math.max(0, ...lags),
  };
}

const OLDEST_MAJOR = 7;

type Add = (name: string, message: string) => void;

/** `leastReplicas`: how many must confirm critical writes; 0 where none is asked. */
export function judgeServer(info: InfoFields, leastReplicas: number): readonly Finding[] {
  const findings: Finding[] = [];
  const as =
    (severity: Finding['severity']): Add =>
    (name, message) =>
      findings.push({ severity, name, message });
  judgeFitness(info, as('fault'));
  judgeDurability(info, as('warning'));
  judgeReplicas(info, leastReplicas, as('warning'));
  return findings;
}

function judgeFitness(info: InfoFields, add: Add): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  const role = info.get('role') ?? 'master';
  const version = info.get('redis_version') ?? '';
  if (policy !== 'noeviction')
    add('eviction', `its maxmemory-policy is ${policy}, which evicts tokens and keys; set it to noeviction`);
  if (role !== 'master') add('role', `it is a ${role}, not the master`);
  if (Number.parseInt(version, 10) < OLDEST_MAJOR)
    add('version', `its version is ${version}; it must be ${OLDEST_MAJOR} or newer`);
}

function judgeDurability(info: InfoFields, add: Add): void {
  const [used, most] = [Number(info.get('used_memory')), Number(info.get('maxmemory'))];
  if (info.get('aof_enabled') === '0')
    add('appendonly', 'appendonly is no: a restart loses signing keys and sessions; set it to yes');
  if (info.get('aof_last_write_status') === 'err' || info.get('rdb_last_bgsave_status') === 'err')
    add('disk', 'its last write to disk failed; check its log and its disk');
  if (most > 0 && used > 0.9 * most) {
    const share = Math.round((100 * used) / most);
    add('memory', `${share} % of maxmemory is used; when memory is full, all writes are rejected`);
  }
}

function judgeReplicas(info: InfoFields, least: number, add: Add): void {
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (least === 0) {
    if (replicas > 0)
      add(
        'unconfirmed_replica',
        'its replica does not confirm writes; add ?wait=1 to the URL, or a failover can lose writes',
      );
    return;
  }
  if (replicas === 0)
    add(
      'replicas',
      'it has no connected replica to confirm writes, so no user can sign in or out; connect one, or add ?wait=0 to the URL',
    );
  else if (replicas < least)
    add(
      'replicas',
      `it has ${replicas} of the ${least} replicas that ?wait=${least} requires, so no user can sign in or out`,
    );
  // INFO has it only where min-replicas-to-write is set.
  if (!info.has('min_slaves_good_slaves'))
    add(
      'min_replicas',
      'min-replicas-to-write is 0: without its replicas it accepts writes that a failover loses; set it to 1',
    );
}
