// The outbox of logout tokens: one document for each session of an app that has ended and whose app has to hear of it. The
// command line and the pages write them, every process that serves sends them (logout-sender.ts).
import type { Session } from 'oidc-provider';
import { FORM_VERSION, NewerForm, readForm } from '../store/form.ts';
import type { Clock, DocumentStore, StoredDocument } from '../store/store.ts';

const COLLECTION = 'logouts';

/** One session at one app. */
export type EndedSession = {
  readonly clientId: string;
  readonly accountId: string;
  /** As in the app's ID tokens. Names the session there, and is no credential. */
  readonly sid: string;
};

export type LogoutJob = EndedSession & {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Nobody sends it before: a try has begun a moment ago. */
  readonly notBefore: number;
  /** Tries that have begun. One that succeeds removes the job. */
  readonly failures: number;
};

export type FoundJob = { readonly job: LogoutJob; readonly version: number };

/** What the apps of a session have to hear when it ends. `logoutClients`: the clients that want to (logoutClientsOf). */
export function endedSessionsOf(
  { accountId, authorizations = {} }: Pick<Session, 'accountId' | 'authorizations'>,
  logoutClients: ReadonlySet<string>,
): readonly EndedSession[] {
  return Object.entries(authorizations).flatMap(([clientId, { sid }]) =>
    accountId === undefined || sid === undefined || !logoutClients.has(clientId)
      ? []
      : [{ clientId, accountId, sid }],
  );
}

export type LogoutJobs = ReturnType<typeof createLogoutJobs>;

export function createLogoutJobs(documents: DocumentStore, now: Clock) {
  const write = (job: LogoutJob, version: number) =>
    documents.put(COLLECTION, job.sid, JSON.stringify({ ...job, v: FORM_VERSION }), version);

  return {
    /** Resolves once they are stored. One that is there already stays as it is. */
    async add(ended: readonly EndedSession[]): Promise<void> {
      const since = now();
      await Promise.all(ended.map((one) => write({ ...one, since, notBefore: since, failures: 0 }, 0)));
    },
    list: async () => (await documents.list(COLLECTION)).flatMap(parse),
    /** Undefined: somebody else was first. */
    async change({ job, version }: FoundJob, to: Partial<LogoutJob>): Promise<FoundJob | undefined> {
      const changed = { ...job, ...to };
      return (await write(changed, version)) ? { job: changed, version: version + 1 } : undefined;
    },
    /** False: somebody else was first. */
    remove: ({ job, version }: FoundJob) => documents.remove(COLLECTION, job.sid, version),
  };
}

/** What is damaged, or of a form that only a newer version knows, keeps nothing else waiting. */
function parse({ value, version }: StoredDocument): readonly FoundJob[] {
  try {
    const form = readForm(value, 'a logout');
    return form === undefined ? [] : [{ job: form as unknown as LogoutJob, version }];
  } catch (error) {
    if (error instanceof NewerForm) return [];
    throw error;
  }
}
