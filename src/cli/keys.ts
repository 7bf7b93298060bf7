// `postern keys …`. The verbs work on the configured store directly, so that they behave the same with and without a
// running service.
import type { Command } from 'commander';
import { familyOf } from '../keys/families.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { type KeyConfig, keyStoreFor } from '../keys/open-keys.ts';
import { activeKey, type Ring, stateOf } from '../keys/ring.ts';
import { compromiseKey, rotateByHand, runDueSteps } from '../keys/ring-actions.ts';
import { KEYS_COLLECTION, PEPPER_ID, RING_ID } from '../keys/ring-document.ts';
import { Vault } from '../keys/vault.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { DocumentStore } from '../store/store.ts';
import { confirm, yesOption, type YesOption } from './terminal.ts';
import { addVerb, readService, type VerbOptions } from './configuration.ts';
import { type CliIo, CommandError, print } from './io.ts';
import { addListOptions, type ListOptions, printList } from './table.ts';

export function registerKeys(program: Command, io: CliIo): void {
  const keys = program.command('keys').description('manage signing keys');
  addListOptions(addVerb(keys, 'list', 'list signing keys with their states and next state changes')).action(
    (options: KeysOptions) => withKeys(options, io, (context) => list(context, options, io)),
  );
  addListOptions(addVerb(keys, 'rotate', 'schedule the next signing key')).action((options: KeysOptions) =>
    withKeys(options, io, (context) => rotate(context, options, io)),
  );
  addVerb(keys, 'compromise', 'revoke a leaked signing key')
    .argument('<kid>', 'key ID from "keys list", or its first characters')
    .addOption(yesOption())
    .action((typed: string, options: VerbOptions & YesOption) =>
      withKeys(options, io, async (context) => {
        const ring = await context.keyStore.load();
        const kids = [...ring.keys, ...ring.gone].map((one) => one.kid);
        const kid = findKid(kids, typed);
        if (!kids.includes(kid))
          throw new CommandError(`there is no key ${JSON.stringify(kid)}: see "postern keys list"`);
        await confirm(io, options, `Revoke ${kid} and every token that it signed?`);
        print(io, options, await compromise(context, await context.keyStore.load(), kid));
      }),
    );
}

type KeysOptions = VerbOptions & ListOptions;

async function list({ config, keyStore }: KeysContext, options: KeysOptions, io: CliIo): Promise<void> {
  const { kekId } = new Vault(config.encryptionKeys);
  const report = reportRing(await keyStore.load(), keyStore.now());
  await printKeys(io, options, { encryption_key: kekId, ...report });
}

type Report = ReturnType<typeof reportRing> & Readonly<Record<string, unknown>>;

function printKeys(io: CliIo, options: KeysOptions, json: Report): Promise<void> {
  return printList(io, options, {
    json,
    rows: json.keys.map(({ next, ...key }) => ({ ...key, next: next?.state, at: next?.at })),
    columns: [
      'kid',
      'alg',
      { key: 'state', colours: { active: 'green', compromised: 'red' } },
      'next',
      { key: 'at', isTime: true },
    ],
    wide: ['published_at', 'activate_at', 'retire_at', 'remove_at', 'compromised_at'],
  });
}

async function rotate({ keyStore }: KeysContext, options: KeysOptions, io: CliIo): Promise<void> {
  const before = await keyStore.load();
  // First, because a step that it schedules is no longer due afterwards.
  const ring = await runDueSteps(keyStore, await rotateByHand(keyStore));
  const changed = ring.generation !== before.generation;
  if (!changed && options.json !== true) io.stderr.write('Nothing to change.\n');
  await printKeys(io, options, { changed, ...reportRing(ring, keyStore.now()) });
}

// A shorter one is a mistake: an empty shell variable must not revoke a key.
const SHORTEST_PREFIX = 4;

/** Returns the key ID that starts with `typed`. Throws CommandError for several. */
export function findKid(kids: readonly string[], typed: string): string {
  if (kids.includes(typed) || typed.length < SHORTEST_PREFIX) return typed;
  const found = kids.filter((kid) => kid.startsWith(typed));
  if (found.length < 2) return found[0] ?? typed;
  throw new CommandError(`key ID ${JSON.stringify(typed)} is ambiguous: ${found.join(', ')}`);
}

/** Revokes a key. The reserve key signs instead. */
async function compromise({ keyStore }: KeysContext, before: Ring, kid: string) {
  const ring = await compromiseKey(keyStore, kid);
  const changed = ring.generation !== before.generation;
  const alg = ring.keys.find((key) => key.kid === kid)?.alg ?? 'RS256';
  const { now, timing } = keyStore.moment;
  const active = activeKey(familyOf(ring, alg), now)?.kid;
  const cachedUntil = toIso(now + timing.cache * 1000);
  return {
    value: { kid, changed, active, verifier_caches_end: cachedUntil, ...reportRing(ring, now) },
    text: changed
      ? `Revoked ${kid}. Within 5 seconds, every node signs with ${active ?? 'no key'} and rejects tokens signed with ${kid}. ` +
        `APIs that verify tokens offline may accept them until their cached key set expires, at the latest ${cachedUntil}.`
      : `${kid} was already revoked.`,
  };
}

type KeysContext = Readonly<{ config: KeyConfig; keyStore: KeyStore }>;

const NO_KEYS = 'there are no signing keys yet: start the service once to create them';

/** Throws CommandError before the first start, which creates the ring. `anyIssuer`: also accepts a store of another issuer. */
export async function withKeys(
  { config: file, anyIssuer = false }: VerbOptions & { readonly anyIssuer?: boolean },
  io: CliIo,
  use: (context: KeysContext) => Promise<void>,
): Promise<void> {
  const config = await readService(file, io);
  if (!isStoreMade(config.store)) throw new CommandError(NO_KEYS);
  await withStore(config.store, async (store) => {
    await assertStarted(store.documents);
    const keyStore = keyStoreFor({ ...config, issuer: anyIssuer ? undefined : config.issuer }, store);
    await use({ config, keyStore });
  });
}

async function assertStarted(documents: DocumentStore): Promise<void> {
  const found = await Promise.all([RING_ID, PEPPER_ID].map((id) => documents.get(KEYS_COLLECTION, id)));
  if (found.every((document) => document === undefined)) throw new CommandError(NO_KEYS);
}

const reportRing = ({ generation, keys }: Ring, now: number) => ({
  generation,
  keys: keys.map((key) => reportKey(key, now)),
});

/** A key as the verbs report it; ISO times. */
export type KeyReport = ReturnType<typeof reportKey>;

function reportKey(key: Ring['keys'][number], now: number) {
  const { kid, alg, publishedAt, activateAt, compromisedAt } = key;
  // The schedule no longer applies to a compromised key.
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
}

const toIso = (milliseconds: number | undefined) =>
  milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
