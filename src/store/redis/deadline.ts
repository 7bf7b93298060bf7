// How long one answer may take.

export const COMMAND_MS = 300;
/** How often late answers are checked for. */
const TICK_MS = 50;

export class Late extends Error {
  constructor() {
    super('no answer in time');
  }
}

/**
 * What `answer` becomes; rejects with Late after `ms`. Only time in which this process was awake counts, and what has arrived is
 * read before: a stall of our own is no silence of the server.
 */
export function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = Math.ceil(ms / TICK_MS);
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      setImmediate(() => reject(new Late()));
    }, TICK_MS);
    answer.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

/** The command was sent, but its result is unknown. */
export class AnswerLost extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

/** What ioredis calls an answer that is an error. */
export const isReply = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';

export const toAnswerLost = (error: unknown): Error => (isReply(error) ? error : new AnswerLost(error));
