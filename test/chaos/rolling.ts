// A release and an accident under load: each node in turn is shut down cleanly and started again, then the Redis master is
// killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { type SentinelGroup, startSentinel, untilTrue } from '../world/redis-groups.ts';
import { Balancer } from './balancer.ts';
import { createClients } from './clients.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { History } from './history.ts';

type RollingReport = {
  readonly history: History;
  readonly balancer: Balancer;
  /** Outcomes before the master was killed. */
  readonly calm: Balancer['fates'];
  /** Losses before the master was killed, and after it. */
  readonly lostInCalm: readonly string[];
  readonly lostInFailover: readonly string[];
  readonly perSecond: number;
  /** Milliseconds from the failover until all nodes were back. */
  readonly backMs: number;
};

/** Requests a second at most; the report has the real rate. */
const RATE = 50;
/** Pause between two events. */
const PAUSE_MS = 700;
/** Enough callers that the rate is the limit, not the time that they wait. */
const [PEOPLE, MACHINES] = [24, 6];

export async function rollAndFailOver(): Promise<RollingReport> {
  const group = await startSentinel();
  let fleet: Fleet | undefined;
  try {
    fleet = await startFleet(group.url);
    const history = new History();
    const balancer = new Balancer(fleet.worlds, RATE);
    const clients = createClients(fleet.issuer, balancer, history);
    const state = { isOver: false };
    const isOver = () => state.isOver;
    const began = performance.now();
    const running = Promise.all([
      ...Array.from({ length: PEOPLE }, () => clients.live(isOver)),
      ...Array.from({ length: MACHINES }, () => clients.work(isOver)),
    ]);
    let [calm, killedAt, backMs] = [{ ...balancer.fates }, 0, 0];
    try {
      for (const node of fleet.nodes) {
        await sleep(PAUSE_MS);
        await fleet.restart(node, 'SIGTERM');
      }
      await sleep(PAUSE_MS);
      [calm, killedAt] = [{ ...balancer.fates }, performance.now()];
      await failOverGroup(group);
      backMs = await fleet.untilBack('a failover');
      await sleep(PAUSE_MS);
    } finally {
      state.isOver = true;
      await running;
    }
    const lostInCalm = history.lost(killedAt);
    return {
      history,
      balancer,
      calm,
      lostInCalm,
      lostInFailover: history.lost().slice(lostInCalm.length),
      backMs,
      perSecond: Math.round((1000 * sum(balancer.fates)) / (performance.now() - began)),
    };
  } finally {
    await fleet?.stop();
    await group.stop();
  }
}

async function failOverGroup(group: SentinelGroup): Promise<void> {
  const master = await group.master();
  await master.kill();
  await untilTrue('there is another master', async () => {
    const next = await group.master();
    const info = await group.ask(next, (redis) => redis.info('replication'));
    return next !== master && info.includes('role:master') && !info.includes('connected_slaves:0');
  });
}

/** A request that moved on was answered by another node. */
function sum({ answered, unavailable, cut }: Balancer['fates']): number {
  return answered + unavailable + cut;
}

/** The report for a reader of the run's output. */
export function describeRun({ history, balancer, calm, perSecond, backMs, ...lost }: RollingReport): string {
  return describeHistory(history, balancer, {
    'requests a second': perSecond,
    'during the restarts': calm,
    'all nodes back after the failover, ms': backMs,
    ...lost,
  });
}

export function describeHistory(history: History, balancer: Balancer, more: object = {}): string {
  const report = {
    ...more,
    'in all': balancer.fates,
    cuts: countEach(balancer.cuts),
    'answered within, ms (half, 99 %, all)': [0.5, 0.99, 1].map((share) => balancer.percentile(share)),
    ...history.counts,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function countEach(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
