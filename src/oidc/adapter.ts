// The engine's adapter to the store, within the unit of work of a request. It names records by keyed hash, and only one request can
// use a code or a refresh token.
import { type Adapter, errors } from 'oidc-provider';
import { GRANT } from '../store/store.ts';
import type { UnitOfWork } from '../store/unit-of-work.ts';
import type { UserLists } from './user-lists.ts';
import { createRecordForm, recordKey, type RecordParts } from './record-payload.ts';

export type AdapterParts = RecordParts & {
  readonly records: UnitOfWork;
  /** Undefined when nothing reads the lists (user-lists.ts). */
  readonly userLists?: UserLists | undefined;
};

/** Rejects because another request finished the interaction or resumed with its result. */
export const interactionGone = () =>
  Promise.reject(new errors.SessionNotFound('interaction session not found'));

/** The adapter throws NewerForm for a record whose form only a newer version knows. */
export function createAdapter(model: string, parts: AdapterParts): Adapter {
  const { records, hash, tombstoneSeconds, userLists } = parts;
  const { keyOf, toRecord, payloadOf } = createRecordForm(model, parts);
  const revokeGrant = (grantId: string) =>
    records.revokeGrant(recordKey(hash, GRANT, grantId), tombstoneSeconds);

  async function revokeGrantOf(id: string): Promise<void> {
    const record = await records.find(model, keyOf(id));
    if (record?.grant !== undefined) await records.revokeGrant(record.grant, tombstoneSeconds);
  }

  return {
    async upsert(id, payload, expiresIn) {
      // An interaction saved in its last second has no lifetime left.
      if (expiresIn !== undefined && expiresIn <= 0) return void (await records.destroy(model, keyOf(id)));
      if (model === GRANT) await userLists?.addGrant(keyOf(id), payload, expiresIn ?? 0);
      // The engine gives every model here a lifetime; the store refuses a record without one.
      await records.save(toRecord(id, payload, expiresIn ?? Number.NaN));
      // 'grant_revoked' is not an error: everything from a replayed code or token is already revoked.
      return undefined;
    },

    find: async (id) => payloadOf(await records.find(model, keyOf(id)), id),
    // session-records.ts finds sessions.
    findByUid: () => Promise.resolve(undefined),
    findByUserCode: () => Promise.resolve(undefined),

    async consume(id) {
      await records.use(model, keyOf(id), async (result) => {
        // RFC 6749 §4.1.2, RFC 9700 §4.14.2: a second use signals an attack, whether late or in parallel. So the loser of the race
        // revokes the grant just as a later replay does, and the result doesn't depend on timing.
        if (result === 'already_consumed') await revokeGrantOf(id);
        throw new errors.InvalidGrant('already used');
      });
    },

    async destroy(id) {
      if (model === GRANT) return revokeGrant(id);
      // The engine destroys an interaction to resume with its result, and a parallel resume must not get a code too. If the outcome
      // can't be saved, the browser can retry the same URL.
      if (model === 'Interaction')
        return void (await records.use(model, keyOf(id), interactionGone, { destroys: true, isLock: true }));
      // Only a revocation destroys records of other models, and it revokes the grant. The tombstone is written first: after an outage
      // in between, no token of the grant stays valid that a repeated revocation could no longer find.
      await revokeGrantOf(id);
      return void (await records.destroy(model, keyOf(id)));
    },

    revokeByGrantId: revokeGrant,
  };
}
