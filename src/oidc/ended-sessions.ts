// Collects the sessions at apps that end, in a request or by a change to a user, for the apps that must be notified.
import type { Context, Next } from 'koa';
import type { Session } from 'oidc-provider';

export type EndedSession = Readonly<{
  clientId: string;
  accountId: string;
  /** From the app's ID tokens. Identifies the session there, and is no credential. */
  sid: string;
}>;

/** Receives the ended sessions of some clients. */
export type SessionEnds = Readonly<{
  clientIds: ReadonlySet<string>;
  add: (ended: readonly EndedSession[]) => Promise<void>;
}>;

type Ending = Pick<Session, 'accountId' | 'authorizations'>;

const toEach = ({ accountId, authorizations = {} }: Ending): readonly EndedSession[] =>
  Object.entries(authorizations).flatMap(([clientId, { sid }]) =>
    accountId === undefined || sid === undefined ? [] : [{ clientId, accountId, sid }],
  );

export type EndedSessions = ReturnType<typeof createEndedSessions>;

export function createEndedSessions(ends: SessionEnds | undefined) {
  const clientIds: ReadonlySet<string> = ends?.clientIds ?? new Set();
  const noted = new WeakMap<object, readonly EndedSession[]>();

  const addAll = async (ended: readonly EndedSession[]) =>
    ends?.add(ended.filter(({ clientId }) => clientIds.has(clientId)));

  return {
    clientIds,
    add: async (ending: Ending) => addAll(toEach(ending)),
    note: (ctx: object, ending: Ending) =>
      void noted.set(ctx, [...(noted.get(ctx) ?? []), ...toEach(ending)]),
    /** Adds the noted sessions before the end of the session itself is saved, so that none is lost. */
    queue: async (ctx: Context, next: Next): Promise<void> => {
      await next();
      await addAll(noted.get(ctx) ?? []);
    },
  };
}
