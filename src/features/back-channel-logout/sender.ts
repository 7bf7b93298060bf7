// The outbox of logout tokens: a job for each session of an app that has ended. Whatever ends a session writes the jobs, and every
// process that serves sends them, so that no user waits for an app.
import { randomUUID } from 'node:crypto';
import type Provider from 'oidc-provider';
import type { Outcome } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import type { EndedSession } from '../../oidc/ended-sessions.ts';
import { OutgoingRefused } from '../../outgoing/guard.ts';
import { createJobs, createOutbox, type JobForm } from '../../store/outbox.ts';
import type { Store } from '../../store/store.ts';
import type { Job } from '../../oidc/job.ts';

/** Back-Channel Logout §2.4. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** The last try starts a little more than an hour after the first. */
const WAITS_MS = [5, 25, 60, 300, 900, 2700, 5].map((seconds) => seconds * 1000);
/** Reasons that may pass, so a retry is worthwhile. */
const PASSING = /^(?:connection|timeout|name|status_(?:408|429|5\d\d))$/;

const FORM: JobForm<EndedSession> = {
  collection: 'logouts',
  keyOf: ({ sid }) => sid,
  isJob: (form): form is typeof form & EndedSession =>
    [form['clientId'], form['accountId'], form['sid']].every((member) => typeof member === 'string'),
};

export const createLogoutJobs = ({ documents, clock }: Store) => createJobs(documents, clock.now, FORM);

const failure = (reason: string, detail: string) => ({ reason, detail, mayPass: PASSING.test(reason) });

export function createLogoutSender(app: App, provider: Provider): Job {
  const { clients, store, maySign, audit, log } = app;
  const jobs = createLogoutJobs(store);
  const uriOf = ({ clientId }: EndedSession) => clients.find(clientId)?.backchannelLogoutUri;
  const record = ({ clientId, accountId }: EndedSession, outcome: Outcome, reason?: string) =>
    audit.record('app_logout', outcome, { client_id: clientId, account_id: accountId, reason });

  const outbox = createOutbox(jobs, store.clock.now, {
    targetOf: ({ clientId }) => clientId,
    waitsMs: WAITS_MS,
    // Not while the signing keys may be out of date.
    mayRun: maySign,
    canRun: (job) => uriOf(job) !== undefined,
    async run(job) {
      try {
        const uri = uriOf(job);
        if (uri === undefined) return { reason: 'unknown_client', mayPass: false };
        const status = await send(app, uri, await sign(provider, job));
        // Back-Channel Logout §2.8: 200; frameworks send 204 for an answer without a body.
        return [200, 204].includes(status) ? 'done' : failure(`status_${status}`, `it answered ${status}`);
      } catch (error) {
        if (!(error instanceof OutgoingRefused)) throw error;
        return failure(error.reason, error.message);
      }
    },
    done: (job) => record(job, 'success'),
    failed(job, { reason, detail = reason }, isLast) {
      const fields = { clientId: job.clientId, tries: job.failures, reason: detail };
      if (!isLast) return log.warn(fields, 'could not notify an app of an ended session, will retry');
      log.warn(fields, 'gave up notifying an app of an ended session');
      record(job, 'failure', reason);
    },
    broke: (error) => log.error({ err: error }, 'a logout notification could not be sent'),
  });
  return {
    ...outbox,
    /** Resolves no values while the store is unavailable. */
    async snapshot() {
      const found = await jobs.list().catch(() => undefined);
      if (found === undefined) return [];
      const failed = found.filter(({ job }) => job.failures > 0).length;
      return [
        ['outgoing_calls', found.length - failed, { state: 'waiting' }],
        ['outgoing_calls', failed, { state: 'failed' }],
      ];
    },
  };
}

/** Signs a new logout token, valid for two minutes. */
async function sign(provider: Provider, { clientId, accountId, sid }: EndedSession): Promise<string> {
  const client = await provider.Client.find(clientId);
  const token = new provider.IdToken({ sub: accountId }, { client, ctx: undefined });
  Object.assign(token, { mask: { sub: null } });
  token.set('events', { [EVENT]: {} });
  token.set('jti', randomUUID());
  token.set('sid', sid);
  return token.issue({ use: 'logout' });
}

async function send({ outgoing }: App, uri: string, token: string): Promise<number> {
  const { status } = await outgoing.request(uri, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }).toString(),
    deadlineMs: 2000,
    maxBytes: 0,
    readsBody: () => false,
  });
  return status;
}
