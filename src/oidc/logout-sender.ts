// Sends the logout tokens that wait in the outbox (logout-jobs.ts), in every process that serves: apart from the requests that end a
// session, so that nobody waits for an app.
import type { Audit, Outcome } from '../observability/audit.ts';
import type { Log } from '../observability/log.ts';
import { OutgoingRefused } from '../outgoing/guard.ts';
import { createOutbox } from '../store/outbox.ts';
import type { Clock } from '../store/store.ts';
import type { EndedSession, LogoutJobs } from './logout-jobs.ts';
import type { Logouts } from './logouts.ts';

/** The last try starts a little more than an hour after the first. */
const WAITS_MS = [5, 25, 60, 300, 900, 2700, 5].map((seconds) => seconds * 1000);
/** It may be better in a moment. */
const PASSING = /^(?:connection|timeout|name|status_(?:408|429|5\d\d))$/;

type LogoutSenderParts = Readonly<{
  jobs: LogoutJobs;
  now: Clock;
  /** False: the keys may be out of date. */
  maySign: () => boolean;
  audit: Audit;
  log: Log;
}>;

const failure = (reason: string, detail: string) => ({ reason, detail, mayPass: PASSING.test(reason) });

export function createLogoutSender({ jobs, now, maySign, audit, log }: LogoutSenderParts) {
  /** Another one after each reload. */
  let apps: Logouts | undefined;
  const record = ({ clientId, accountId }: EndedSession, outcome: Outcome, reason?: string) =>
    audit.record('app_logout', outcome, { client_id: clientId, account_id: accountId, reason });

  const outbox = createOutbox(jobs, now, {
    targetOf: ({ clientId }) => clientId,
    waitsMs: WAITS_MS,
    mayRun: maySign,
    canRun: ({ clientId }) => apps?.mustHear(clientId) === true,
    async run(job) {
      try {
        const status = await apps?.send(job);
        if (status === undefined) return { reason: 'unknown_client', mayPass: false };
        // Back-Channel Logout §2.8: 200; frameworks make 204 of an answer without a body.
        return [200, 204].includes(status) ? 'done' : failure(`status_${status}`, `it answered ${status}`);
      } catch (error) {
        if (!(error instanceof OutgoingRefused)) throw error;
        return failure(error.reason, error.message);
      }
    },
    done: (job) => record(job, 'success'),
    failed(job, { reason, detail = reason }, isLast) {
      const fields = { clientId: job.clientId, tries: job.failures, reason: detail };
      if (!isLast) return log.warn(fields, 'an app could not be notified yet that a session has ended');
      log.warn(fields, "an app was not notified that a session has ended, and won't be");
      record(job, 'failure', reason);
    },
    broke: (error) => log.error({ err: error }, 'a logout could not be sent'),
  });

  return {
    /** From now on, for these apps. Asks the store for nothing while none is used. */
    use(next: Logouts): void {
      apps = next;
      if (next.areUsed) outbox.start();
      else void outbox.stop();
    },
    /** Resolves when no call is under way. */
    stop: () => outbox.stop(),
  };
}
