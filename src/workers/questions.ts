// What the primary asks its workers, and what they answer: the whole protocol between the processes of one service. Owns
// how a question meets its answer, or its silence; what an answer means is the business of primary.ts and worker.ts.
import type { Config } from '../config/config.ts';
import type { Status } from '../http/management.ts';
import type { ProcessMetrics } from '../telemetry/metrics.ts';
import { isMistake } from '../telemetry/mistakes.ts';

/** What a worker is to run. Crosses the process boundary as a structured clone, so its Buffers stay Buffers. */
export type Job = { readonly config: Config; readonly hash: string };

/** Each question: what goes with it, and what comes back. A new one needs a line here and one in worker.ts. */
export type Questions = {
  /** The first one. Answered when the worker accepts connections. */
  start: { readonly ask: Job & { readonly worker: number }; readonly answer: void };
  /** Whether it gets to its work at all. Asks nobody else, so that an outage of the store is no silence. */
  alive: { readonly ask: undefined; readonly answer: void };
  status: { readonly ask: undefined; readonly answer: Status };
  /** In prom-client's own form, which the primary adds up. */
  metrics: { readonly ask: undefined; readonly answer: ProcessMetrics };
  /** After logrotate: files are opened again by their names. */
  reopen: { readonly ask: undefined; readonly answer: void };
  /** Refused when the worker goes on as before. */
  reconfigure: { readonly ask: Job; readonly answer: void };
};

export type Question = keyof Questions;
export type Ask<Q extends Question> = Questions[Q]['ask'];
export type Answer<Q extends Question> = Questions[Q]['answer'];
export type Answers = { readonly [Q in Question]: (ask: Ask<Q>) => Promise<Answer<Q>> };

/** refused: the worker said no, and why. silent: it ended, or did not answer in time. */
export type Outcome<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'silent' };

/** The end of the channel between two processes that a process holds: `process` in a worker, the Worker in the primary. */
export type Channel = {
  // Undefined in a process that has no parent. With a callback, because the other side may be gone: that is no error.
  readonly send?: ((message: object, whenSent: () => void) => boolean) | undefined;
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

export interface Questioner {
  /** Never rejects. */
  ask<Q extends Question>(question: Q, ask: Ask<Q>, withinMs?: number): Promise<Outcome<Answer<Q>>>;
  /** Nobody is there any more: what is still open stays without an answer. */
  close(): void;
}

const ANSWER_WITHIN_MS = 2000;

const ignore = (): void => undefined;

type Asked = { readonly id: number; readonly question: Question; readonly ask: unknown };
type Answered = { readonly id: number } & ({ readonly answer: unknown } | { readonly refused: string });

/** The primary's end of the channel to one worker. */
export function createQuestioner(channel: Channel): Questioner {
  const open = new Map<number, (outcome: Outcome<unknown>) => void>();
  let lastId = 0;
  let isClosed = false;

  channel.on('message', (message) => {
    const answered = message as Answered;
    open.get(answered.id)?.(
      'refused' in answered
        ? { kind: 'refused', message: answered.refused }
        : { kind: 'answered', answer: answered.answer },
    );
  });

  return {
    async ask<Q extends Question>(question: Q, ask: Ask<Q>, withinMs = ANSWER_WITHIN_MS) {
      if (isClosed) return { kind: 'silent' };
      const id = (lastId += 1);
      const outcome = await new Promise<Outcome<unknown>>((resolve) => {
        const timer = setTimeout(() => resolve({ kind: 'silent' }), withinMs).unref();
        open.set(id, (found) => {
          clearTimeout(timer);
          resolve(found);
        });
        channel.send?.({ id, question, ask } satisfies Asked, ignore);
      });
      open.delete(id);
      return outcome as Outcome<Answer<Q>>;
    },
    close() {
      isClosed = true;
      for (const settle of open.values()) settle({ kind: 'silent' });
    },
  };
}

/** The worker's end. What an answer throws becomes a refusal. */
export function answerQuestions(channel: Channel, answers: Answers): void {
  channel.on('message', (message) => {
    const { id, question, ask } = message as Asked;
    const find = answers[question] as (ask: unknown) => Promise<unknown>;
    const reply = (content: { answer: unknown } | { refused: string }) =>
      void channel.send?.({ id, ...content }, ignore);
    find(ask).then(
      (answer) => reply({ answer }),
      (error: unknown) => reply({ refused: inWords(error) }),
    );
  });
}

function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isMistake(error) ? (error.stack ?? error.message) : error.message;
}
