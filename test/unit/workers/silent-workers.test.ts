// Sums over workers that come, go and fall silent: they never fall.
import { describe, expect, it } from 'vitest';
import { createMetrics, type Metrics, toText } from '../../../src/telemetry/metrics.ts';
import { createSilentWorkers } from '../../../src/workers/silent-workers.ts';

const silent = createSilentWorkers();
const workers = new Map<number, Metrics>();
const issued: number[] = [];

/** As the primary does it. `isSilent` is there, and doesn't answer. */
async function scrape(isSilent?: number): Promise<{ tokens: number; requests: number; text: string }> {
  const scraped = await Promise.all(
    [...workers].map(async ([pid, metrics]) => ({
      pid,
      // As it crosses from one process to another.
      metrics: pid === isSilent ? undefined : structuredClone(await metrics.read()),
    })),
  );
  const answers = scraped.flatMap(({ pid, metrics }) =>
    metrics === undefined ? [] : [[String(pid), metrics] as const],
  );
  const primary = await createMetrics().read();
  const text = await toText(new Map([['primary', primary], ...answers]), await silent.missing(scraped));
  const read = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'm').exec(text)?.[1]);
  const tokens = read('postern_tokens_issued_total');
  issued.push(tokens);
  return { tokens, requests: read('postern_http_request_duration_seconds_count'), text };
}

function start(pid: number): void {
  workers.set(pid, createMetrics());
}

function serve(pid: number, times: number): void {
  for (let count = 0; count < times; count += 1) {
    workers.get(pid)?.tokenIssued('client_credentials', 'svc');
    workers.get(pid)?.request('token', 200, 0.002);
  }
}

describe('IN-10: the counters of several workers', () => {
  it('count on when one of them is silent, has ended, and another one takes its place', async () => {
    [1, 2].forEach(start);
    serve(1, 20);
    serve(2, 30);
    expect(await scrape()).toMatchObject({ tokens: 50, requests: 50 });
    serve(1, 5);
    serve(2, 7);
    expect(await scrape(2)).toMatchObject({ tokens: 55, requests: 55 });
    expect(await scrape()).toMatchObject({ tokens: 62, requests: 62 });
    workers.delete(2);
    start(3);
    serve(3, 1);
    expect(await scrape()).toMatchObject({ tokens: 63, requests: 63 });
    workers.delete(3);
    await scrape();
    const [one, two] = await Promise.all([scrape(), scrape()]);
    expect([one.tokens, two.tokens]).toEqual([63, 63]);
    serve(1, 1);
    expect(await scrape()).toMatchObject({ tokens: 64, requests: 64 });
    expect(issued).toEqual(issued.toSorted((a, b) => a - b));
  });

  it('say nothing of a process that is no more', async () => {
    const { text } = await scrape();
    expect(text).not.toMatch(/worker="[23]"/);
    expect(text).toMatch(/^process_resident_memory_bytes\{worker="1"\}/m);
  });
});
