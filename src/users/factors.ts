// What users have besides a password, of the file and of the store alike: one document a user, under their id.
import type { SignInSettings } from '../config/config.ts';
import type { Level } from '../config/sign-in-levels.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { changeDocument, type OnUnreadable, readDocuments, removeDocument } from '../store/documents.ts';
import { isWhole } from '../store/shape.ts';
import { FormFault, parseForm, type StoredForm, UnreadableForm } from '../store/form.ts';
import type { CollectionWrite, DocumentStore } from '../store/store.ts';
import { createAccountStates } from './account-state.ts';
import { inBatches } from './changed-credentials.ts';

const COLLECTION = 'factors';
/** Whose handle and whose credential it is. */
const OWNERS = 'factor-owners';
const WHAT = "a user's second factors";
/** The owner has this long to see that somebody else recovered their account. */
const PROVISIONAL_SECONDS = 24 * 60 * 60;

export type Passkey = Readonly<{
  /** Of the credential; base64url, as the COSE key. */
  id: string;
  publicKey: string;
  counter: number;
  transports: readonly string[];
  /** Backed up to other devices of the user. */
  synced: boolean;
  /** Whether it may ever be backed up: never changes (WebAuthn L3 §6.1.3). Undefined of one from before it was kept, until its next use. */
  backupEligible?: boolean | undefined;
  /** At its registration; each use says anew whether it did. */
  verifiesUser: boolean;
  aaguid: string;
  /** What the user calls it. */
  name: string;
  /** Epoch seconds, as all times here. */
  createdAt: number;
  /** Added after a recovery: by a recovery code, or in place of factors that an administrator removed. */
  recovered?: true | undefined;
  usedAt?: number | undefined;
  /** Its counter went back: there may be a copy of it, and it is refused from then on (WebAuthn L3 §6.1.1). */
  suspect?: true | undefined;
}>;

export type OneTimeCodes = Readonly<{
  /** The secret, by the vault. */
  sealed: string;
  /** Of the code that was accepted last (RFC 6238 §5.2). */
  lastStep: number;
  /** Of those before it, so that none works again after a clock was ahead and is right. */
  usedSteps?: readonly number[] | undefined;
  createdAt: number;
  /** Wrong codes in a row. */
  failures?: number | undefined;
  /** As of a passkey. */
  recovered?: true | undefined;
}>;

/** Of a second factor. */
export type Method = 'passkey' | 'one_time_code';

/** What the user reads on the next page. */
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
  /** Of the factor. */
  method?: 'passkey' | 'one_time_code' | undefined;
  /** Recovery codes. */
  left?: number | undefined;
  /** The session that did it, and those that have read it. */
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
  /** Grows whenever the sessions of other browsers end. */
  sessionsSince: number;
  /** When the user first signed in while everybody needed a second factor. */
  graceFrom?: number | undefined;
  notices: readonly Notice[];
}>;

export const NO_FACTORS: Factors = { passkeys: [], recoveryCodes: [], sessionsSince: 0, notices: [] };

/** Whether its method is on or off. Recovery codes only stand in for one. */
export const hasSecondFactor = ({ oneTimeCode, passkeys }: Factors): boolean =>
  oneTimeCode !== undefined || passkeys.length > 0;

/** Whether it proves no more than a recovery code does, at `at` (epoch seconds): it was added after a recovery, a short time ago. */
export const isProvisional = ({ recovered, createdAt }: Passkey | OneTimeCodes, at: number): boolean =>
  recovered === true && at - createdAt < PROVISIONAL_SECONDS;

/** Whether the user could reach this level at `at` (epoch seconds); Infinity: once no factor is provisional any more. */
export function canReach(signIn: SignInSettings, own: Factors, level: Level, at: number): boolean {
  const { oneTimeCodes = false, passkeys = false } = signIn ?? {};
  const usable = passkeys ? own.passkeys.filter(({ suspect }) => suspect !== true) : [];
  if (level === 'passkey') return usable.some((one) => one.verifiesUser && !isProvisional(one, at));
  if (level === 'second_factor') return usable.length > 0 || (oneTimeCodes && own.oneTimeCode !== undefined);
  return true;
}

/** Wrong codes don't count any more. */
export const forgiven = ({ oneTimeCode }: Pick<Factors, 'oneTimeCode'>): Pick<Factors, 'oneTimeCode'> => ({
  oneTimeCode: oneTimeCode && { ...oneTimeCode, failures: undefined },
});

/** A stored secret belongs to this user: under another id it doesn't open. */
export const sealedFor = (accountId: string) => `the one-time codes of ${accountId}`;

type Change = (before: Factors) => Partial<Factors> | undefined;

/** What the user has once `spends` is written. */
export type PreparedFactors = { readonly factors: Factors; readonly spends: CollectionWrite };

async function change(
  documents: Pick<DocumentStore, 'get' | 'put'>,
  accountId: string,
  to: Change,
  beforeWrite: (before: Factors, after: Factors) => Promise<void> = async () => {},
): Promise<Factors | undefined> {
  let next: Factors | undefined;
  await changeDocument(documents, { collection: COLLECTION, id: accountId, what: WHAT }, async (form) => {
    const before = toFactors(accountId, form);
    const changed = to(before);
    next = changed && { ...before, ...changed };
    if (next !== undefined) await beforeWrite(before, next);
    return next;
  });
  return next;
}

export type FactorStore = ReturnType<typeof createFactorStore>;

/** Every method throws StoreUnavailable: without an answer nobody is said to have none. */
export function createFactorStore(documents: DocumentStore, hash: KeyedHash) {
  const handleKey = (handle: string) => hash(`factor handle:${handle}`);
  const credentialKey = (credentialId: string) => hash(`factor credential:${credentialId}`);

  async function claim(key: string, accountId: string): Promise<boolean> {
    if (await documents.put(OWNERS, key, accountId, 0)) return true;
    return (await documents.get(OWNERS, key))?.value === accountId;
  }

  async function get(accountId: string): Promise<Factors> {
    const document = await documents.get(COLLECTION, accountId);
    return document === undefined ? NO_FACTORS : parseFactors(accountId, document.value);
  }

  const states = createAccountStates(documents);
  /** Resolves whether the account state said something else. */
  async function setMark(accountId: string, has: boolean): Promise<boolean> {
    const { hasFactors = false } = await states.get(accountId);
    if (hasFactors === has) return false;
    await states.update(accountId, { hasFactors: has || undefined });
    return true;
  }
  /** Makes the account state say what is stored here; what can't be read counts as a factor. */
  async function mark(accountId: string): Promise<void> {
    const isThere = () =>
      get(accountId).then(
        hasSecondFactor,
        (error: Error) => error instanceof FormFault || Promise.reject(error),
      );
    // Until nothing changed: another process may add or remove one meanwhile.
    while (await setMark(accountId, await isThere()));
  }

  /** Everybody of whom something is stored, by id. */
  const list = async (onFault?: OnUnreadable) =>
    readDocuments(await documents.list(COLLECTION), parseFactors, onFault);

  return {
    get,
    getAll: async (ids: readonly string[], onFault?: OnUnreadable) =>
      readDocuments(await documents.getAll(COLLECTION, ids), parseFactors, onFault),
    mark,
    /**
     * Resolves what the user has then, or undefined where the function wants no change. It is asked again where somebody else wrote
     * meanwhile.
     */
    async change(accountId: string, to: Change) {
      let had = false;
      const next = await change(documents, accountId, to, async (before, after) => {
        had = hasSecondFactor(before);
        // Before the first one is there: a process that is killed in between leaves nobody with a password alone.
        if (hasSecondFactor(after)) await setMark(accountId, true);
      });
      if (next !== undefined && had !== hasSecondFactor(next)) await mark(accountId);
      return next;
    },
    /** As `change` of what leaves the factors as many as they are, and leaves the write to the caller. */
    async prepare(accountId: string, to: Change): Promise<PreparedFactors | undefined> {
      let spends: CollectionWrite | undefined;
      const put = async (collection: string, id: string, value: string, expectedVersion: number) => {
        spends = { collection, id, value, expectedVersion };
        return true;
      };
      const factors = await change({ ...documents, put }, accountId, to);
      return factors && spends && { factors, spends };
    },
    /** The id of the user. */
    ownerOfHandle: async (handle: string) => (await documents.get(OWNERS, handleKey(handle)))?.value,
    /** False: it is somebody else's. */
    claimHandle: (handle: string, accountId: string) => claim(handleKey(handle), accountId),
    claimCredential: (credentialId: string, accountId: string) =>
      claim(credentialKey(credentialId), accountId),
    releaseCredential: (credentialId: string) =>
      removeDocument(documents, OWNERS, credentialKey(credentialId)),
    /** Everything of the user. */
    async remove(accountId: string): Promise<void> {
      const { handle, passkeys } = (await get(accountId).catch(orDamaged)) ?? NO_FACTORS;
      // Its owners last: a crash in between leaves names that lead to nothing.
      await removeDocument(documents, COLLECTION, accountId);
      const keys = passkeys.map(({ id }) => credentialKey(id));
      if (handle !== undefined) keys.push(handleKey(handle));
      for (const key of keys) await removeDocument(documents, OWNERS, key);
      await mark(accountId);
    },
    list,
  };
}

/** Where the marks are needed from now on, because `sign_in` is absent. An earlier version made none. */
export async function markAll(
  { list, mark }: Pick<FactorStore, 'list' | 'mark'>,
  onFault: (fault: FormFault) => void,
): Promise<void> {
  const ids: string[] = [];
  const all = await list((id, fault) => {
    ids.push(id);
    onFault(fault);
  });
  for (const [id, own] of all) if (hasSecondFactor(own)) ids.push(id);
  await inBatches(ids, mark, onFault);
}

const parseFactors = (id: string, text: string) =>
  toFactors(id, parseForm(text, WHAT, { collection: COLLECTION, id }));

function toFactors(id: string, { v: _version, ...form }: StoredForm): Factors {
  const own = { ...NO_FACTORS, ...form };
  if (!isWhole(own, ['passkeys', 'recoveryCodes', 'sessionsSince', 'notices']))
    throw new UnreadableForm(WHAT, { collection: COLLECTION, id }, 'a member is missing or of another type');
  return own;
}

/** Undefined for what is damaged; what only a newer version reads is not ours to remove. */
export function orDamaged(error: unknown): undefined {
  if (!(error instanceof UnreadableForm)) throw error;
}
