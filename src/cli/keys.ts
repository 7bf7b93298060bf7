// `postern keys …`. The verbs work on the configured store directly, so that they do the same with and without a running
// service.
import type { Command } from 'commander';
import { familyOf } from '../keys/families.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { type KeyConfig, keyStoreFor } from '../keys/open-keys.ts';
import { activeKey, type Ring, stateOf } from '../keys/ring.ts';
import { compromiseKey, rotateByHand, runDueSteps } from '../keys/ring-actions.ts';
import { KEYS_COLLECTION, PEPPER_ID, RING_ID } from '../keys/ring-document.ts';
import { Vault } from '../keys/vault.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import { addVerb, readService, type VerbOptions } from './configuration.ts';
import { type CliIo, CommandError, print, renderValue } from './io.ts';

/** What a verb found or did, for programs and for users. */
type Outcome = { readonly value: unknown; readonly text: string };

export function registerKeys(program: Command, io: CliIo): void {
  const keys = program.command('keys').description('manage signing keys');
  const run = (options: VerbOptions, verb: (context: KeysContext) => Promise<Outcome>) =>
    withKeys(options, async (context) => print(io, options, await verb(context)));
  addVerb(keys, 'list', 'list signing keys with their states and next state changes').action(
    (options: VerbOptions) => run(options, list),
  );
  addVerb(keys, 'rotate', 'schedule the next signing key').action((options: VerbOptions) =>
    run(options, rotate),
  );
  addVerb(keys, 'compromise', 'revoke a leaked signing key')
    .argument('<kid>', 'key ID from "keys list"')
    .action((kid: string, options: VerbOptions) => run(options, (context) => compromise(context, kid)));
}

async function list({ config, keyStore, now }: KeysContext): Promise<Outcome> {
  const ring = await keyStore.load();
  const keys = reportKeys(ring, now());
  const { kekId } = new Vault(config.encryptionKeys);
  return { value: { generation: ring.generation, encryption_key: kekId, keys }, text: toTable(keys) };
}

const toTable = (keys: readonly KeyReport[]) =>
  renderValue(
    keys.map(({ kid, alg, state, next }) => ({ kid, alg, state, next: next?.state, at: next?.at })),
  );

async function rotate({ keyStore, now }: KeysContext): Promise<Outcome> {
  const before = await keyStore.load();
  // First, because what it schedules is no longer due afterwards.
  const appointed = await rotateByHand(keyStore, now);
  const ring = await runDueSteps(keyStore, now, appointed);
  const changed = ring.generation !== before.generation;
  const keys = reportKeys(ring, now());
  return {
    value: { changed, generation: ring.generation, keys },
    text: `${changed ? '' : 'Nothing to change.\n'}${toTable(keys)}`,
  };
}

/** The reserve key signs instead. */
async function compromise({ keyStore, now }: KeysContext, kid: string): Promise<Outcome> {
  const before = await keyStore.load();
  const ring = await compromiseKey(keyStore, kid, now);
  const { generation } = ring;
  const changed = generation !== before.generation;
  const alg = ring.keys.find((key) => key.kid === kid)?.alg ?? 'RS256';
  const active = activeKey(familyOf(ring, alg), now())?.kid;
  const cachedUntil = toIso(now() + keyStore.timing.cache * 1000);
  const keys = reportKeys(ring, now());
  return {
    value: { kid, changed, active, verifier_caches_end: cachedUntil, generation, keys },
    text: changed
      ? `Revoked ${kid}. Within 5 seconds, every node signs with ${active ?? 'no key'} and rejects tokens signed with ${kid}. ` +
        `APIs that verify tokens offline may accept them until their cached key set expires, at the latest ${cachedUntil}.\n`
      : `${kid} was already revoked.\n`,
  };
}

type KeysContext = Readonly<{
  config: KeyConfig;
  keyStore: KeyStore;
  now: Clock;
}>;

const NO_KEYS = 'there are no signing keys yet: start the service once to create them';

/** Throws CommandError before the first start, which creates the ring. `anyIssuer`: also on a store of another issuer. */
export async function withKeys(
  { config: file }: VerbOptions,
  use: (context: KeysContext) => Promise<void>,
  { anyIssuer = false } = {},
): Promise<void> {
  const config = await readService(file, process);
  if (!isStoreMade(config.store)) throw new CommandError(NO_KEYS);
  await withStore(config.store, async (store) => {
    const { documents } = store;
    const { now } = store.clock;
    await assertStarted(documents);
    const keyStore = keyStoreFor({ ...config, issuer: anyIssuer ? undefined : config.issuer }, store);
    await use({ config, keyStore, now });
  });
}

async function assertStarted(documents: DocumentStore): Promise<void> {
  const found = await Promise.all([RING_ID, PEPPER_ID].map((id) => documents.get(KEYS_COLLECTION, id)));
  if (found.every((document) => document === undefined)) throw new CommandError(NO_KEYS);
}

/** A key as the verbs report it; ISO times. */
export type KeyReport = ReturnType<typeof reportKeys>[number];

function reportKeys({ keys }: Ring, now: number) {
  return keys.map((key) => {
    const { kid, alg, publishedAt, activateAt, compromisedAt } = key;
    // What was appointed no longer applies to a compromised key.
    const { retireAt, removeAt } = compromisedAt === undefined ? key : {};
    const appointed = { active: activateAt, retired: retireAt, removed: removeAt };
    const next = Object.entries(appointed).find(([, at]) => at !== undefined && at > now);
    return {
      kid,
      alg,
      state: stateOf(key, now),
      published_at: toIso(publishedAt),
      activate_at: toIso(activateAt),
      retire_at: toIso(retireAt),
      remove_at: toIso(removeAt),
      compromised_at: toIso(compromisedAt),
      next: next && { state: next[0], at: toIso(next[1]) },
    };
  });
}

const toIso = (milliseconds: number | undefined) =>
  milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
