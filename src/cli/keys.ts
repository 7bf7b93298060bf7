// Shared by the verbs of `postern keys`: they work on the configured store directly, so that they do the same with
// and without a running service. Also the output format of keys and times.
import type { Config } from '../config/config.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { keyStoreFor } from '../keys/open-keys.ts';
import type { Ring } from '../keys/ring.ts';
import { KEYS_COLLECTION, PEPPER_ID, RING_ID } from '../keys/ring-document.ts';
import { scheduleOf, type KeySchedule } from '../keys/schedule.ts';
import { createVault, type Vault } from '../keys/vault.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import { readConfig, type VerbOptions } from './configuration.ts';
import { CommandError } from './io.ts';

export type KeysContext = {
  readonly config: Config;
  readonly documents: DocumentStore;
  readonly vault: Vault;
  readonly keyStore: KeyStore;
  readonly now: Clock;
};

const NO_KEYS = 'there are no signing keys yet: the first start of the service makes them';

/** Throws CommandError before the first start, which creates the ring. `anyIssuer`: also on a store of another issuer. */
export async function withKeys(
  { config: file }: VerbOptions,
  use: (context: KeysContext) => Promise<void>,
  { anyIssuer = false } = {},
): Promise<void> {
  const config = await readConfig(file);
  if (!(await isStoreMade(config.store))) throw new CommandError(NO_KEYS);
  await withStore(config.store, async (store) => {
    const { documents } = store;
    const { now } = store.clock;
    await assertStarted(documents);
    const vault = createVault(config.encryptionKeys);
    const keyStore = keyStoreFor({ ...config, issuer: anyIssuer ? undefined : config.issuer }, store);
    await use({ config, documents, vault, keyStore, now });
  });
}

async function assertStarted(documents: DocumentStore): Promise<void> {
  const found = await Promise.all([RING_ID, PEPPER_ID].map((id) => documents.get(KEYS_COLLECTION, id)));
  if (found.every((document) => document === undefined)) {
    throw new CommandError(NO_KEYS);
  }
}

/** A key as the verbs report it; ISO times. */
export type KeyReport = {
  readonly kid: string;
  readonly state: KeySchedule['state'];
  readonly published_at: string;
  readonly activate_at?: string | undefined;
  readonly retire_at?: string | undefined;
  readonly remove_at?: string | undefined;
  readonly compromised_at?: string | undefined;
  readonly next?: { readonly state: KeySchedule['state']; readonly at: string } | undefined;
};

export function reportKeys(ring: Ring, now: number, { timing }: KeyStore): readonly KeyReport[] {
  return scheduleOf(ring, now, timing).map(reportKey);
}

function reportKey({ key, state, next }: KeySchedule): KeyReport {
  return {
    kid: key.kid,
    state,
    published_at: toIso(key.publishedAt),
    activate_at: maybeIso(key.activateAt),
    // The schedule no longer applies to a compromised key.
    retire_at: maybeIso(state === 'compromised' ? undefined : key.retireAt),
    remove_at: maybeIso(state === 'compromised' ? undefined : key.removeAt),
    compromised_at: maybeIso(key.compromisedAt),
    next: next && { state: next.state, at: toIso(next.at) },
  };
}

export function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function maybeIso(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : toIso(milliseconds);
}
