// Reads that a request is known to need next, started at once: on Redis the engine would wait for each of them in turn. Decides
// nothing; a read that the engine doesn't ask for costs one command.
import type { Context } from 'koa';
import type { AdapterPayload } from 'oidc-provider';
import type { Accounts } from '../users/accounts.ts';
import { GRANT, type OnFound, type RecordStore } from '../store/store.ts';
import { cookieNames } from './cookie-names.ts';
import { CONSENT, consentKey } from './policies/remembered-consents.ts';
import { recordKey } from './record-key.ts';
import { createRecordPayload, type RecordParts } from './record-payload.ts';

export type ReadAheadParts = Pick<RecordParts, 'hash' | 'clock' | 'onDamaged'> & {
  readonly records: Pick<RecordStore, 'find'>;
  readonly accounts: Pick<Accounts, 'findLive'>;
};

/** A step of a sign-in names its interaction: the pages, and the engine's way back. */
const STEP = /^\/(?:interaction|oauth\/authorize)\/([\w-]+)/;

/** Starts what a step of a sign-in reads: the interaction in its path, and the session of the browser. */
export function createStepReadAhead(parts: ReadAheadParts, issuer: string): (ctx: Context) => void {
  const { records, hash } = parts;
  const { session: sessionCookie } = cookieNames(issuer);
  const readAhead = createReadAhead('Interaction', parts);
  return (ctx) => {
    const uid = STEP.exec(ctx.path)?.[1];
    if (uid === undefined) return;
    start(records.find('Interaction', recordKey(hash, 'Interaction', uid), readAhead(uid)));
    // The engine checks the signature before it believes the cookie.
    const session = ctx.cookies.get(sessionCookie, { signed: false });
    if (session !== undefined) start(records.find('Session', recordKey(hash, 'Session', session)));
  };
}

/** Starts what follows from a code, a token or an interaction: the person, what they allowed before, the grant. */
export function createReadAhead(model: string, parts: ReadAheadParts): (id: string) => OnFound {
  const { records, hash, accounts } = parts;
  const { payloadOf } = createRecordPayload(model, parts.clock, parts.onDamaged);
  return (id) => (record) => {
    const payload = payloadOf(record, id) ?? {};
    const accountId = personOf(payload);
    const clientId = payload.params?.['client_id'];
    if (accountId !== undefined) start(accounts.findLive(accountId));
    if (accountId !== undefined && typeof clientId === 'string') {
      start(records.find(CONSENT, consentKey(hash, accountId, clientId)));
    }
    const grantId = payload.result?.consent?.grantId ?? payload.grantId;
    if (grantId !== undefined) start(records.find(GRANT, recordKey(hash, GRANT, grantId)));
  };
}

/** Who has just signed in, else whose session it is, else whose token. */
function personOf({ result, session, accountId }: AdapterPayload): string | undefined {
  return result?.login?.accountId ?? session?.accountId ?? accountId;
}

/** The reader that needs it gets the failure. */
function start(read: Promise<unknown>): void {
  read.catch(() => undefined);
}
