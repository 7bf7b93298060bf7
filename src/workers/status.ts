// What several processes say of themselves, as one answer. Owns how their problems are told apart.
import type { ConfigStatus, PendingSetting, Status } from '../http/management.ts';

export type WorkerStatus = {
  readonly worker: number;
  readonly pid: number | undefined;
  /** Undefined: it could not say. */
  readonly status: Status | undefined;
  /** Whether it could have been asked: it serves. */
  readonly isServing: boolean;
};

/** Ready when all workers are. What all of them say stands once, without a name. */
export function combineStatus(workers: readonly WorkerStatus[], configuration: ConfigStatus): Status {
  const whoSays = new Map<string, number[]>();
  for (const { worker, status, isServing } of workers) {
    const silent = isServing ? 'does not answer' : 'is starting';
    for (const problem of status?.problems ?? [silent]) {
      whoSays.set(problem, [...(whoSays.get(problem) ?? []), worker]);
    }
  }
  return {
    problems: [...whoSays].map(([problem, said]) =>
      said.length === workers.length ? problem : `worker ${said.join(', ')}: ${problem}`,
    ),
    configuration: {
      ...configuration,
      ...(configuration.pending && { pending: configuration.pending.map((one) => judged(one, workers)) }),
      workers: workers.map(({ worker, pid, status }) => ({ worker, pid, hash: status?.configuration.hash })),
    },
  };
}

/** With why the start would fail, which the workers know. */
function judged({ setting }: PendingSetting, workers: readonly WorkerStatus[]): PendingSetting {
  const said = workers.flatMap(({ status }) => status?.configuration.pending ?? []);
  return said.find((one) => one.setting === setting && one.problem !== undefined) ?? { setting };
}
