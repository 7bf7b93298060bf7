// How a browser's session is saved and ended. The engine saves it at the end of every request, also of one that began before it
// ended, and gives it a new id when somebody signs in, also in two tabs at once.
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import type { StoredRecord } from '../store/store.ts';
import { type AdapterParts, createAdapter } from './adapter.ts';
import { createRecordForm } from './record-payload.ts';
import { SESSION, toEnded } from './user-sessions.ts';

/** `oldId`: the session that this one follows. `listed`: the sign-in (`loginTs`) that the user's list has. `usedAt`: now, in seconds. */
type SessionPayload = AdapterPayload & {
  readonly oldId?: string;
  readonly listed?: number;
  readonly usedAt?: number;
};

export function createSessionAdapter(parts: AdapterParts): Adapter {
  const { records, hash, lists, clock } = parts;
  const base = createAdapter(SESSION, parts);
  const { keyOf, toRecord, payloadOf } = createRecordForm(SESSION, parts);
  // In a request it has been read before.
  const find = (id: string) => records.find(SESSION, keyOf(id));
  const read = (record: StoredRecord | undefined, id?: string) =>
    record?.consumedAt === undefined ? payloadOf(record, id) : undefined;

  return {
    ...base,
    find: async (id) => read(await find(id), id),
    findByUid: async (uid) => read(await records.findByAlias(SESSION, hash(`uid:${uid}`))),
    async upsert(id, { oldId, ...session }: SessionPayload, expiresIn) {
      const ttlSeconds = Number(expiresIn);
      // Saved in its last second, it has nothing left to live for.
      if (ttlSeconds <= 0) return base.upsert(id, session, ttlSeconds);
      // The engine also saves sessions to which no user has signed in, at a stranger's request. Nothing is read from them.
      // It also saves one that only opens a page, for a secret that its forms don't use (seam/context.ts).
      const { ctx } = Provider;
      const isOnlyLooking = ctx?.state['formSecret'] !== undefined && ctx.method === 'GET';
      if (session.accountId === undefined || isOnlyLooking) return;
      const shown = { listed: session.loginTs, usedAt: Math.floor(clock.now() / 1000) };
      const payload = lists === undefined ? session : { ...session, ...shown };
      if (payload.listed !== session.listed) await lists?.addSession(session);
      // What isn't stored can't be followed.
      const old = oldId === undefined ? undefined : await find(oldId);
      await records.save({
        ...toRecord(id, payload, ttlSeconds),
        alias: hash(`uid:${payload.uid}`),
        follows: old?.key,
      });
      // The engine has ended it already; now it leaves its alias to the new one.
      if (old !== undefined) await records.save(toEnded({ ...old, alias: undefined }));
    },
    async destroy(id) {
      const session = await find(id);
      if (session !== undefined) await records.save(toEnded(session));
    },
  };
}
