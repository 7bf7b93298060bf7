// The whole code flow of people who sign in and consent for the first time, 8 requests; and the flow of people whose browser has
// a session, who only consent. The second has no password hash in it.
import { generated } from '../generated.ts';
import { FULL_HASH } from '../postern.ts';
import { measureRounds, over, sliceOf, type Subject } from '../rounds.ts';
import * as section from '../section.ts';
import { runLoop } from '../subject-loop.ts';

const PEOPLE = 5000;
/** Enough to keep two cores busy. */
const PARALLEL = 8;

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
  const services = [await stage.bareEngine(), ...(await section.onBothStores(stage, { people: PEOPLE }))];
  const given = { parallel: PARALLEL, people: PEOPLE, warm: stage.options.warmFlows };
  const session = (name: string) => `${name}, in a session`;
  const subjects = services.flatMap((service) => [
    generated(stage, service, { ...given, mode: 'flow' }),
    generated(stage, service, { ...given, mode: 'session flow', name: session(service.name) }),
  ]);
  const rounds = await measureRounds([section.signing(1), ...subjects], stage.options);
  const cpuMs = (name: string) => over(rounds, (round) => section.withoutHash(sliceOf(round, name)) / 1000);
  const toBare = (name: string) =>
    section.besideRatio(rounds, name, name.includes(session('')) ? session(section.BARE) : section.BARE, 2);
  const wholeToBare = (name: string) =>
    over(
      rounds,
      (round) =>
        section.withoutHash(sliceOf(round, name)) / section.withoutHash(sliceOf(round, section.BARE)),
    );
  return {
    tables: [
      section.tableOf('Code flow: first sign-in and consent; consent in a session', rounds, {
        'CPU ms without the hash': cpuMs,
        '× bare engine, beside two signatures': toBare,
      }),
    ],
    targets: services
      .slice(1)
      .flatMap(({ name }) => [
        section.atMost(
          `flow in a session: CPU beside the signatures / the bare engine's: ${name}`,
          toBare(session(name)),
          1.35,
          1.1,
        ),
        section.atMost(
          `first sign-in flow: CPU without the hash / the bare engine's: ${name}`,
          wholeToBare(name),
          1.4,
        ),
      ]),
    notes: [
      'Without the hash: less the CPU of the threads that compare passwords, which the bare engine has none of. ' +
        `Before the first round each process has seen ${stage.options.warmFlows} flows of each kind.`,
    ],
    raw: section.plain(rounds),
  };
}
