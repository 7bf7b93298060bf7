// An older snapshot of Redis that is restored under a running node undoes what was revoked since: the node says so. A restart that
// loses nothing, and an outage, are no such thing.
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Node, readiness, startNode } from '../keys/nodes.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { machineToken } from '../world/app.ts';
import { introspect, revoke } from '../world/presented-tokens.ts';

type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };

/** The metric whose increase the rule in deploy/ asks for. */
function metricOfRule(): string {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as Rules;
  const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === 'PosternStoreWentBack');
  const [, metric] = /^increase\((\w+)\{job="postern"\}\[1h\]\) > 0$/.exec(rule?.expr ?? '') ?? [];
  if (metric === undefined) throw new Error(`the rule has another form: ${rule?.expr ?? 'there is none'}`);
  return metric;
}

describe('a running node', () => {
  let redis: RedisServer;
  let node: Node;
  afterEach(async () => {
    await node.stop();
    await redis.stop();
  });

  async function start(settings: readonly string[]): Promise<void> {
    redis = await startRedis({ settings });
    node = await startNode({ store: redis.url });
    await node.turn();
  }

  async function count(): Promise<number> {
    const text = await (await fetch(`${node.management}/metrics`)).text();
    return Number(new RegExp(`^${metricOfRule()} (.+)$`, 'm').exec(text)?.[1]);
  }

  const lines = () => node.recorded.log.filter((line) => /"level":50.*the store went back/.test(line));
  const isActive = async (token: string) => (await introspect(node, token))['active'];

  async function isBack(): Promise<boolean> {
    await node.turn();
    return (await readiness(node)).status === 200;
  }

  async function revokedToken(): Promise<string> {
    const token = await machineToken(node, 'reports.read');
    await revoke(node, token, 'svc');
    expect(await isActive(token)).toBe(false);
    return token;
  }

  async function restart(): Promise<void> {
    await redis.kill();
    await node.turn();
    await redis.restart();
    await expect.poll(isBack, { timeout: 60_000 }).toBe(true);
    // The connection may have come back in the middle of the turn before.
    await node.turn();
  }

  it('says once, by log, metric and alert, that a restored snapshot undid revocations, and since when', async () => {
    await start([]);
    const client = new Redis(redis.url);
    await client.save();
    await client.quit();
    const savedAt = Date.now();
    const token = await revokedToken();
    await node.turn();
    expect(await count()).toBe(0);
    await restart();
    expect(await isActive(token)).toBe(true);
    expect(await count()).toBe(1);
    expect(lines()).toHaveLength(1);
    const { since } = JSON.parse(lines()[0] ?? '{}') as { readonly since: string };
    expect(Math.abs(Date.parse(since) - savedAt)).toBeLessThan(5000);
    await node.turn();
    expect(await count()).toBe(1);
  });

  it('says it of a Redis that was emptied', async () => {
    await start([]);
    const client = new Redis(redis.url);
    await client.flushall();
    await client.quit();
    await node.turn();
    expect(await count()).toBe(1);
    expect(lines()).toHaveLength(1);
    const gone = "the stored keys can't be used: the key ring is gone from the store";
    expect(await readiness(node)).toEqual({ status: 503, problems: [gone] });
  });

  it('says nothing of an outage and a restart that lost nothing', async () => {
    await start(['--appendonly', 'yes', '--appendfsync', 'always']);
    const token = await revokedToken();
    await node.turn();
    await restart();
    expect(await isActive(token)).toBe(false);
    redis.pause();
    await node.turn();
    await node.turn();
    redis.resume();
    await expect.poll(isBack, { timeout: 60_000 }).toBe(true);
    expect(await count()).toBe(0);
    expect(lines()).toEqual([]);
  });
});
