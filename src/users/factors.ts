// What users can sign in with besides a password, for users in the file and of the store: one document for each user, under their id.
import type { SignInSettings } from '../config/config.ts';
import type { Level } from '../config/sign-in-levels.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import {
  changeDocument,
  type OnUnreadable,
  readMembers,
  readDocuments,
  removeDocument,
} from '../store/documents.ts';
import { isWhole } from '../store/shape.ts';
import { FormFault, parseForm, type StoredForm, UnreadableForm } from '../store/form.ts';
import type { CollectionWrite, DocumentStore } from '../store/store.ts';
import { createAccountStates } from './account-state.ts';
import { inBatches, type OnFault } from '../store/in-batches.ts';

const COLLECTION = 'factors';
/** Maps handles and credentials to their users. */
const OWNERS = 'factor-owners';
const WHAT = "a user's second factors";
/** The time in which the owner can notice that an attacker recovered the account. */
const PROVISIONAL_SECONDS = 24 * 60 * 60;

export type Passkey = Readonly<{
  /** The credential ID. It is base64url, like the COSE key. */
  id: string;
  publicKey: string;
  counter: number;
  transports: readonly string[];
  /** Whether it is backed up to other devices of the user. */
  synced: boolean;
  /** Whether it can ever be backed up, which never changes (WebAuthn L3 §6.1.3). Undefined for older passkeys until their next use. */
  backupEligible?: boolean | undefined;
  /** Whether it verified the user at registration. Each use reports this anew. */
  verifiesUser: boolean;
  aaguid: string;
  name: string;
  /** Epoch seconds, like all times here. */
  createdAt: number;
  /** Added after a recovery: by a recovery code, or in place of factors that an administrator removed. */
  recovered?: true | undefined;
  usedAt?: number | undefined;
  /** Its counter went back, so it may have been copied. It is rejected from then on (WebAuthn L3 §6.1.1). */
  suspect?: true | undefined;
}>;

export type OneTimeCodes = Readonly<{
  /** The secret, sealed by the vault. */
  sealed: string;
  /** The time step of the code that was last accepted (RFC 6238 §5.2). */
  lastStep: number;
  /** The steps of the codes before it, so that none works again after a clock that was ahead is corrected. */
  usedSteps?: readonly number[] | undefined;
  createdAt: number;
  /** Wrong codes in a row. */
  failures?: number | undefined;
  recovered?: true | undefined;
}>;

export type Method = 'passkey' | 'one_time_code';

/** A notice that the user sees on the next page. */
export type Notice = Readonly<{
  what:
    | 'recovery_code_used'
    | 'codes_failed'
    | 'passkey_refused'
    | 'factor_added'
    | 'factor_removed'
    | 'authenticator_replaced'
    | 'recovery_codes_made';
  at: number;
  method?: Method | undefined;
  /** The number of recovery codes left. */
  left?: number | undefined;
  /** The session that caused it, and the sessions that have read it. */
  by?: string | undefined;
  readBy?: readonly string[] | undefined;
}>;

export type Factors = Readonly<{
  /** The `user.id` of the user's passkeys: random, and not their `sub` (WebAuthn L3 §14.6.1). */
  handle?: string | undefined;
  oneTimeCode?: OneTimeCodes | undefined;
  passkeys: readonly Passkey[];
  /** Keyed hashes. */
  recoveryCodes: readonly string[];
  /** Increases whenever the sessions of other browsers end. */
  sessionsSince: number;
  /** When the user first signed in while every user needed a second factor. */
  graceFrom?: number | undefined;
  notices: readonly Notice[];
}>;

export const NO_FACTORS: Factors = { passkeys: [], recoveryCodes: [], sessionsSince: 0, notices: [] };

/** True even if the method of the factor is off. Recovery codes aren't a factor: they only replace one. */
export const hasSecondFactor = ({ oneTimeCode, passkeys }: Factors) =>
  oneTimeCode !== undefined || passkeys.length > 0;

/** Whether a factor proves no more than a recovery code at `at` (epoch seconds), because it was added shortly after a recovery. */
export const isProvisional = ({ recovered, createdAt }: Passkey | OneTimeCodes, at: number) =>
  recovered === true && at - createdAt < PROVISIONAL_SECONDS;

/** Whether the user could reach this level at `at` (epoch seconds). Infinity: when no factor is provisional any more. */
export function canReach(signIn: SignInSettings, own: Factors, level: Level, at: number): boolean {
  const { oneTimeCodes = false, passkeys = false } = signIn ?? {};
  const usable = passkeys ? own.passkeys.filter(({ suspect }) => suspect !== true) : [];
  if (level === 'passkey') return usable.some((one) => one.verifiesUser && !isProvisional(one, at));
  if (level === 'second_factor') return usable.length > 0 || (oneTimeCodes && own.oneTimeCode !== undefined);
  return true;
}

/** Clears the count of wrong codes. */
export const forgiven = ({ oneTimeCode }: Pick<Factors, 'oneTimeCode'>): Pick<Factors, 'oneTimeCode'> => ({
  oneTimeCode: oneTimeCode && { ...oneTimeCode, failures: undefined },
});

/** Binds a stored secret to this user: it can't be opened under another id. */
export const sealedFor = (accountId: string) => `the one-time codes of ${accountId}`;

type Change = (before: Factors) => Partial<Factors> | undefined;

/** The factors of the user once `spends` is written. */
export type PreparedFactors = Readonly<{ factors: Factors; spends: CollectionWrite }>;

async function change(
  documents: Pick<DocumentStore, 'get' | 'put'>,
  accountId: string,
  to: Change,
  beforeWrite: (before: Factors, after: Factors) => Promise<void> = async () => {},
): Promise<Factors | undefined> {
  let next: Factors | undefined;
  await changeDocument(documents, nameOf(accountId), async (form) => {
    const before = toFactors(accountId, form);
    const changed = to(before);
    next = changed && { ...before, ...changed };
    if (next !== undefined) await beforeWrite(before, next);
    return next;
  });
  return next;
}

export type FactorStore = ReturnType<typeof createFactorStore>;

/** Every method throws StoreUnavailable: an outage must not mean that a user has no factors. */
export function createFactorStore(documents: DocumentStore, hash: KeyedHash) {
  const handleKey = (handle: string) => hash(`factor handle:${handle}`);
  const credentialKey = (credentialId: string) => hash(`factor credential:${credentialId}`);

  async function claim(key: string, accountId: string): Promise<boolean> {
    if (await documents.put(OWNERS, key, accountId, 0)) return true;
    return (await documents.get(OWNERS, key))?.value === accountId;
  }

  const get = async (accountId: string) =>
    toFactors(accountId, await readMembers(documents, nameOf(accountId)));

  const states = createAccountStates(documents);
  /** Marks the account state. Resolves whether the mark changed. */
  async function setMark(accountId: string, has: boolean): Promise<boolean> {
    const { hasFactors = false } = await states.get(accountId);
    if (hasFactors === has) return false;
    await states.update(accountId, { hasFactors: has || undefined });
    return true;
  }
  /** Updates the mark of the account state to the stored factors. A document that can't be read counts as a factor. */
  async function mark(accountId: string): Promise<void> {
    const isThere = () =>
      get(accountId).then(
        hasSecondFactor,
        (error: Error) => error instanceof FormFault || Promise.reject(error),
      );
    // Repeats until nothing changed, because another process may add or remove a factor in the meantime.
    while (await setMark(accountId, await isThere()));
  }

  const list = async (onFault?: OnUnreadable) =>
    readDocuments(await documents.list(COLLECTION), parseFactors, onFault);

  return {
    get,
    getAll: async (ids: readonly string[], onFault?: OnUnreadable) =>
      readDocuments(await documents.getAll(COLLECTION, ids), parseFactors, onFault),
    mark,
    /**
     * Resolves the new factors, or undefined if the function wants no change. The function is called again if another process wrote in
     * the meantime.
     */
    async change(accountId: string, to: Change) {
      let had = false;
      const next = await change(documents, accountId, to, async (before, after) => {
        had = hasSecondFactor(before);
        // Marked before the first factor is stored: if the process is killed in between, no password alone is enough.
        if (hasSecondFactor(after)) await setMark(accountId, true);
      });
      if (next !== undefined && had !== hasSecondFactor(next)) await mark(accountId);
      return next;
    },
    /** As `change`, for a change that keeps the number of factors. Leaves the write to the caller. */
    async prepare(accountId: string, to: Change): Promise<PreparedFactors | undefined> {
      let spends: CollectionWrite | undefined;
      const put = async (collection: string, id: string, value: string, expectedVersion: number) => {
        spends = { collection, id, value, expectedVersion };
        return true;
      };
      const factors = await change({ ...documents, put }, accountId, to);
      return factors && spends && { factors, spends };
    },
    ownerOfHandle: async (handle: string) => (await documents.get(OWNERS, handleKey(handle)))?.value,
    /** Resolves false if it belongs to another user. */
    claimHandle: (handle: string, accountId: string) => claim(handleKey(handle), accountId),
    claimCredential: (credentialId: string, accountId: string) =>
      claim(credentialKey(credentialId), accountId),
    releaseCredential: (credentialId: string) =>
      removeDocument(documents, OWNERS, credentialKey(credentialId)),
    async remove(accountId: string): Promise<void> {
      const { handle, passkeys } = (await get(accountId).catch(orDamaged)) ?? NO_FACTORS;
      // Owners are removed last: a crash in between leaves handles and credentials that lead to nothing.
      await removeDocument(documents, COLLECTION, accountId);
      const keys = passkeys.map(({ id }) => credentialKey(id));
      if (handle !== undefined) keys.push(handleKey(handle));
      for (const key of keys) await removeDocument(documents, OWNERS, key);
      await mark(accountId);
    },
    list,
  };
}

/** Sets the marks of all users, which are needed once `sign_in` is absent. An earlier version set none. */
export async function markAll(
  { list, mark }: Pick<FactorStore, 'list' | 'mark'>,
  onFault: OnFault,
): Promise<void> {
  const ids: string[] = [];
  const all = await list((id, fault) => {
    ids.push(id);
    onFault(fault);
  });
  for (const [id, own] of all) if (hasSecondFactor(own)) ids.push(id);
  await inBatches(ids, mark, onFault);
}

const nameOf = (id: string) => ({ collection: COLLECTION, id, what: WHAT });
const parseFactors = (id: string, text: string) => toFactors(id, parseForm(text, WHAT, nameOf(id)));

function toFactors(id: string, { v: _version, ...form }: StoredForm): Factors {
  const own = { ...NO_FACTORS, ...form };
  if (!isWhole(own, ['passkeys', 'recoveryCodes', 'sessionsSince', 'notices']))
    throw new UnreadableForm(WHAT, nameOf(id), 'a member is missing or of another type');
  return own;
}

/** Returns undefined for a damaged document. Throws other errors: a document of a newer version must not be removed. */
export function orDamaged(error: unknown): undefined {
  if (!(error instanceof UnreadableForm)) throw error;
}
