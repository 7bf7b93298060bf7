// The whole code flow of people who sign in and consent for the first time: 8 requests, with and without the price of
// the password hash.
import { generated } from '../generated.ts';
import { FULL_HASH } from '../postern.ts';
import { measureRounds, over, sliceOf, type Subject } from '../rounds.ts';
import * as section from '../section.ts';
import { runLoop } from '../subject-loop.ts';

const PEOPLE = 5000;
/** Enough to keep two cores busy. */
const PARALLEL = 8;
const FULL = 'argon2id as the service makes it (19 MiB, t=2)';

export function hashing(name: string, { memoryCost, timeCost }: typeof FULL_HASH): Subject {
  return {
    name,
    warm: () => Promise.resolve(),
    slice: (seconds) =>
      runLoop(['bench/subjects/argon-loop.ts', String(seconds), String(memoryCost), String(timeCost)], 1),
  };
}

export async function flow(stage: section.Stage): Promise<section.Findings> {
  const people = PEOPLE;
  const services = [
    await stage.postern({ name: 'postern, lmdb', store: stage.lmdb('full'), people }),
    await stage.postern({ name: 'postern, redis', store: await stage.redis(), people }),
  ];
  const given = { mode: 'flow', parallel: PARALLEL, people } as const;
  const rounds = await measureRounds(
    [hashing(FULL, FULL_HASH), ...services.map((service) => generated(stage, service.name, service, given))],
    stage.options,
  );
  const withoutHash = (name: string) =>
    over(
      rounds,
      (round) => (sliceOf(round, name).cpuMicroseconds - sliceOf(round, FULL).cpuMicroseconds) / 1000,
    );
  const isFlow = (name: string) => name.startsWith('postern');
  const none = { median: Number.NaN, least: Number.NaN, most: Number.NaN };
  return {
    tables: [
      section.tableOf('Code flow: first sign-in and consent', rounds, {
        'CPU ms without the hash': (name) => (isFlow(name) ? withoutHash(name) : none),
      }),
    ],
    targets: services.map(({ name }) =>
      section.atMost(`CPU ms of a code flow without the password hash: ${name}`, withoutHash(name), 1.6),
    ),
    notes: [
      'Without the hash: less what a loop of that hash costs in the same round. Coarse, because hashing beside other work is dearer ' +
        'than in a loop: 19 MiB of memory leave the caches. A cheaper hash can not be had: an attempt costs the same for everybody (LG-19).',
    ],
    raw: section.plain(rounds),
  };
}
