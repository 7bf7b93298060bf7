// RD-30, RD-31: three nodes under load on one Redis, on Sentinels and on a Cluster, on Redis and on Valkey, during random faults, one
// after the other. POSTERN_CHAOS_MINUTES sets the total time (default 6).
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { findServer } from '../world/servers.ts';
import { Balancer } from './balancer.ts';
import { createClients } from './clients.ts';
import {
  type Faults,
  nodeFaults,
  pick,
  type Place,
  startSharded,
  startSingle,
  startWatched,
} from './faults.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { History } from './history.ts';
import { type Happened, type Happening, toTable } from './table.ts';

const MINUTES = Number(process.env['POSTERN_CHAOS_MINUTES'] ?? 6);
const CHOSEN = process.env['POSTERN_TEST_REDIS'];
const SERVERS = (
  CHOSEN === undefined ? [findServer('redis-server'), findServer('valkey-server')] : [CHOSEN]
).filter((server) => server !== undefined);
const PLACES = [
  ['one server', startSingle],
  ['Sentinels', startWatched],
  ['a Cluster', startSharded],
] as const;
const SECONDS = (MINUTES * 60) / (SERVERS.length * PLACES.length);
/** Requests a second; more than the machine can answer. */
const RATE = 200;
const [PEOPLE, MACHINES] = [10, 3];

if (CHOSEN === undefined && findServer('valkey-server') === undefined) {
  process.stdout.write(
    'NOT run on Valkey: there is no valkey-server here. Debian has it in bookworm-backports; or name one: POSTERN_TEST_REDIS=PATH\n',
  );
}

type Running = { readonly place: Place; readonly fleet: Fleet; readonly history: History };

/** For each fault, its number and the longest time in milliseconds until all nodes were back without a restart. */
async function breakThings({ place, fleet, history }: Running, isOver: () => boolean): Promise<Happened> {
  const faults: Faults = { ...place.faults, ...nodeFaults(fleet) };
  const happened = new Map<string, Happening>();
  let left: readonly string[] = [];
  while (!isOver()) {
    await sleep(500 + Math.random() * 1500);
    // In random order; each fault happens once before any happens again.
    if (left.length === 0) left = Object.keys(faults);
    const name = pick(left);
    left = left.filter((one) => one !== name);
    const beganAt = performance.now();
    await faults[name]?.();
    await place.untilWhole();
    if (place.replacing.includes(name)) history.addReplacement(beganAt, performance.now());
    const { times, backMs } = happened.get(name) ?? { times: 0, backMs: 0 };
    happened.set(name, { times: times + 1, backMs: Math.max(backMs, await fleet.untilBack(name)) });
  }
  return happened;
}

describe.each(SERVERS)('on %s', (server) => {
  let place: Place | undefined;
  let fleet: Fleet | undefined;
  afterEach(async () => {
    await fleet?.stop();
    await place?.stop();
    [place, fleet] = [undefined, undefined];
    if (CHOSEN === undefined) delete process.env['POSTERN_TEST_REDIS'];
  }, 60_000);

  const timeout = SECONDS * 1000 + 240_000;
  it.each(PLACES)('RD-30, RD-31: no reuse and no lost revocation on %s', { timeout }, async (name, start) => {
    process.env['POSTERN_TEST_REDIS'] = server;
    place = await start();
    fleet = await startFleet(place.url);
    const history = new History();
    const balancer = new Balancer(fleet.worlds, RATE);
    const clients = createClients(fleet.issuer, balancer, history);
    const began = performance.now();
    const failure = { isOver: false };
    const isOver = () => failure.isOver || performance.now() - began > SECONDS * 1000;
    const breaking = breakThings({ place, fleet, history }, isOver).finally(() => {
      failure.isOver = true;
    });
    const [happened] = await Promise.all([
      breaking,
      ...Array.from({ length: PEOPLE }, () => clients.live(isOver)),
      ...Array.from({ length: MACHINES }, () => clients.work(isOver)),
    ]);
    const seconds = (performance.now() - began) / 1000;
    const stale = history.stale();
    // By then each old master is demoted: if a token is still active, its revocation was lost.
    if (stale.length > 0) await sleep(11_000);
    for (const { subject, family } of stale) await clients.introspect(subject, family);
    process.stdout.write(toTable({ title: `${server}, ${name}`, seconds, happened, history, balancer }));
    expect(balancer.complaints).toEqual([]);
    expect(history.violations()).toEqual([]);
    for (const operation of ['redeem', 'refresh', 'revoke', 'machine token']) {
      expect(history.counts[`${operation} done`]).toBeGreaterThan(0);
    }
  });
});
