// What the running service says of itself on its management listener, held against the file that was given.
import { localUrl } from '../config/listen-addresses.ts';
import type { Config } from '../config/config.ts';
import { Unanswered, type Ask } from './ask.ts';
import { orOk, problem, skipped, warning, type Finding } from './finding.ts';

/** `hash` is undefined when not every secret could be read: then the two can't be compared. */
export type Running = {
  readonly management: Pick<Config['management'], 'host' | 'port'>;
  readonly hash: string | undefined;
  readonly ask: Ask;
};

export async function checkRunning({ management, hash, ask }: Running): Promise<readonly Finding[]> {
  const url = `${localUrl(management)}/readyz`;
  const answer = await ask(url).catch((error: unknown) => {
    if (error instanceof Unanswered) return undefined;
    throw error;
  });
  if (answer === undefined)
    return [skipped('running', `${url} can not be reached from here: run the doctor beside the service`)];
  const { json } = answer;
  if (json === undefined || typeof json['status'] !== 'string')
    return [
      problem('management-wrong', `${url} is answered by something else`, 'See which program has that port.'),
    ];
  const findings: Finding[] = [];
  if (answer.status !== 200)
    findings.push(
      problem(
        'not-ready',
        `the service is not ready: ${listed(json['problems'])}`,
        "Read the service's log.",
      ),
    );
  findings.push(...judgeConfiguration(json['configuration'], hash));
  return orOk(findings, 'running', 'the service is ready, and runs this configuration');
}

function judgeConfiguration(configuration: unknown, hash: string | undefined): Finding[] {
  if (typeof configuration !== 'object' || configuration === null) return [];
  const {
    problem: broken,
    hash: running,
    workers,
    pending,
  } = configuration as Readonly<Record<string, unknown>>;
  if (typeof broken === 'string')
    return [
      problem(
        'configuration-refused',
        `the service goes on with its last good configuration: ${broken}`,
        'Repair the file (postern check); it is taken over by itself.',
      ),
    ];
  if (Array.isArray(workers) && workers.some((worker) => hashOf(worker) !== running))
    return [
      problem(
        'workers-differ',
        'not every process of the service runs the same configuration',
        'Look again in some seconds; if it stays so, read the log and restart the service.',
      ),
    ];
  const waiting = judgePending(pending);
  if (waiting.length > 0) return waiting;
  if (hash === undefined || typeof running !== 'string' || running === hash) return [];
  return [
    warning(
      'configuration-differs',
      'the service runs another configuration than this file',
      'Is this its file? A change is taken over within seconds; some need a restart (postern plan says which).',
    ),
  ];
}

function judgePending(pending: unknown): Finding[] {
  if (!Array.isArray(pending)) return [];
  return pending.map((one: Readonly<Record<string, unknown>>) =>
    typeof one['problem'] === 'string'
      ? problem(
          'restart-would-fail',
          `${String(one['setting'])} was changed, and the next start would be refused: ${one['problem']}`,
          'Put the old value back before anything restarts the service.',
        )
      : warning(
          'restart-pending',
          `${String(one['setting'])} was changed and takes effect at the next start`,
          'Restart the service when it suits.',
        ),
  );
}

function listed(problems: unknown): string {
  return Array.isArray(problems) ? problems.map(String).join('; ') : 'no reason given';
}

function hashOf(worker: unknown): unknown {
  return typeof worker === 'object' && worker !== null && 'hash' in worker ? worker.hash : undefined;
}
