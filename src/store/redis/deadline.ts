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
 * Settles like `answer`, but rejects with Late after `ms`. Only time in which this process was awake counts, and answers that have
 * arrived are read first, because a stall of this process isn't the server's.
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

/** Whether the server answered with an error. */
export const isReply = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';

export const toAnswerLost = (error: unknown): Error => (isReply(error) ? error : new AnswerLost(error));
