// What a user allowed an app, beyond the session: one record that expires for each user and app, none for a client by document. It survives
// a sign-out, and ends with a token of the app that is revoked, and with all sessions of the user.
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

  /** Undefined also when all sessions of the user have ended since. */
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
    /** Adds to the remembered consent and restarts its lifetime. `issued`: the sign-in in which the user consented. */
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
