// A further process on a store's folder, for tests of several processes. `consume` claims every key and prints those that
// it won; `write` saves for ever and prints each key once it is acknowledged; `fill` saves more than fits.
import { writeSync } from 'node:fs';
import { openLmdb } from '../../src/store/lmdb/lmdb-store.ts';

const [folder = '', task = '', ...rest] = process.argv.slice(2);
const store = await openLmdb({ folder, now: Date.now, sweepEveryMs: 5 });

if (task === 'consume') {
  writeSync(1, 'ready\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  const [prefix = '', count = '0'] = rest;
  const keys = Array.from({ length: Number(count) }, (_, index) => `${prefix}${index}`);
  const results = await Promise.all(keys.map((key) => store.records.consume('AuthorizationCode', key)));
  writeSync(1, JSON.stringify(results));
  process.stdin.destroy();
  await store.close();
} else if (task === 'fill') {
  const save = (index: number) =>
    store.records.save({ kind: 'AccessToken', key: `k${index}`, payload: 'x'.repeat(9000), ttlSeconds: 60 });
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => save(index)));
  for (let index = 20; index < 200; index += 1) results.push(...(await Promise.allSettled([save(index)])));
  const failures = results.filter((result) => result.status === 'rejected');
  const names = new Set(failures.map(({ reason }) => String(reason)));
  const first = await store.records.find('AccessToken', 'k0');
  await store.records.destroy('AccessToken', 'k0');
  await store.close();
  writeSync(1, JSON.stringify({ names: [...names], readable: first?.payload.length }));
} else {
  const write = async (lane: number) => {
    for (let index = 0; ; index++) {
      const key = `${lane}-${index}`;
      await store.records.save({ kind: 'AccessToken', key, payload: key.repeat(50), ttlSeconds: 3600 });
      writeSync(1, `${key}\n`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, lane) => write(lane)));
}
