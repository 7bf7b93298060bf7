// Questions between two processes: each gets its own answer, a refusal or silence.
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { answerQuestions, createQuestioner, type Answers } from '../../../src/workers/questions.ts';

/** Two ends of one channel, as a pipe between processes is. */
function channel(isCut = false) {
  const [primary, worker] = [new EventEmitter(), new EventEmitter()];
  const end = (own: EventEmitter, other: EventEmitter) => ({
    on: (event: 'message', listener: (message: unknown) => void) => own.on(event, listener),
    send: (message: object) =>
      isCut || setImmediate(() => other.emit('message', structuredClone(message))) !== null,
  });
  return { primary: end(primary, worker), worker: end(worker, primary) };
}

const ANSWERS: Answers = {
  start: () => Promise.reject(new Error('the port is taken')),
  alive: () => Promise.resolve(),
  status: () => Promise.resolve({ problems: ['one'], configuration: { hash: 'h', problem: undefined } }),
  metrics: () => new Promise(() => undefined),
  reopen: () => Promise.reject(new TypeError('a mistake')),
  reconfigure: () => Promise.resolve(),
};

describe('a question to a worker', () => {
  it('gets its own answer, however many are open', async () => {
    const { primary, worker } = channel();
    answerQuestions(worker, ANSWERS);
    const questioner = createQuestioner(primary);
    const [silent, status] = await Promise.all([
      questioner.ask('metrics', undefined, 20),
      questioner.ask('status', undefined),
    ]);
    expect(silent).toEqual({ kind: 'silent' });
    expect(status).toMatchObject({ kind: 'answered', answer: { problems: ['one'] } });
  });

  it('is refused in one line; a mistake of ours keeps its stack', async () => {
    const { primary, worker } = channel();
    answerQuestions(worker, ANSWERS);
    const questioner = createQuestioner(primary);
    const job = { worker: 1, hash: '', config: {} } as never;
    expect(await questioner.ask('start', job)).toEqual({ kind: 'refused', message: 'the port is taken' });
    expect(await questioner.ask('reopen', undefined)).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/^TypeError: a mistake\n {4}at /),
    });
  });

  it('is not waited for when the worker has ended', async () => {
    const questioner = createQuestioner(channel(true).primary);
    const asked = questioner.ask('status', undefined, 60_000);
    questioner.close();
    expect(await asked).toEqual({ kind: 'silent' });
    expect(await questioner.ask('status', undefined, 60_000)).toEqual({ kind: 'silent' });
  });
});
