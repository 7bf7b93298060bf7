// What stands in a record of the engine: its payload without the bearer value, ending by the clock of the store. Owns both ways of
// the translation.
import type { AdapterPayload } from 'oidc-provider';
import { FORM_VERSION, parseForm } from '../store/form.ts';
import type { StoreClock, StoredRecord } from '../store/store.ts';

/** Stands for the record's own id inside its stored payload. Raw, as JSON never has it: nobody can send it. */
const OWN_ID = '\u0001';

export type RecordPayload = {
  readonly toText: (id: string, payload: AdapterPayload) => string;
  /** With the id back in its places where the caller knows it; a session found by its uid stays without. */
  readonly payloadOf: (record: StoredRecord, id: string | undefined) => AdapterPayload;
};

/** Members that a newer version added are handed on; one of a form that only a newer version knows throws NewerForm. */
export function createRecordPayload(model: string, clock: StoreClock): RecordPayload {
  return {
    toText(id, payload) {
      const stored = { v: FORM_VERSION, ...withoutBearerValues(endingIn(payload, clock.ahead)) };
      // The id may stand elsewhere too: an interaction's `returnTo` ends with it. Ids are base64url, so JSON leaves them as they are.
      return JSON.stringify(stored).replaceAll(id, OWN_ID);
    },
    payloadOf(record, id) {
      const text = id === undefined ? record.payload : record.payload.replaceAll(OWN_ID, id);
      const { v: _version, ...stored } = parseForm(text, `a record of the kind ${model}`);
      return {
        ...endingIn(stored, -clock.ahead),
        ...(id !== undefined && { jti: id }),
        ...(record.consumedAt !== undefined && { consumed: record.consumedAt }),
      };
    },
  };
}

function withoutBearerValues(payload: AdapterPayload): AdapterPayload {
  const { jti: _bearer, session, ...rest } = payload as AdapterPayload & { session?: { cookie?: string } };
  return { ...rest, ...(session && { session: { ...session, cookie: undefined } }) };
}

/** The engine ends it by the clock of its machine: on another one, whose clock is off, a code would be dead or live on (RD-28). */
function endingIn(payload: AdapterPayload, ahead: number): AdapterPayload {
  return ahead === 0 || payload.exp === undefined ? payload : { ...payload, exp: payload.exp + ahead };
}
