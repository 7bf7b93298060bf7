// The request with the password against the limit of the hash, and what a crowd that signs in does to services that get
// their tokens meanwhile.
import { generated, startGenerator } from '../generated.ts';
import { FULL_HASH } from '../postern.ts';
import { measureRounds, over, rateRatio, type Round, sliceOf } from '../rounds.ts';
import * as section from '../section.ts';
import { hashing } from './flow.ts';

const LIMIT = 'argon2id limit';
const PEOPLE = 5000;
const CROWD = 200;
/** Tokens a second: a small part of what the service can do, as on a usual day. */
const RATE = 100;

export async function signIn(stage: section.Stage): Promise<section.Findings> {
  const people = PEOPLE;
  const services = [
    await stage.postern({ name: 'postern, lmdb', store: stage.lmdb('lmdb'), people }),
    await stage.postern({ name: 'postern, redis', store: await stage.redis(), people }),
  ];
  const given = { mode: 'sign-in', parallel: 16, people } as const;
  const rounds = await measureRounds(
    [hashing(LIMIT, FULL_HASH), ...services.map((one) => generated(stage, one.name, one, given))],
    stage.options,
  );
  const toLimit = (name: string) => rateRatio(rounds, name, LIMIT);
  const because =
    'the request waits for thirteen store operations in a row around its hash, and two hashes run at once in a process';
  const crowd = await besideCrowd(stage);
  return {
    tables: [
      section.tableOf('Sign-in: the request with the password', rounds, { '× limit': toLimit }),
      crowd.table,
    ],
    targets: [
      ...services.map(({ name }) =>
        section.atLeast(`sign-in rate / argon2id limit: ${name}`, toLimit(name), 0.75, because),
      ),
      ...crowd.targets,
    ],
    notes: [
      `Beside the crowd: ${RATE} machine tokens a second at an even pace, each timed from when it was due, alone and while ${CROWD} ` +
        'connections send passwords without pause. Both cores are then busy with hashes, those of the generator included.',
    ],
    raw: { signIn: section.plain(rounds), beside: crowd.raw },
  };
}

async function besideCrowd(stage: section.Stage) {
  const services = [
    await stage.postern({ name: '1 process', store: stage.lmdb('one'), people: PEOPLE }),
    await stage.postern({ name: '2 workers', store: stage.lmdb('two'), workers: 2, people: PEOPLE }),
  ];
  const seconds = Math.max(2, stage.options.seconds * 2);
  const subjects = services.flatMap((service) => {
    const paced = startGenerator(stage, service, { mode: 'paced', parallel: 32, people: 1, rate: RATE });
    const crowd = startGenerator(stage, service, { mode: 'sign-in', parallel: CROWD, people: PEOPLE });
    return [
      { name: `${service.name}, idle`, slice: () => paced.go(seconds) },
      {
        name: `${service.name}, ${CROWD} sign-ins`,
        async slice() {
          await crowd.prepare(seconds);
          const [slice, signIns] = await Promise.all([paced.go(seconds), crowd.go(seconds)]);
          return { ...slice, cpuMicroseconds: Number.NaN, refused: signIns.refused ?? 0 };
        },
      },
    ];
  });
  const rounds = await measureRounds(subjects, { rounds: Math.min(3, stage.options.rounds), seconds });
  const p99 = (round: Round, name: string) => sliceOf(round, name).p99Ms ?? Number.NaN;
  const targets = services.map(({ name }) =>
    section.atMost(
      `p99 of a machine token beside ${CROWD} sign-ins / idle: ${name}`,
      over(rounds, (round) => p99(round, `${name}, ${CROWD} sign-ins`) / p99(round, `${name}, idle`)),
      2,
      'a signature is made on the thread pool, behind hashes that take eight milliseconds each on the same two cores',
    ),
  );
  const refused = (name: string) => over(rounds, (round) => sliceOf(round, name).refused ?? 0);
  const table = section.tableOf('Machine tokens beside a crowd that signs in', rounds, {
    'sign-ins told to come back': refused,
  });
  return { table, targets, raw: section.plain(rounds) };
}
