// The whole code flow of people who sign in and consent for the first time, 8 requests; and the flow of people whose browser has
// a session, who only consent. The second has no password hash in it.
import { generated } from '../generated.ts';
import { FULL_HASH } from '../postern.ts';
import { measureRounds, over, type Round, sliceOf, type Subject } from '../rounds.ts';
import * as section from '../section.ts';
import { runLoop } from '../subject-loop.ts';

const PEOPLE = 5000;
/** Enough to keep two cores busy. */
const PARALLEL = 8;
const FULL = 'argon2id as the service makes it (19 MiB, t=2)';

export function hashing(name: string): Subject {
  const { memoryCost, timeCost } = FULL_HASH;
  return {
    name,
    warm: () => Promise.resolve(),
    slice: (seconds) =>
      runLoop(['bench/subjects/argon-loop.ts', String(seconds), String(memoryCost), String(timeCost)], 1),
  };
}

export async function flow(stage: section.Stage): Promise<section.Findings> {
  const services = await section.onBothStores(stage, { people: PEOPLE });
  const given = { parallel: PARALLEL, people: PEOPLE, warm: stage.options.warmFlows };
  const session = (name: string) => `${name}, in a session`;
  const subjects = services.flatMap((service) => [
    generated(stage, service, { ...given, mode: 'flow' }),
    generated(stage, service, { ...given, mode: 'session flow', name: session(service.name) }),
  ]);
  const rounds = await measureRounds([section.signing(1), hashing(FULL), ...subjects], stage.options);
  const cpu = (round: Round, name: string) => sliceOf(round, name).cpuMicroseconds / 1000;
  const withoutHash = (round: Round, name: string) =>
    cpu(round, name) - (sliceOf(round, name).backgroundMicroseconds ?? 0) / 1000;
  const ofFlows = (name: string, figure: (round: Round) => number) =>
    name.startsWith('postern') ? over(rounds, figure) : section.NONE;
  const cpuMs = (name: string) => ofFlows(name, (round) => withoutHash(round, name));
  return {
    tables: [
      section.tableOf('Code flow: first sign-in and consent; consent in a session', rounds, {
        'CPU ms without the hash': cpuMs,
        '… and without its two signatures': (name) =>
          ofFlows(name, (round) => withoutHash(round, name) - 2 * cpu(round, section.S1)),
      }),
    ],
    targets: services.flatMap(({ name }) => [
      section.atMost(`CPU ms of a code flow without the password hash: ${name}`, cpuMs(name), 1.6),
      section.atMost(`CPU ms of a flow in a session (consent alone): ${name}`, cpuMs(session(name)), 1.6),
    ]),
    notes: [
      'Without the hash: less the CPU of the threads that compare passwords. Beside other work a hash is dearer than in the loop above: ' +
        '19 MiB of memory leave the caches. A cheaper hash can not be had: an attempt costs the same for everybody ' +
        `(LG-19). The flow in a session has no hash. Before the first round each process has seen ${stage.options.warmFlows} flows of each kind.`,
    ],
    raw: section.plain(rounds),
  };
}
