// Writes that all replicas of a master must have before they are answered. They have their own connections, because WAIT blocks
// the commands after it.
import { codeOf, type Master, type RedisClient } from '../client.ts';
import { COMMAND_MS, inTime, Late, toAnswerLost, AnswerLost } from '../deadline.ts';
import { SCRIPTS, type ScriptName } from '../scripts.ts';
import type { Watch } from './watch.ts';
import { StoreTakesNoWrites } from '../../store.ts';

/** How long WAIT waits for replicas. */
const WAIT_MS = 150;
/** The most scripts before one WAIT. */
const BATCH = 1000;
const REDIRECTIONS = 8;
const TRY_AGAIN_MS = 25;

type Write = Readonly<{ script: ScriptName; keys: readonly string[]; args: readonly (string | number)[] }>;

/** The script's answer, and whether the replicas have its writes. */
type Confirmed = Readonly<{ reply: unknown; isConfirmed: boolean }>;

type Outcome = Confirmed & { readonly error: Error | null };
type Waiting = Readonly<{ write: Write; isAsking: boolean; done: (outcome: Outcome) => void }>;

export function createConfirm(client: RedisClient, watch: Watch) {
  const queues = new Map<string, Waiting[]>();

  /** Sends one WAIT at a time to each master. Writes that arrive meanwhile share the next one. */
  async function drain(name: string, queue: Waiting[]): Promise<void> {
    // The other writes of this turn join the batch.
    await Promise.resolve();
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH);
      const outcomes = await exchange(name, batch);
      batch.forEach(({ done }, index) => done(outcomes(index)));
    }
    queues.delete(name);
  }

  async function exchange(name: string, batch: readonly Waiting[]): Promise<(index: number) => Outcome> {
    const master = client.masterAt(name);
    if (master === undefined) return fail(client.obstacle);
    const replicas = watch.replicasOf(name);
    if (replicas === undefined) return fail(missed);
    try {
      return await send(master, batch, replicas);
    } catch (error) {
      if (error instanceof Late) client.drop(master);
      return fail(() => new AnswerLost(error));
    }
  }

  function enqueue({ name }: Master, write: Write, isAsking: boolean): Promise<Outcome> {
    return new Promise((done) => {
      const queue = queues.get(name) ?? [];
      queue.push({ write, isAsking, done });
      if (queues.has(name)) return;
      queues.set(name, queue);
      void drain(name, queue);
    });
  }

  /** The result of a consumed record (a token) may be on any of the masters: all must be able to confirm it. */
  const areAllWhole = () => client.masters().every(({ name }) => watch.replicasOf(name) !== undefined);

  return async function confirm(write: Write): Promise<Confirmed> {
    if (write.script === 'consumeRecord' && !areAllWhole()) throw missed();
    let master = client.masterOf(write.keys[0] ?? '');
    let isAsking = false;
    for (let left = REDIRECTIONS; master !== undefined; left -= 1) {
      const { error, ...confirmed } = await enqueue(master, write, isAsking);
      if (error === null) return confirmed;
      const code = codeOf(error);
      if (code === 'READONLY') watch.demote(master.name, error);
      // All three mean that nothing was executed.
      if (left === 0 || !['MOVED', 'ASK', 'TRYAGAIN'].includes(code)) throw error;
      client.refresh();
      isAsking = code === 'ASK';
      if (code === 'TRYAGAIN') await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
      else master = client.masterAt(error.message.split(' ')[2] ?? '');
    }
    throw client.obstacle();
  };
}

/** Creates a new error for each caller, because callers add to it. */
const fail = (toError: () => Error) => () => ({ reply: undefined, isConfirmed: false, error: toError() });

/** A code that is used up but not confirmed is lost to its owner, so nothing is sent while a replica is missing. */
const missed = () => new StoreTakesNoWrites('one of its replicas is missing');

/** Sends the scripts as text, so that it doesn't matter which ones another connection has loaded. */
async function send(
  { redis }: Master,
  batch: readonly Waiting[],
  replicas: number,
): Promise<(index: number) => Outcome> {
  const pipeline = redis.pipeline();
  const places = batch.map(({ write: { script, keys, args }, isAsking }) => {
    if (isAsking) pipeline.asking();
    pipeline.eval(SCRIPTS[script], keys.length, ...keys, ...args);
    return pipeline.length - 1;
  });
  pipeline.wait(replicas, WAIT_MS);
  const results = (await inTime(pipeline.exec(), COMMAND_MS)) ?? [];
  const [, confirmed] = results.at(-1) ?? [];
  const isConfirmed = typeof confirmed === 'number' && confirmed >= replicas;
  return (index) => {
    const [error, reply] = results[places[index] ?? -1] ?? [new Error('no answer')];
    return { reply, error: error && toAnswerLost(error), isConfirmed };
  };
}
