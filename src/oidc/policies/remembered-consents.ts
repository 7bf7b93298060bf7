// What a user allowed an app, kept beyond the session: one record for each user and app, with an end, and none for a client by document. A
// sign-out leaves it, so that the next sign-in doesn't ask again; revoking a token of the app withdraws it, and so does whatever ends
// everything of a user (disabling, sign-out everywhere), also of the sign-in that it was given in.
import { isUrlClient } from '../../config/client-id-url.ts';
import type { Accounts, Issued } from '../../users/accounts.ts';
import { createReadRecord, FORM_VERSION, type StoredForm } from '../../store/form.ts';
import type { RecordStore } from '../../store/store.ts';
import type { RecordParts } from '../record-payload.ts';
import { type AskedFor, joinAsked } from './asked-for.ts';

const CONSENT = 'Consent';

type ConsentForm = StoredForm & AskedFor & Pick<Issued, 'at' | 'generation'>;

type ConsentParts = RecordParts & Readonly<{ findLive: Accounts['findLive']; records: RecordStore }>;

/** `lifetimeSeconds`: 0 remembers nothing. */
export function createRememberedConsents(parts: ConsentParts, lifetimeSeconds: number) {
  const { records, hash, clock, onDamaged, findLive } = parts;
  const read = createReadRecord(onDamaged, CONSENT, 'scopes resourceScopes at');
  const keyOf = (accountId: string, clientId: string) => hash(`consent:${accountId}\n${clientId}`);

  /** Undefined also when everything of the user has ended since. */
  async function find(accountId: string, clientId: string): Promise<ConsentForm | undefined> {
    if (lifetimeSeconds === 0 || isUrlClient(clientId)) return undefined;
    const record = await records.find(CONSENT, keyOf(accountId, clientId));
    const form = record && (read(record) as ConsentForm | undefined);
    if (form === undefined) return undefined;
    const { generation } = form;
    const account = await findLive(accountId, { generation });
    return account && form;
  }

  return {
    find,
    /** Adds to what is remembered, and begins its time anew. `issued`: the sign-in that it was given in. */
    async add(accountId: string, clientId: string, consent: AskedFor, issued: Issued): Promise<void> {
      if (lifetimeSeconds === 0 || isUrlClient(clientId)) return;
      const form = await find(accountId, clientId);
      const { generation, at } = issued;
      const given = {
        ...joinAsked(form === undefined ? [consent] : [form, consent]),
        generation,
        at: at + clock.ahead,
      };
      await records.save({
        kind: CONSENT,
        key: keyOf(accountId, clientId),
        payload: JSON.stringify({ ...form, ...given, v: FORM_VERSION }),
        ttlSeconds: lifetimeSeconds,
      });
    },
    async withdraw(accountId: string, clientId: string): Promise<void> {
      await records.destroy(CONSENT, keyOf(accountId, clientId));
    },
  };
}
