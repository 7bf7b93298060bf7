// Sends the logout tokens that wait in the outbox (logout-jobs.ts), in every process that serves: apart from the requests that end a
// session, so that nobody waits for an app.
import type { Audit, Outcome } from '../observability/audit.ts';
import type { Log } from '../observability/log.ts';
import { type Outgoing, OutgoingRefused } from '../outgoing/guard.ts';
import { type Clock, StoreUnavailable } from '../store/store.ts';
import type { FoundJob, LogoutJob, LogoutJobs } from './logout-jobs.ts';
import type { Logouts } from './logouts.ts';

/** How often the outbox is looked into. */
const POLL_MS = 1000;
/**
 * From the start of each try to the next one, each longer than a call takes: until then a job belongs to one process. The last try
 * starts less than two minutes after the first.
 */
const WAITS_MS = [5000, 25_000, 60_000, 5000] as const;
const LONGEST_WAIT_MS = Math.max(...WAITS_MS);
/** What nobody could send until then (the app left the file) is given up. */
const GIVE_UP_AFTER_MS = 24 * 60 * 60 * 1000;
/** At one app. One that hangs keeps no other waiting. */
const AT_ONCE = 4;
/** The rest waits for the next look: hundreds of handshakes at once hold up requests, and each other past their time. */
const APPS_AT_ONCE = 50;
/** It may be better in a moment. */
const PASSING = /^(?:connection|timeout|name|status_5\d\d)$/;

/** What signs and sends: another one after each reload. */
export type LogoutApps = Pick<Logouts, 'areUsed' | 'uriOf' | 'sign'> & { readonly outgoing: Outgoing };

type LogoutSenderParts = {
  readonly jobs: LogoutJobs;
  readonly now: Clock;
  /** False: the keys may be out of date. */
  readonly maySign: () => boolean;
  readonly audit: Audit;
  readonly log: Log;
};

/** Also what waits for longer than anything does: the clock was set back since. */
const isDue = ({ notBefore }: LogoutJob, now: number) =>
  notBefore <= now || notBefore > now + LONGEST_WAIT_MS;

/** `reason`: for the audit trail; `detail`: for the log. */
type Failure = { readonly reason: string; readonly detail?: string };

export type LogoutSender = ReturnType<typeof createLogoutSender>;

export function createLogoutSender({ jobs, now, maySign, audit, log }: LogoutSenderParts) {
  let apps: LogoutApps | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  const sending = new Map<string, Promise<void>>();

  async function look(): Promise<void> {
    const due = (await jobs.list()).filter(({ job }) => isDue(job, now()));
    for (const [clientId, ofClient] of Map.groupBy(due, ({ job }) => job.clientId)) {
      if (sending.has(clientId) || sending.size >= APPS_AT_ONCE) continue;
      const all = sendAll(ofClient).finally(() => sending.delete(clientId));
      sending.set(clientId, all);
    }
  }

  async function sendAll(found: readonly FoundJob[]): Promise<void> {
    const left = found.values();
    const lane = async () => {
      for (const one of left) if (timer !== undefined) await attempt(() => send(one));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }

  async function send(found: FoundJob): Promise<void> {
    const { clientId, since } = found.job;
    const uri = apps?.uriOf(clientId);
    // Another process may know the app.
    if (apps === undefined || !maySign() || (uri === undefined && now() - since < GIVE_UP_AFTER_MS)) return;
    const wait = WAITS_MS[found.job.failures];
    // Each of them ended a process, or ended with it.
    if (wait === undefined) return fail(found, { reason: 'cut_off' });
    // Counted before it is sent, so that a job that ends the process has no more tries than any other.
    const claimed = await jobs.change(found, { notBefore: now() + wait, failures: found.job.failures + 1 });
    if (claimed === undefined) return;
    const failure = uri === undefined ? { reason: 'unknown_client' } : await call(apps, uri, claimed.job);
    if (failure !== undefined) return fail(claimed, failure);
    await jobs.remove(claimed);
    record(claimed.job, 'success');
  }

  async function fail(found: FoundJob, { reason, detail = reason }: Failure): Promise<void> {
    const { clientId, failures: tries } = found.job;
    const fields = { clientId, tries, reason: detail };
    if (PASSING.test(reason) && tries < WAITS_MS.length)
      return log.warn(fields, 'an app could not be notified yet that a session has ended');
    if (!(await jobs.remove(found))) return;
    log.warn(fields, "an app was not notified that a session has ended, and won't be");
    record(found.job, 'failure', reason);
  }

  const record = ({ clientId, accountId }: LogoutJob, outcome: Outcome, reason?: string) =>
    audit.record('app_logout', outcome, { client_id: clientId, account_id: accountId, reason });

  /** An outage is reported by who watches the store, and nothing is lost by it. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'a logout could not be sent');
    }
  }

  const poll = () => {
    looking ??= attempt(look).finally(() => (looking = undefined));
  };

  return {
    /** From now on, for these apps. Asks the store for nothing while none is used. */
    use(next: LogoutApps): void {
      apps = next;
      clearInterval(timer);
      timer = next.areUsed ? setInterval(poll, POLL_MS).unref() : undefined;
    },
    /** Resolves when no call is under way. */
    async stop(): Promise<void> {
      clearInterval(timer);
      timer = undefined;
      await looking;
      await Promise.all(sending.values());
    },
  };
}

/** Undefined: the app has taken it. */
async function call(
  { outgoing, sign }: LogoutApps,
  uri: string,
  job: LogoutJob,
): Promise<Failure | undefined> {
  try {
    const status = await outgoing.post(uri, { logout_token: await sign(job) });
    // Back-Channel Logout §2.8: 200; frameworks make 204 of an answer without a body.
    if (status === 200 || status === 204) return undefined;
    return { reason: `status_${status}`, detail: `it answered ${status}` };
  } catch (error) {
    if (!(error instanceof OutgoingRefused)) throw error;
    return { reason: error.reason, detail: error.message };
  }
}
