// The request with the password against the limit of the hash, and what a crowd that signs in does to services that get
// their tokens meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { generated, startGenerator } from '../generated.ts';
import { measureRounds, over, rateRatio, type Round, sliceOf } from '../rounds.ts';
import * as section from '../section.ts';
import { hashing } from './flow.ts';

const LIMIT = 'argon2id limit';
const PEOPLE = 5000;
/** Enough to keep two cores busy with hashes; each waits for a tenth of a second. */
const PARALLEL = 16;
const CROWD = 200;
/** Tokens a second: a small part of what the service can do, as on a usual day. */
const RATE = 100;
/** The first breath of a crowd, all its requests at once, is over by then. */
const RAMP_S = 1;

export async function signIn(stage: section.Stage): Promise<section.Findings> {
  const services = await section.onBothStores(stage, { people: PEOPLE });
  const given = {
    mode: 'sign-in',
    parallel: PARALLEL,
    people: PEOPLE,
    warm: stage.options.warmFlows,
  } as const;
  const rounds = await measureRounds(
    [hashing(LIMIT), ...services.map((one) => generated(stage, one, given))],
    stage.options,
  );
  const toLimit = (name: string) => rateRatio(rounds, name, LIMIT);
  const crowd = await besideCrowd(stage, services);
  return {
    tables: [
      section.tableOf('Sign-in: the request with the password', rounds, { '× limit': toLimit }),
      crowd.table,
    ],
    targets: [
      ...services.map(({ name }) =>
        section.atLeast(`sign-in rate / argon2id limit: ${name}`, toLimit(name), 0.75),
      ),
      ...crowd.targets,
    ],
    notes: [
      `Beside the crowd: ${RATE} machine tokens a second at an even pace, each timed from when it was due, alone and while ${CROWD} ` +
        'connections send passwords without pause; who is told to come back (503) does so after a second. Both cores are then busy ' +
        'with hashes, those of the generator included.',
    ],
    raw: { signIn: section.plain(rounds), beside: crowd.raw },
  };
}

type Services = Awaited<ReturnType<typeof section.onBothStores>>;

async function besideCrowd(stage: section.Stage, single: Services) {
  const two = { name: 'postern, lmdb, 2 workers', store: stage.lmdb('two'), workers: 2, people: PEOPLE };
  const { isQuick } = stage.options;
  const services = isQuick ? single : [...single, await stage.postern(two)];
  const seconds = isQuick ? 2 : 5;
  const subjects = services.flatMap((service) => {
    const paced = startGenerator(stage, service, { mode: 'paced', parallel: 32, people: 1, rate: RATE });
    const crowd = startGenerator(stage, service, { mode: 'sign-in', parallel: CROWD, people: PEOPLE });
    return [
      { name: `${service.name}, idle`, slice: () => paced.go(seconds) },
      {
        name: `${service.name}, ${CROWD} sign-ins`,
        async slice() {
          const all = seconds + 2 * RAMP_S;
          await crowd.prepare(all);
          const signingIn = crowd.go(all);
          await sleep(RAMP_S * 1000);
          const slice = await paced.go(seconds);
          const { refused = 0, perSecond } = await signingIn;
          return { ...slice, cpuMicroseconds: Number.NaN, refused, beside: perSecond };
        },
      },
    ];
  });
  const rounds = await measureRounds(subjects, {
    rounds: isQuick ? 1 : Math.min(3, stage.options.rounds),
    seconds,
  });
  const p99 = (round: Round, name: string) => sliceOf(round, name).p99Ms ?? Number.NaN;
  const targets = single.map(({ name }) =>
    section.atMost(
      `p99 of a machine token beside ${CROWD} sign-ins / idle: ${name}`,
      over(rounds, (round) => p99(round, `${name}, ${CROWD} sign-ins`) / p99(round, `${name}, idle`)),
      2,
    ),
  );
  const table = section.tableOf('Machine tokens beside a crowd that signs in', rounds, {
    'sign-ins a second meanwhile': (name) =>
      over(rounds, (round) => sliceOf(round, name).beside ?? Number.NaN),
    'sign-ins told to come back': (name) =>
      over(rounds, (round) => sliceOf(round, name).refused ?? Number.NaN),
  });
  return { table, targets, raw: section.plain(rounds) };
}
