// Combines the status of several workers into one answer.
import type { PendingSetting, Status, WorkerConfig } from '../http/management.ts';

export type WorkerStatus = Pick<WorkerConfig, 'worker' | 'pid'> & {
  /** Undefined when it didn't answer. */
  readonly status: Status | undefined;
  readonly isServing: boolean;
};

/** Ready when all workers are. A problem that all of them have is listed once, without a worker. `hash` is what they should run. */
export function combineStatus(workers: readonly WorkerStatus[], hash: string): Status {
  const problems = merge(
    workers.map(({ worker, status, isServing }) => [
      worker,
      status?.problems ?? [isServing ? 'does not answer' : 'is starting'],
    ]),
  );
  const configurations = workers.flatMap(({ worker, status }) =>
    status === undefined ? [] : [{ worker, ...status.configuration }],
  );
  const refusals = merge(
    configurations.map(({ worker, problem }) => [worker, problem === undefined ? [] : [problem]]),
  );
  const pending = new Map<string, PendingSetting>();
  for (const one of configurations.flatMap((configuration) => configuration.pending ?? [])) {
    if (one.problem !== undefined || !pending.has(one.setting)) pending.set(one.setting, one);
  }
  return {
    problems,
    configuration: {
      hash,
      problem: refusals.length === 0 ? undefined : refusals.join('\n'),
      ...(pending.size > 0 && { pending: [...pending.values()] }),
      workers: workers.map(({ worker, pid, status }) => ({ worker, pid, hash: status?.configuration.hash })),
    },
  };
}

/** Each line once, with the workers that have it unless all do. */
function merge(said: readonly (readonly [worker: number, lines: readonly string[]])[]): string[] {
  const sayers = new Map<string, number[]>();
  for (const [worker, lines] of said) {
    for (const line of lines) sayers.set(line, [...(sayers.get(line) ?? []), worker]);
  }
  return [...sayers].map(([line, workers]) =>
    workers.length === said.length ? line : `worker ${workers.join(', ')}: ${line}`,
  );
}
