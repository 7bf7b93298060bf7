// KY-21: everybody asks for the key set at once, on as many connections. It comes from memory, the store hears of none of them,
// and the service is done with each within the bound. How long a caller waits is printed and not judged: 5,000 at once wait in line
// for the cores of one machine, which are the caller's, too.
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { freePort, startRedis } from '../world/servers.ts';
import { startProcess } from '../world/process.ts';
import { writeWorldConfig } from '../world/world.ts';

const CALLERS = 5000;
/** What the service asks Redis by itself, every few seconds, while the callers are served. */
const OWN_COMMANDS = 500;
const P99_SECONDS = 0.05;

type Answer = { readonly status: number; readonly text: string; readonly ms: number };

function ask(agent: Agent, url: string): Promise<Answer> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - began }),
      );
    }).on('error', reject);
  });
}

it('KY-21: 5,000 callers at once get the key set from memory', async () => {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-key-set-'));
  const ports = [await freePort(), await freePort()] as const;
  const { configFile, base } = await writeWorldConfig(folder, { store: redis.url }, ports);
  const service = await startProcess(configFile);
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const url = `${base}/oauth/jwks.json`;
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
  try {
    const { text } = await ask(agent, url);
    const before = await commands();
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => ask(agent, url)));
    expect((await commands()) - before).toBeLessThan(OWN_COMMANDS);
    expect(answers.every((answer) => answer.status === 200 && answer.text === text)).toBe(true);

    const metrics = await (await fetch(`http://127.0.0.1:${ports[1]}/metrics`)).text();
    const valueOf = (name: string, le = '') =>
      Number(
        new RegExp(
          `^postern_http_request_duration_seconds_${name}\\{${le && `le="${le}",`}route="jwks",status="200"\\} (\\d+)$`,
          'm',
        ).exec(metrics)?.[1],
      );
    const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0);
    process.stdout.write(
      `KY-21: ${valueOf('count')} answers, ${valueOf('bucket', String(P99_SECONDS))} of them within ${P99_SECONDS} s in the service; ` +
        `for one caller with ${CALLERS} in flight p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`,
    );
    expect(valueOf('count')).toBe(CALLERS + 1);
    expect(valueOf('bucket', String(P99_SECONDS))).toBeGreaterThanOrEqual(0.99 * CALLERS);
  } finally {
    agent.destroy();
    await service.end();
    await client.quit();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
