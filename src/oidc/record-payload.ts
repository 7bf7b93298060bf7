// The stored form of the engine's records: without the bearer value, and with times by the clock of the store.
import type { AdapterPayload } from 'oidc-provider';
import { createReadRecord, FORM_VERSION, type OnDamaged } from '../store/form.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { GRANT, type NewRecord, type StoreClock, type StoredRecord } from '../store/store.ts';
import { modelOf } from './models.ts';

/** The keyed hash of a model's name and the record's id, so that the store holds no bearer value. */
export const recordKey = (hash: KeyedHash, model: string, id: string) => hash(`${model}:${id}`);

/** Replaces the record's own id inside an interaction, form 2. No request can inject it: it is escaped in what was sent. */
const OWN_ID = '\u007F';
/** The same in form 1, which wasn't JSON. */
const OWN_ID_BEFORE = '\u0001';

export type RecordParts = Readonly<{
  hash: KeyedHash;
  clock: StoreClock;
  onDamaged: OnDamaged;
  /** Seconds that a revoked grant is remembered: longer than any of its tokens lives. */
  tombstoneSeconds: number;
}>;

/** `payloadOf` passes on members of a newer version, and throws NewerForm for a form that only a newer version knows. */
export function createRecordForm(model: string, { hash, clock, onDamaged }: RecordParts) {
  const { traits, needs = 'clientId accountId grantId' } = modelOf(model);
  const newest = model === 'Interaction' ? 2 : FORM_VERSION;
  const read = createReadRecord(onDamaged, model, `iat exp ${needs}`, newest);
  const keyOf = (id: string) => recordKey(hash, model, id);

  function grantOf(id: string, { grantId }: AdapterPayload): string | undefined {
    if (model === GRANT) return keyOf(id);
    return grantId !== undefined && traits.includes('grantable')
      ? recordKey(hash, GRANT, grantId)
      : undefined;
  }

  function toRecord(id: string, payload: AdapterPayload, ttlSeconds: number): NewRecord {
    const stored = { v: newest, ...withoutBearerValues(moved(payload, clock.ahead)) };
    // Other members may contain the id: an interaction's `returnTo` ends with it. Ids are base64url, so JSON doesn't escape them.
    const text = JSON.stringify(stored).replaceAll(OWN_ID, '\\u007f').replaceAll(id, OWN_ID);
    return {
      kind: model,
      key: keyOf(id),
      payload: text,
      ttlSeconds,
      grant: grantOf(id, payload),
      // If it were lost, revoking it couldn't revoke the access token of the same answer (RFC 7009 §2.2).
      isAwaited: traits.includes('awaited'),
    };
  }

  /** Restores the id if the caller knows it (not for a session found by its uid). Undefined when the record is damaged. */
  function payloadOf(record: StoredRecord | undefined, id?: string): AdapterPayload | undefined {
    if (record === undefined) return undefined;
    const mark = record.payload.includes(OWN_ID_BEFORE) ? OWN_ID_BEFORE : OWN_ID;
    const text = id === undefined ? record.payload : record.payload.replaceAll(mark, id);
    const form = read(record, text);
    if (form === undefined) return undefined;
    const { v: _version, ...stored } = form;
    return {
      ...moved(stored, -clock.ahead),
      ...(id !== undefined && { jti: id }),
      ...(record.consumedAt !== undefined && { consumed: record.consumedAt }),
    };
  }

  return { keyOf, toRecord, payloadOf };
}

function withoutBearerValues(payload: AdapterPayload): AdapterPayload {
  const { jti: _bearer, session, ...rest } = payload as AdapterPayload & { session?: { cookie?: string } };
  return { ...rest, ...(session && { session: { ...session, cookie: undefined } }) };
}

type Members = Readonly<Record<string, unknown>>;

/** Members in epoch seconds by the clock of the reading machine, also within an interaction's result and in claims. */
const TIMES = new Set(['iat', 'exp', 'iiat', 'authTime', 'auth_time', 'loginTs', 'listed', 'ts']);
const WITHIN = new Set(['result', 'login', 'extra']);

/**
 * Converts times between clocks. The engine uses the clock of its machine: on another one whose clock is off, a code would expire
 * too early or too late, and a sign-in would seem newer than a later end of all sessions.
 */
function moved<T extends Members>(payload: T, seconds: number): T {
  if (seconds === 0) return payload;
  const move = ([name, value]: [string, unknown]) => {
    if (TIMES.has(name) && typeof value === 'number') return [name, value + seconds];
    if (WITHIN.has(name) && typeof value === 'object' && value !== null) {
      return [name, moved(value as Members, seconds)];
    }
    return [name, value];
  };
  return Object.fromEntries(Object.entries(payload).map(move)) as T;
}
