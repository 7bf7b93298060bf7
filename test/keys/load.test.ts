// Keys under load: the key set comes from memory, an unknown kid costs nothing, and a new engine instance is swapped in
// under load without a failed request.
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { rotateByHand } from '../../src/keys/ring-actions.ts';
import { machineToken, signIn } from '../world/app.ts';
import { get } from '../world/requests.ts';
import { rounds } from '../world/rounds.ts';
import { basic } from '../world/token-endpoint.ts';
import { GENEROUS } from '../world/world.ts';
import { startRedis } from '../world/servers.ts';
import { HOUR, moveClock, standingClock } from '../world/clock.ts';
import { startNode, withKeys } from './nodes.ts';
import { kidOf } from './verifiers.ts';
import { useStarted } from '../world/started.ts';

const JWKS = '/oauth/jwks.json';
const CALLS = rounds(10_000, 2000);
const [FLOWS, SWAPS] = [rounds(40, 20), 10] as const;

/** Commands that read records and documents, except `hmget`, which scripts use too. */
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
const READS = new Set(['get', 'mget', 'hget', 'hgetall', 'exists', 'hexists', 'zrange']);

type Sent = { readonly status: number; readonly text: string };

/** Sends as many requests at once as `agent` allows. */
function sendAndTime(
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(url, { agent, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('the store behind many requests', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  const redis = useStarted(() => startRedis());
  const client = useStarted(async () => new Redis(redis().url));
  // Its rotation job runs only by hand, so that every command belongs to a request.
  const node = useStarted(() => startNode({ store: redis().url, config: GENEROUS }));
  afterAll(() => agent.destroy());

  /** Commands that the server executed during `work`, by name. */
  async function commandsOf(work: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
    const before = await stats();
    await work();
    const after = await stats();
    return Object.fromEntries(
      [...after].flatMap(([name, calls]) => {
        const count = calls - (before.get(name) ?? 0);
        return count > 0 && name !== 'info' ? [[name, count]] : [];
      }),
    );
  }

  async function stats(): Promise<Map<string, number>> {
    const info = await client().info('commandstats');
    return new Map(
      [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', calls]) => [
        name,
        Number(calls),
      ]),
    );
  }

  it(`KY-21: is asked for nothing by ${CALLS / 2} parallel requests of the key set`, async () => {
    const { text } = await sendAndTime(agent, `${node().base}${JWKS}`);
    const commands = await commandsOf(async () => {
      const answers = await Promise.all(
        Array.from({ length: CALLS / 2 }, () => sendAndTime(agent, `${node().base}${JWKS}`)),
      );
      expect(answers.every((answer) => answer.status === 200 && answer.text === text)).toBe(true);
    });
    // Includes the commands of readiness, every few seconds.
    expect(sum(Object.values(commands))).toBeLessThan(500);
  });

  it(`KY-23: is read for no token whose kid is unknown, out of ${CALLS}`, async () => {
    const good = await machineToken(node(), 'reports.read');
    const [, payload = '', signature = ''] = good.split('.');
    const token = () => {
      const header = { alg: 'RS256', typ: 'at+jwt', kid: randomBytes(32).toString('base64url') };
      return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`;
    };
    const form = { authorization: basic('rs1'), 'content-type': 'application/x-www-form-urlencoded' };
    const seen = new Set<string>();
    const commands = await commandsOf(async () => {
      const answers = await Promise.all(
        Array.from({ length: CALLS }, (_, index) =>
          index % 2 === 0
            ? sendAndTime(agent, `${node().base}/oauth/userinfo`, { authorization: `Bearer ${token()}` })
            : sendAndTime(agent, `${node().base}/oauth/introspect`, form, `token=${token()}`),
        ),
      );
      for (const { status, text } of answers) seen.add(`${status} ${status === 200 ? text : ''}`);
    });
    // A caller that introspects unknown tokens is limited eventually.
    seen.delete('429 ');
    expect([...seen].toSorted()).toEqual(['200 {"active":false}', '401 ']);
    // The limits read their counters inside scripts; the few other reads belong to readiness and to a counter's first use.
    const reads = Object.entries(commands).filter(([name]) => READS.has(name));
    const outsideScripts = (commands['hmget'] ?? 0) - (commands['evalsha'] ?? 0);
    expect(sum(reads.map(([, count]) => count)) + Math.max(0, outsideScripts)).toBeLessThan(500);
  });
});

describe('a new key set', () => {
  standingClock();
  // Without Redis, which on a busy machine may answer a request too late: that would be a 503.
  const node = useStarted(() => startNode({ config: GENEROUS }));

  it(`fails no request: ${FLOWS} code flows and more machine tokens while engines are swapped`, async () => {
    moveClock(2 * HOUR);
    await node().turn();
    await withKeys(node(), ({ keyStore }) => rotateByHand(keyStore));

    const over = new AbortController();
    let swaps = 0;
    let secondsToPass = 0;
    async function swapOften(): Promise<void> {
      await withKeys(node(), async ({ keyStore }) => {
        while (!over.signal.aborted) {
          // The same keys in a new generation still need a new engine.
          await keyStore.update((ring) => ({ ...ring }));
          await node().turn();
          swaps += 1;
          // Between two engines: the tokens that test each of them live for a minute.
          moveClock(secondsToPass);
          secondsToPass = 0;
        }
      });
    }
    const swapping = swapOften();
    const machines: string[] = [];
    async function half(): Promise<boolean> {
      const flows = Promise.all(Array.from({ length: FLOWS / 2 }, () => signIn(node())));
      const most = machines.length + 5 * FLOWS;
      while (machines.length < most)
        machines.push(...(await Promise.all(Array.from({ length: 10 }, () => machineToken(node())))));
      return (await flows).every(({ tokens }) => tokens.id_token !== undefined);
    }
    try {
      expect(await half()).toBe(true);
      // The next key becomes the signing key; no flow is open, because a code lives for a minute.
      secondsToPass = 136;
      await expect.poll(() => secondsToPass).toBe(0);
      expect(await half()).toBe(true);
      await expect.poll(() => swaps).toBeGreaterThan(SWAPS);
    } finally {
      over.abort();
      await swapping;
    }
    expect(new Set(machines.map(kidOf)).size).toBe(2);
    expect((await get(node(), JWKS)).status).toBe(200);
  });
});
