// Names the tests that passed only after a retry (`--retry`): in one or two files they mean a busy machine, in three a fault. One stall of
// a server fails several tests of its file.
import type { Reporter, TestModule } from 'vitest/node';

const TOO_MANY = 3;

export class RetriedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap(({ children, relativeModuleId: file }) =>
      [...children.allTests('passed')]
        .filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)
        .map(({ fullName }) => ({ file, line: `\n  ${file} > ${fullName}` })),
    );
    if (retried.length === 0) return;
    const isTooMany = new Set(retried.map(({ file }) => file)).size >= TOO_MANY;
    if (isTooMany) process.exitCode = 1;
    const verdict = isTooMany ? `, and ${TOO_MANY} or more files fail the run` : '';
    process.stdout.write(
      `Passed only when tried again${verdict}:${retried.map(({ line }) => line).join('')}\n`,
    );
  }
}
