// The whole code flow of people who sign in and consent for the first time: 8 requests, with and without the price of
// the password hash.
import { generated } from '../generated.ts';
import { FULL_HASH, LIGHT_HASH } from '../postern.ts';
import { measureRounds, over, sliceOf, type Subject } from '../rounds.ts';
import * as section from '../section.ts';
import { runLoop } from '../subject-loop.ts';

const PEOPLE = 5000;
/** Enough to keep two cores busy. */
const PARALLEL = 8;
const FULL = 'argon2id as the service makes it (19 MiB, t=2)';
const LIGHT = 'argon2id, the least accepted (7 MiB, t=1)';

export function hashing(
  name: string,
  { memoryCost, timeCost }: typeof FULL_HASH | typeof LIGHT_HASH,
): Subject {
  return {
    name,
    warm: () => Promise.resolve(),
    slice: (seconds) =>
      runLoop(['bench/subjects/argon-loop.ts', String(seconds), String(memoryCost), String(timeCost)], 1),
  };
}

export async function flow(stage: section.Stage): Promise<section.Findings> {
  const redis = { full: await stage.redis(), light: await stage.redis() };
  const people = PEOPLE;
  const full = [
    await stage.postern({ name: 'postern, lmdb', store: stage.lmdb('full'), people }),
    await stage.postern({ name: 'postern, redis', store: redis.full, people }),
  ];
  const hasLightPasswords = true;
  const light = [
    await stage.postern({
      name: 'postern, lmdb, light hash',
      store: stage.lmdb('light'),
      people,
      hasLightPasswords,
    }),
    await stage.postern({
      name: 'postern, redis, light hash',
      store: redis.light,
      people,
      hasLightPasswords,
    }),
  ];
  const given = { mode: 'flow', parallel: PARALLEL, people } as const;
  const rounds = await measureRounds(
    [
      hashing(FULL, FULL_HASH),
      hashing(LIGHT, LIGHT_HASH),
      ...[...full, ...light].map((service) => generated(stage, service.name, service, given)),
    ],
    stage.options,
  );
  // What the cheap hash costs is known from its own loop: little is subtracted from little.
  const withoutHash = (name: string) =>
    over(rounds, (round) => {
      const hash = sliceOf(round, light.some((one) => one.name === name) ? LIGHT : FULL);
      return (sliceOf(round, name).cpuMicroseconds - hash.cpuMicroseconds) / 1000;
    });
  const isFlow = (name: string) => name.startsWith('postern');
  const none = { median: Number.NaN, least: Number.NaN, most: Number.NaN };
  return {
    tables: [
      section.tableOf('Code flow: first sign-in and consent', rounds, {
        'CPU ms without the hash': (name) => (isFlow(name) ? withoutHash(name) : none),
      }),
    ],
    targets: light.map(({ name }) =>
      section.atMost(`CPU ms of a code flow without the password hash: ${name}`, withoutHash(name), 1.6),
    ),
    notes: [
      'Without the hash: people with the cheapest hash that is accepted, less what a loop of that hash costs in the same round. ' +
        'For the full hash the same subtraction is shown; it is coarser, because hashing beside other work is dearer than in a loop.',
    ],
    raw: section.plain(rounds),
  };
}
