// A code, a token or an interaction leads the engine to a grant, to a person and to what they allowed before: those are asked
// for at once, where the engine would ask for one after the other. Decides nothing: what it would not have asked for costs a
// look-up.
import type { AdapterPayload } from 'oidc-provider';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { RequestRecords } from '../store/request-records.ts';
import { recordKey } from './record-key.ts';
import { CONSENT, consentKey } from './policies/remembered-consents.ts';

export type ExpectationParts = {
  readonly records: Pick<RequestRecords, 'readAhead'>;
  readonly hash: KeyedHash;
  /** Told of the person of a record that a request has found: what is known of them will be asked for. */
  readonly expectPerson: (accountId: string) => void;
};

export function createExpectation({ records, hash, expectPerson }: ExpectationParts) {
  return function expectMore(payload: AdapterPayload | undefined): void {
    if (payload === undefined) return;
    const { result, grantId, params } = payload;
    const accountId = personOf(payload);
    if (accountId !== undefined) expectPerson(accountId);
    const clientId = params?.['client_id'];
    if (accountId !== undefined && typeof clientId === 'string') {
      records.readAhead(CONSENT, consentKey(hash, accountId, clientId));
    }
    const grant = result?.consent?.grantId ?? grantId;
    if (grant !== undefined) {
      const key = recordKey(hash, 'Grant', grant);
      records.readAhead('Grant', key, { grant: key });
    }
  };
}

/** Whoever has just signed in, else whose session it is, else whose token. */
function personOf({ result, session, accountId }: AdapterPayload): string | undefined {
  return result?.login?.accountId ?? session?.accountId ?? accountId;
}
