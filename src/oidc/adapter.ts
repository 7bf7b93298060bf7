// The engine's adapter over the store, in the unit of work of a request: keyed hashes for names, one winner for a code or a
// refresh token. What stands in a record is record-payload.ts.
import { type Adapter, errors } from 'oidc-provider';
import { GRANT } from '../store/store.ts';
import type { UnitOfWork } from '../store/unit-of-work.ts';
import type { UserLists } from './user-lists.ts';
import { createRecordForm, recordKey, type RecordParts } from './record-payload.ts';

export type AdapterParts = RecordParts & {
  readonly records: UnitOfWork;
  /** Undefined where nobody asks for what a user has. */
  readonly lists?: UserLists | undefined;
};

/** Another one finished it, or went on with its result. */
export const interactionGone = () =>
  Promise.reject(new errors.SessionNotFound('interaction session not found'));

/** A record of a form that only a newer version knows throws NewerForm. */
export function createAdapter(model: string, parts: AdapterParts): Adapter {
  const { records, hash, tombstoneSeconds, lists } = parts;
  const { keyOf, toRecord, payloadOf } = createRecordForm(model, parts);
  const revokeGrant = (grantId: string) =>
    records.revokeGrant(recordKey(hash, GRANT, grantId), tombstoneSeconds);

  async function revokeGrantOf(id: string): Promise<void> {
    const record = await records.find(model, keyOf(id));
    if (record?.grant !== undefined) await records.revokeGrant(record.grant, tombstoneSeconds);
  }

  return {
    async upsert(id, payload, expiresIn) {
      // An interaction saved in its last second has nothing left to live for.
      if (expiresIn !== undefined && expiresIn <= 0) return void (await records.destroy(model, keyOf(id)));
      if (model === GRANT) await lists?.addGrant(keyOf(id), payload, expiresIn ?? 0);
      // The engine gives every model here a lifetime; without one the store refuses.
      await records.save(toRecord(id, payload, expiresIn ?? Number.NaN));
      // 'grant_revoked' is not an error: a replayed code or token leads to what is dead already.
      return undefined;
    },

    find: async (id) => payloadOf(await records.find(model, keyOf(id)), id),
    // Sessions are found by session-records.ts.
    findByUid: () => Promise.resolve(undefined),
    findByUserCode: () => Promise.resolve(undefined),

    async consume(id) {
      await records.use(model, keyOf(id), async (result) => {
        // RFC 6749 §4.1.2, RFC 9700 §4.14.2: a second use is an attack signal whether it comes late or in parallel, so
        // the loser of the race ends the family just as a later replay does: one result, never one by timing.
        if (result === 'already_consumed') await revokeGrantOf(id);
        throw new errors.InvalidGrant('already used');
      });
    },

    async destroy(id) {
      if (model === GRANT) return revokeGrant(id);
      // The engine ends an interaction to go on with its result: a second one at the same time would get a code too. Where what comes
      // of it can't be saved, the browser goes on with the same address.
      if (model === 'Interaction')
        return void (await records.use(model, keyOf(id), interactionGone, { destroys: true, isLock: true }));
      // Only a revocation destroys one of the others, and it ends the grant: the tombstone first, so that an outage in between
      // leaves nothing of the family alive that a repeat would no longer find.
      await revokeGrantOf(id);
      return void (await records.destroy(model, keyOf(id)));
    },

    revokeByGrantId: revokeGrant,
  };
}
