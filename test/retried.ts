// Names the tests that passed only after a retry (`--retry`): a few mean a busy machine, three mean a fault.
import type { Reporter, TestModule } from 'vitest/node';

const TOO_MANY = 3;

export class RetriedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap(({ children, relativeModuleId }) =>
      [...children.allTests('passed')]
        .filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)
        .map(({ fullName }) => `\n  ${relativeModuleId} > ${fullName}`),
    );
    if (retried.length === 0) return;
    const isTooMany = retried.length >= TOO_MANY;
    if (isTooMany) process.exitCode = 1;
    const verdict = isTooMany ? `, and ${TOO_MANY} or more fail the run` : '';
    process.stdout.write(`Passed only when tried again${verdict}:${retried.join('')}\n`);
  }
}
