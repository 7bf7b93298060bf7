// How the states of several workers become one answer.
import { describe, expect, it } from 'vitest';
import { combineStatus, type WorkerStatus } from '../../../src/server/cluster.ts';

const worker = (number: number, problems: readonly string[] | undefined, hash = 'new'): WorkerStatus => ({
  worker: number,
  pid: 1000 + number,
  isServing: true,
  status: problems && { problems, configuration: { hash, problem: undefined } },
});

describe('the state of several workers', () => {
  it('is ready when all are, and shows a worker with another configuration', () => {
    expect(combineStatus([worker(1, []), worker(2, [], 'old')], 'new')).toEqual({
      problems: [],
      configuration: {
        hash: 'new',
        problem: undefined,
        workers: [
          { worker: 1, pid: 1001, hash: 'new' },
          { worker: 2, pid: 1002, hash: 'old' },
        ],
      },
    });
  });

  it('says once what all workers say, and names those that say something else', () => {
    const store = "can't reach the store";
    const workers = [worker(1, [store, 'behind']), worker(2, [store]), worker(3, [store, 'behind'])];
    expect(combineStatus(workers, 'new').problems).toEqual([store, 'worker 1, 3: behind']);
  });

  it('is not ready while a worker starts or is silent', () => {
    const starting = { ...worker(2, undefined), isServing: false };
    expect(combineStatus([worker(1, undefined), starting], 'new').problems).toEqual([
      'worker 1: does not answer',
      'worker 2: is starting',
    ]);
  });

  it('has why a configuration was refused, and by whom, and what waits for a restart', () => {
    const refusing = (number: number, problem: string | undefined): WorkerStatus => ({
      ...worker(number, []),
      status: {
        problems: [],
        configuration: {
          hash: 'new',
          problem,
          pending: [{ setting: 'issuer', problem: number === 2 ? 'foreign' : undefined }, { setting: 'log' }],
        },
      },
    });
    const { problem, pending } = combineStatus(
      [refusing(1, undefined), refusing(2, 'broken')],
      'new',
    ).configuration;
    expect(problem).toBe('worker 2: broken');
    expect(pending).toEqual([{ setting: 'issuer', problem: 'foreign' }, { setting: 'log' }]);
    expect(combineStatus([refusing(1, 'broken'), refusing(2, 'broken')], 'new').configuration.problem).toBe(
      'broken',
    );
  });
});
