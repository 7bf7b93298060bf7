// Saves and ends browser sessions. The engine saves a session at the end of every request, even one that began before the session
// ended, and gives it a new id at each sign-in, even in two tabs at once.
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import type { StoredRecord } from '../store/store.ts';
import { type AdapterParts, createAdapter } from './adapter.ts';
import { createRecordForm } from './record-payload.ts';
import { SESSION, toEnded } from './user-sessions.ts';

/** `oldId`: the session that this one follows. */
type SessionPayload = AdapterPayload & { readonly oldId?: string };

export function createSessionAdapter(parts: AdapterParts): Adapter {
  const { records, hash, userLists, clock } = parts;
  const base = createAdapter(SESSION, parts);
  const { keyOf, toRecord, payloadOf } = createRecordForm(SESSION, parts);
  // Within a request, it has already been read.
  const find = (id: string) => records.find(SESSION, keyOf(id));
  const read = (record: StoredRecord | undefined, id?: string) =>
    record?.consumedAt === undefined ? payloadOf(record, id) : undefined;

  return {
    ...base,
    find: async (id) => read(await find(id), id),
    findByUid: async (uid) => read(await records.findByAlias(SESSION, hash(`uid:${uid}`))),
    async upsert(id, { oldId, ...session }: SessionPayload, expiresIn) {
      const ttlSeconds = Number(expiresIn);
      // A session saved in its last second has no lifetime left.
      if (ttlSeconds <= 0) return base.upsert(id, session, ttlSeconds);
      // The engine also saves sessions without a user, at any caller's request. Nothing is read from them.
      // It also saves one for a request that only opens a page, for a secret that our forms don't use (seam/context.ts).
      const { ctx } = Provider;
      const isOnlyLooking = ctx?.state['formSecret'] !== undefined && ctx.method === 'GET';
      if (session.accountId === undefined || isOnlyLooking) return;
      const shown = { listed: session.loginTs, usedAt: Math.floor(clock.now() / 1000) };
      const payload = userLists === undefined ? session : { ...session, ...shown };
      if (payload.listed !== session.listed) await userLists?.addSession(session);
      // A session that isn't stored can't be followed.
      const old = oldId === undefined ? undefined : await find(oldId);
      await records.save({
        ...toRecord(id, payload, ttlSeconds),
        alias: hash(`uid:${payload.uid}`),
        follows: old?.key,
      });
      // The engine has already ended the old session; this passes its alias to the new one.
      if (old !== undefined) await records.save(toEnded({ ...old, alias: undefined }));
    },
    async destroy(id) {
      const session = await find(id);
      if (session !== undefined) await records.save(toEnded(session));
    },
  };
}
