// Memory after minutes of machine tokens at full speed: what a leak would show in. Only when asked for (--soak MINUTES).
import { load } from '../load.ts';
import { residentMegabytes } from '../processes.ts';
import { plot } from '../plot.ts';
import * as section from '../section.ts';

const LOOK_EVERY_S = 10;
const SETTLED_MS = 20_000;

export async function soak(stage: section.Stage): Promise<section.Findings> {
  const minutes = stage.options.soakMinutes;
  const service = await stage.postern({ name: 'soak', store: stage.lmdb('soak') });
  const megabytes = () => residentMegabytes(service.pid).reduce((sum, one) => sum + one, 0);
  const request = section.tokenRequest(`${service.issuer}/oauth/token`);
  const seen = [{ minute: 0, megabytes: megabytes(), requests: 0 }];
  let requests = 0;
  const startedAt = Date.now();
  while (Date.now() - startedAt < minutes * 60_000) {
    const { perSecond } = await load(request, service.pid, LOOK_EVERY_S);
    requests += perSecond * LOOK_EVERY_S;
    seen.push({ minute: (Date.now() - startedAt) / 60_000, megabytes: megabytes(), requests });
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const after = megabytes();
  const half = seen[Math.floor(seen.length / 2)]?.megabytes ?? Number.NaN;
  const last = seen.at(-1)?.megabytes ?? Number.NaN;
  await plot('memory', {
    title: 'Memory while machine tokens are issued at full speed',
    x: 'minutes',
    y: 'MB',
    curves: [{ name: '1 process, lmdb', points: seen.map((one) => [one.minute, one.megabytes]) }],
  });
  const figures = [minutes, requests, seen[0]?.megabytes ?? Number.NaN, half, last, after];
  return {
    tables: [
      {
        title: 'Memory over time',
        columns: ['minutes', 'tokens', 'MB at the start', 'MB half-way', 'MB at the end', 'MB 20 s later'],
        rows: [figures.map((figure) => section.short(figure))],
      },
    ],
    targets: [],
    pictures: ['memory'],
    raw: seen,
  };
}
