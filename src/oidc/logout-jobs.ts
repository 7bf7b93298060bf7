// The jobs of the outbox of logout tokens: one for each session of an app that has ended and whose app has to hear of it. The
// command line and the pages write them, every process that serves sends them (logout-sender.ts).
import type { Session } from 'oidc-provider';
import type { Snapshot } from '../observability/metrics.ts';
import { createJobs, type JobForm } from '../store/outbox.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

/** One session at one app. */
export type EndedSession = Readonly<{
  clientId: string;
  accountId: string;
  /** As in the app's ID tokens. Names the session there, and is no credential. */
  sid: string;
}>;

const FORM: JobForm<EndedSession> = {
  collection: 'logouts',
  keyOf: ({ sid }) => sid,
  isJob: (form): form is typeof form & EndedSession =>
    [form['clientId'], form['accountId'], form['sid']].every((member) => typeof member === 'string'),
};

/** What the apps of a session have to hear when it ends. `logoutClients`: the clients that want to (logoutClientsOf). */
export function endedSessionsOf(
  { accountId, authorizations = {} }: Pick<Session, 'accountId' | 'authorizations'>,
  logoutClients: ReadonlyMap<string, string>,
): readonly EndedSession[] {
  return Object.entries(authorizations).flatMap(([clientId, { sid }]) =>
    accountId === undefined || sid === undefined || !logoutClients.has(clientId)
      ? []
      : [{ clientId, accountId, sid }],
  );
}

export type LogoutJobs = ReturnType<typeof createLogoutJobs>;

export function createLogoutJobs(documents: DocumentStore, now: Clock) {
  const jobs = createJobs(documents, now, FORM);
  return {
    ...jobs,
    /** For the metrics. Nothing while the store can't be asked. */
    async snapshot(): Promise<Snapshot> {
      const found = await jobs.list().catch(() => undefined);
      const failed = found?.filter(({ job }) => job.failures > 0).length ?? 0;
      return found === undefined
        ? []
        : [
            ['outgoing_calls', found.length - failed, { state: 'waiting' }],
            ['outgoing_calls', failed, { state: 'failed' }],
          ];
    },
  };
}
