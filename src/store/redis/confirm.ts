// Writes that the replicas must have before anybody is told that they happened. Owns one connection for them, because WAIT
// holds up whatever comes after it; all who come while one WAIT is out share the next one. Translates no error.
import type { RedisPlace } from '../../config/redis-url.ts';
import { codeOf, COMMAND_MS, createRedisClient, inTime, type Master } from './client.ts';
import { parseInfo, type Replication, toReplication } from './info.ts';
import { createReplicas, type Replicas } from './replicas.ts';
import { SCRIPTS, type ScriptName } from './scripts.ts';
import { downAfterOf } from './sentinels.ts';
import { StoreTakesNoWrites } from '../store.ts';

/** How long replicas may take. */
const WAIT_MS = 150;
/** Scripts before one WAIT. */
const BATCH = 1000;
const REDIRECTIONS = 8;
/**
 * How often a master that nobody writes to is asked for its replicas: one that went is known before it matters, and one that is silent
 * before Sentinels, which need a second at least, have made another master.
 */
const LOOK_EVERY_MS = 500;
/** How often one is asked that misses a replica: not by each who comes, because an answer takes as long as WAIT does then. */
const LOOK_AGAIN_MS = 200;
/** One answer that a replica was late for says nothing yet of the next. */
const HICCUP_MS = 300;
/** A look is believed for so long. */
const SEEN_FOR_MS = 1500;
/** A replica that is missed may just be promoted: Sentinels need about a second until its old master knows. */
const SHORTEST_GRACE_MS = 3000;
const SENTINELS_MS = 1000;
/** Where no Sentinel can be asked: longer than a Cluster needs by default to vote a master out, and it to know. */
const GRACE_MS = 20_000;

export type Write = {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
};

export interface Confirmer {
  connect(): Promise<void>;
  /** The script's answer, and whether all replicas that count have what was written with it. */
  write(write: Write): Promise<{ readonly reply: unknown; readonly isConfirmed: boolean }>;
  /** Whether the master of this name, as it was `told` on another connection, is the one that is written to here, and misses no replica. */
  isWhole(name: string, told: Replication): Promise<boolean>;
  close(): Promise<void>;
}

/** `reply`, or an error. */
type Outcome = { readonly reply: unknown; readonly error: Error | null; readonly isConfirmed: boolean };
type Waiting = {
  readonly write: Write;
  readonly isAsking: boolean;
  readonly done: (outcome: Outcome) => void;
};
/** What a master's answers to one pipeline come to. */
type Sent = {
  readonly answers: readonly Pick<Outcome, 'reply' | 'error'>[];
  readonly confirmed: number;
  readonly told: Replication | undefined;
};

type Options = {
  /** In milliseconds; it never goes back. */
  readonly now: () => number;
  /** Hears of a master that gives no answer: it may be frozen, and replaced before it gives the next one. */
  readonly onSilence: (name: string) => void;
};

export function createConfirmer(place: RedisPlace, options: Options): Confirmer {
  const client = createRedisClient(place);
  const { sendBatch, replicasOf, isSeen, look } = createSender(place, options);
  const queues = new Map<string, Waiting[]>();
  let timer: NodeJS.Timeout | undefined;

  async function start(master: Master, queue: Waiting[]): Promise<void> {
    queues.set(master.name, queue);
    do {
      await sendBatch(master, queue.splice(0, BATCH));
    } while (queue.length > 0);
    queues.delete(master.name);
  }

  function enqueue(master: Master, write: Write, isAsking: boolean): Promise<Outcome> {
    return new Promise((done) => {
      const queue = queues.get(master.name);
      const waiting = { write, isAsking, done };
      if (queue === undefined) void start(master, [waiting]);
      else queue.push(waiting);
    });
  }

  function lookAtAll(): void {
    for (const master of client.masters()) {
      if (master.redis.status === 'ready' && !queues.has(master.name)) void start(master, []);
    }
  }

  /** What comes of what is used up has a key of its own, on any of the masters: all must be able to keep it. */
  async function areAllSeen(): Promise<boolean> {
    const masters = client.masters().flatMap(({ name }) => client.masterAt(name) ?? []);
    await Promise.all(masters.filter((master) => !isSeen(master)).map(look));
    return masters.length === client.masters().length && masters.every(isSeen);
  }

  return {
    async connect() {
      await client.connect();
      await Promise.all(client.masters().map((master) => start(master, [])));
      timer = setInterval(lookAtAll, LOOK_EVERY_MS);
      timer.unref();
    },
    async write(write) {
      if (write.script === 'consumeRecord' && !(await areAllSeen())) throw MISSED;
      let master = client.masterOf(write.keys[0] ?? '');
      let isAsking = false;
      for (let left = REDIRECTIONS; master !== undefined; left -= 1) {
        const { reply, error, isConfirmed } = await enqueue(master, write, isAsking);
        if (error === null) return { reply, isConfirmed };
        const code = codeOf(error);
        // All three say that nothing was executed.
        if (left === 0 || !['MOVED', 'ASK', 'TRYAGAIN'].includes(code)) throw error;
        client.refresh();
        isAsking = code === 'ASK';
        if (code === 'TRYAGAIN') await new Promise((resolve) => setTimeout(resolve, 25));
        else master = client.masterAt(error.message.split(' ')[2] ?? '');
      }
      throw client.obstacle();
    },
    async isWhole(name, told) {
      const master = client.masterAt(name);
      if (master === undefined) return false;
      const replicas = replicasOf(master);
      if (!replicas.isWhole(told) && !queues.has(name)) await start(master, []);
      return replicas.isWhole(told);
    },
    close() {
      clearInterval(timer);
      return client.close();
    },
  };
}

/** What is known of one master, and when: `seenAt` that all of its replicas were there, `lookedAt` whether they were. */
type Known = { readonly replicas: Replicas; seenAt: number; lookedAt: number };

/** Sends a batch to its master and says to each what became of it. A batch of nothing only looks at the replicas. */
function createSender(place: RedisPlace, { now, onSilence }: Options) {
  const known = new Map<string, Known>();
  const inDoubt = new Set<Replicas>();

  function knownOf({ name }: Master): Known {
    const one = known.get(name) ?? {
      replicas: createReplicas(place.leastReplicas),
      seenAt: Number.NEGATIVE_INFINITY,
      lookedAt: Number.NEGATIVE_INFINITY,
    };
    known.set(name, one);
    return one;
  }

  /** Whether all of its replicas were there of late. */
  function isSeen(master: Master): boolean {
    const { replicas, seenAt } = knownOf(master);
    return replicas.missedFor(now()) <= HICCUP_MS && now() - seenAt <= SEEN_FOR_MS;
  }

  async function look(master: Master): Promise<void> {
    if (now() - knownOf(master).lookedAt > LOOK_AGAIN_MS) await exchange(master, []);
  }

  /** Not before it is certain that nobody makes a master of a replica that is missed. */
  async function goOnWithFewer(master: Master, replicas: Replicas): Promise<void> {
    inDoubt.add(replicas);
    const graceMs = await graceOf(place, master).catch(() => undefined);
    if (graceMs !== undefined) replicas.lower(graceMs, now());
    setTimeout(() => inDoubt.delete(replicas), SENTINELS_MS).unref();
  }

  /** One late answer is no silence. */
  async function askOnceMore(master: Master): Promise<void> {
    const { told } = await send(master, [], 0);
    if (told === undefined) onSilence(master.name);
  }

  /** Whether `sent` is where it must be, as `asked` many were waited for. */
  async function isHeld(master: Master, replicas: Replicas, sent: Sent, asked: number): Promise<boolean> {
    if (sent.told === undefined) return false;
    if (replicas.areEnough(sent.told, sent.confirmed, now())) return true;
    const more = replicas.target(now());
    if (more <= asked) return false;
    // It has learnt just now that there are more. Asked in the same turn, so on the same connection: WAIT speaks for what that one wrote.
    const { told, confirmed } = await send(master, [], more);
    return told?.history === sent.told.history && replicas.areEnough(told, confirmed, now());
  }

  async function exchange(master: Master, batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    const one = knownOf(master);
    const { replicas } = one;
    const asked = replicas.target(now());
    const sent = await send(master, batch, asked);
    const isConfirmed = await isHeld(master, replicas, sent, asked);
    one.lookedAt = now();
    if (isConfirmed) one.seenAt = one.lookedAt;
    if (sent.told === undefined) void askOnceMore(master);
    const isLong = replicas.missedFor(now()) >= SHORTEST_GRACE_MS;
    if (isLong && !inDoubt.has(replicas)) void goOnWithFewer(master, replicas);
    return sent.answers.map((answer) => ({ ...answer, isConfirmed }));
  }

  async function sendBatch(master: Master, batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) {
      await exchange(master, []);
      return;
    }
    // What is used up and then not confirmed is lost to whoever asked: so nothing is sent while a replica is known to be missed.
    if (!isSeen(master)) await look(master);
    const outcomes = isSeen(master) ? await exchange(master, batch) : [];
    batch.forEach(({ done }, index) => done(outcomes[index] ?? NOT_SENT));
  }

  return { sendBatch, isSeen, look, replicasOf: (master: Master) => knownOf(master).replicas };
}

const MISSED = new StoreTakesNoWrites('one of its replicas is missing');
const NOT_SENT: Outcome = { reply: undefined, error: MISSED, isConfirmed: false };
const LOST = { reply: undefined, error: new Error('no answer') };

/** How long fewer replicas must have been there; undefined while this may be no master any more. */
async function graceOf(place: RedisPlace, { redis }: Master): Promise<number | undefined> {
  if (place.kind !== 'sentinel') return GRACE_MS;
  const info = parseInfo(await inTime(redis.info('server'), COMMAND_MS));
  const downAfterMs = await downAfterOf(place, info.get('run_id') ?? '');
  return downAfterMs && Math.max(SHORTEST_GRACE_MS, downAfterMs + SENTINELS_MS);
}

/** Never rejects. The scripts go as text: another connection's scripts are no matter here. */
async function send({ redis }: Master, batch: readonly Waiting[], replicas: number): Promise<Sent> {
  const pipeline = redis.pipeline();
  const places = batch.map(({ write: { script, keys, args }, isAsking }) => {
    if (isAsking) pipeline.asking();
    pipeline.eval(SCRIPTS[script].lua, keys.length, ...keys, ...args);
    return pipeline.length - 1;
  });
  pipeline.wait(replicas, WAIT_MS);
  // After WAIT: who went away meanwhile is missed.
  pipeline.info('replication');
  try {
    const results = (await inTime(pipeline.exec(), COMMAND_MS)) ?? [];
    const [[, confirmed] = [], [, info] = []] = results.slice(-2);
    return {
      answers: places.map((place) => {
        const [error, reply] = results[place] ?? [LOST.error, undefined];
        return { reply, error };
      }),
      confirmed: typeof confirmed === 'number' ? confirmed : 0,
      told: typeof info === 'string' ? toReplication(parseInfo(info)) : undefined,
    };
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    return { answers: batch.map(() => ({ ...LOST, error: failure })), confirmed: 0, told: undefined };
  }
}
