// A stalled rotation: the overdue step keeps its due time, so that the alert rule fires.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startRedis } from '../world/servers.ts';
import { DAY, HOUR, moveClock, standingClock } from '../world/clock.ts';
import { startNode } from './nodes.ts';
import { useStarted } from '../world/started.ts';

type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };

/** The expression of the rule in deploy/: `time() - METRIC > SECONDS`. */
function readRule(): { readonly metric: string; readonly seconds: number } {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as Rules;
  const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === 'PosternSigningKeyOverdue');
  const [, metric, seconds] =
    /^time\(\) - (\w+)\{job="postern"\} > (\d+)$/.exec(rule?.expr.trim() ?? '') ?? [];
  if (metric === undefined) throw new Error(`the rule has another form: ${rule?.expr ?? 'there is none'}`);
  return { metric, seconds: Number(seconds) };
}

describe.each(['lmdb', 'redis'] as const)('a rotation that stands still, on %s', (store) => {
  standingClock();
  const rule = readRule();
  const redis = useStarted(async () => (store === 'redis' ? startRedis() : undefined));
  const node = useStarted(() => {
    const server = redis();
    return startNode(server && { store: server.url });
  });

  async function nextStepAt(): Promise<number> {
    const text = await (await fetch(`${node().management}/metrics`)).text();
    return Number(new RegExp(`^${rule.metric} (.+)$`, 'm').exec(text)?.[1]);
  }

  const isFiring = async () => Date.now() / 1000 - (await nextStepAt()) > rule.seconds;

  it('fires the alert of deploy/prometheus when a step is overdue, and no longer once it is taken', async () => {
    const planned = await nextStepAt();
    expect(planned).toBeGreaterThan(Date.now() / 1000);
    moveClock(29 * DAY);
    expect(await isFiring()).toBe(false);
    moveClock(HOUR);
    expect(await nextStepAt()).toBe(planned);
    expect(await isFiring()).toBe(true);
    moveClock(40 * DAY);
    expect(await nextStepAt()).toBe(planned);

    await node().turn();
    expect(await nextStepAt()).toBeGreaterThan(Date.now() / 1000);
    expect(await isFiring()).toBe(false);
  });
});
