// Writes that a replica must have before anybody is told that they happened. Owns one connection for them, because WAIT
// holds up whatever comes after it; all who come while one WAIT is out share the next one. Translates no error.
import type { RedisPlace } from '../config/redis-url.ts';
import { codeOf, createRedisClient, type Master } from './redis-client.ts';
import { SCRIPTS, type ScriptName } from './redis-scripts.ts';

/** How long a replica may take. */
const WAIT_MS = 150;
/** Scripts before one WAIT. */
const BATCH = 1000;
const REDIRECTIONS = 8;

export type Write = {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
};

export interface Confirmer {
  connect(): Promise<void>;
  /** The script's answer, and whether a replica has what was written with it. */
  write(write: Write): Promise<{ readonly reply: unknown; readonly isConfirmed: boolean }>;
  close(): Promise<void>;
}

/** `reply`, or an error. */
type Outcome = { readonly reply: unknown; readonly error: Error | null; readonly isConfirmed: boolean };
type Waiting = {
  readonly write: Write;
  readonly isAsking: boolean;
  readonly done: (outcome: Outcome) => void;
};

export function createConfirmer(place: RedisPlace): Confirmer {
  const client = createRedisClient(place);
  const queues = new Map<string, Waiting[]>();

  async function work(master: Master, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH);
      const outcomes = await send(master, batch);
      batch.forEach(({ done }, index) => done(outcomes[index] ?? LOST));
    }
    queues.delete(master.name);
  }

  function enqueue(master: Master, write: Write, isAsking: boolean): Promise<Outcome> {
    return new Promise((done) => {
      const queue = queues.get(master.name);
      const waiting = { write, isAsking, done };
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const created = [waiting];
      queues.set(master.name, created);
      void work(master, created);
    });
  }

  return {
    connect: () => client.connect(),
    async write(write) {
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
      throw new Error('its master is not connected');
    },
    close: () => client.close(),
  };
}

const LOST: Outcome = { reply: undefined, error: new Error('no answer'), isConfirmed: false };

/** Never rejects. The scripts go as text: another connection's scripts are no matter here. */
async function send({ redis }: Master, batch: readonly Waiting[]): Promise<readonly Outcome[]> {
  const pipeline = redis.pipeline();
  const places = batch.map(({ write: { script, keys, args }, isAsking }) => {
    if (isAsking) pipeline.asking();
    pipeline.eval(SCRIPTS[script].lua, keys.length, ...keys, ...args);
    return pipeline.length - 1;
  });
  pipeline.wait(1, WAIT_MS);
  try {
    const results = (await pipeline.exec()) ?? [];
    const [waitError, replicas] = results.at(-1) ?? [LOST.error, 0];
    const isConfirmed = waitError === null && typeof replicas === 'number' && replicas >= 1;
    return places.map((place) => {
      const [error, reply] = results[place] ?? [LOST.error, undefined];
      return { reply, error, isConfirmed };
    });
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    return batch.map(() => ({ ...LOST, error: failure }));
  }
}
