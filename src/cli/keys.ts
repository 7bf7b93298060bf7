// `postern keys …`. The verbs work on the configured store directly, so that they do the same with and without a running
// service.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { listedNames } from '../config/wording.ts';
import type { Algorithm } from '../config/signing-algorithms.ts';
import { familiesIn, familyOf, nextFamilyStep } from '../keys/families.ts';
import { pepperNeedsRewrap, rewrapPepper } from '../keys/installation.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { keyStoreFor } from '../keys/open-keys.ts';
import { activeKey, type Ring, scheduledKeys } from '../keys/ring.ts';
import { compromiseKey, rewrapRing, rotateByHand, runDueSteps } from '../keys/ring-actions.ts';
import { KEYS_COLLECTION, PEPPER_ID, RING_ID } from '../keys/ring-document.ts';
import { type KeySchedule, scheduleOf } from '../keys/schedule.ts';
import { Vault } from '../keys/vault.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import { createFactorStore } from '../users/factors.ts';
import { oneTimeCodesNeedRewrap, rewrapOneTimeCodes } from '../users/one-time-codes.ts';
import { addVerb, readService, type VerbOptions } from './configuration.ts';
import { type CliIo, CommandError, counted, print } from './io.ts';

/** What a verb found or did, for programs and for people. */
type Outcome = {
  readonly value: unknown;
  readonly text: string;
  /** For people alone. */
  readonly note?: string;
};

export function registerKeys(program: Command, io: CliIo): void {
  const keys = program.command('keys').description('signing keys');
  const run = (options: VerbOptions, verb: (context: KeysContext) => Promise<Outcome>) =>
    withKeys(options, async (context) => {
      const { note, ...outcome } = await verb(context);
      print(io, options, outcome);
      if (note !== undefined && options.json !== true) io.stderr.write(`\n${note}\n`);
    });
  addVerb(keys, 'list', 'what each signing key is, what it becomes next, and when').action(
    (options: VerbOptions) => run(options, list),
  );
  addVerb(keys, 'rotate', 'let the next key sign as soon as every verifier can know it')
    .option('--due', 'only take the steps that are due by the configured times')
    .action((options: VerbOptions & { readonly due?: boolean }) =>
      run(options, (context) => rotate(context, options.due === true)),
    );
  addVerb(keys, 'compromise', 'take a leaked key out of use everywhere, now')
    .argument('<kid>', 'the key, as keys list shows it')
    .action((kid: string, options: VerbOptions) => run(options, (context) => compromise(context, kid)));
  addVerb(keys, 'rewrap', 'seal everything with the first encryption key').action((options: VerbOptions) =>
    run(options, rewrap),
  );
}

async function list({ keyStore, now, vault, documents }: KeysContext): Promise<Outcome> {
  const ring = await keyStore.load();
  const keys = reportKeys(ring, now(), keyStore);
  const needsRewrap =
    (await keyStore.needsRewrap()) ||
    (await pepperNeedsRewrap(documents, vault)) ||
    (await oneTimeCodesNeedRewrap(factorsIn(documents), vault));
  return {
    value: { generation: ring.generation, encryption_key: vault.kekId, needs_rewrap: needsRewrap, keys },
    text: toTable(keys),
    ...(needsRewrap && {
      note: 'Something is sealed with another encryption key than the first one: see "postern keys rewrap".',
    }),
  };
}

function toTable(keys: readonly KeyReport[]): string {
  const rows = [
    ['KID', 'ALG', 'STATE', 'NEXT', 'AT'],
    ...keys.map(({ kid, alg, state, next }) => [kid, alg, state, next?.state ?? '-', next?.at ?? '-']),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`)
    .join('');
}

async function rotate(context: KeysContext, isDueOnly: boolean): Promise<Outcome> {
  const { keyStore, now } = context;
  const before = await keyStore.load();
  // A rotation by hand comes first, because what it schedules is no longer due afterwards.
  const appointed = isDueOnly ? before : await rotateByHand(keyStore, now);
  const ring = await runDueSteps(keyStore, now, appointed);
  const changed = ring.generation !== before.generation;
  return {
    value: { changed, generation: ring.generation, keys: reportKeys(ring, now(), keyStore) },
    text: `${changed ? '' : 'Nothing to change. '}${toSentence(ring, context)}\n`,
  };
}

function toSentence(ring: Ring, context: KeysContext): string {
  const families = familiesIn(ring);
  return families
    .map((alg) => {
      const sentence = toFamilySentence(familyOf(ring, alg), alg, context);
      return families.length > 1 ? `${alg}: ${sentence}` : sentence;
    })
    .join('\n');
}

function toFamilySentence(ring: Ring, alg: Algorithm, { keyStore, now }: KeysContext): string {
  const next = scheduledKeys(ring, now())[0];
  const active = activeKey(ring, now());
  if (next?.activateAt === undefined || next === active) {
    const wanted = keyStore.algorithms.filter((one) => one === alg);
    const step = nextFamilyStep(ring, wanted, now(), keyStore.timing);
    return step === undefined
      ? 'Nothing is planned.'
      : `The next step, ${step.kind}, is due ${toIso(step.at)}.`;
  }
  const until = active?.removeAt === undefined ? '' : `, and verifies until ${toIso(active.removeAt)}`;
  return `${next.kid} signs from ${toIso(next.activateAt)}. Until then ${active?.kid ?? 'no key'} signs${until}.`;
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
  const keys = reportKeys(ring, now(), keyStore);
  return {
    value: { kid, changed, active, verifier_caches_end: cachedUntil, generation, keys },
    text: changed
      ? `${kid} is out. Every node follows within 5 seconds; from then on ${active ?? 'no key'} signs, and tokens of ${kid} ` +
        `are refused here. APIs that verify offline may take them until their cache of the key set ends, ${cachedUntil} at the latest.\n`
      : `${kid} was out of use already.\n`,
  };
}

/** Safe to end at any moment and to run again: each write leaves what can be read with the configured keys. */
async function rewrap({ documents, keyStore, vault }: KeysContext): Promise<Outcome> {
  const count = await rewrapRing(keyStore, vault);
  const pepper = await rewrapPepper(documents, vault);
  const codes = await rewrapOneTimeCodes(factorsIn(documents), vault);
  const sealed = [
    counted(count, 'signing key'),
    ...(pepper ? ['the pepper'] : []),
    ...(codes.count > 0 ? [`the one-time codes of ${counted(codes.count, 'person', 'people')}`] : []),
  ];
  return {
    value: {
      encryption_key: vault.kekId,
      signing_keys: count,
      pepper,
      one_time_codes: codes.count,
      unreadable: codes.unreadable,
    },
    text:
      `${sealed.join(' and ')} sealed anew. ` +
      `All is under the encryption key ${vault.kekId}: once every node has it first, the others can go.\n`,
    ...(codes.unreadable.length > 0 && {
      note: `The configured keys can't read the one-time codes of ${listedNames(codes.unreadable)}: postern user factors ID --remove one-time-codes, or all`,
    }),
  };
}

/** Nothing of them is looked up by its hash here. */
const factorsIn = (documents: DocumentStore) => createFactorStore(documents, () => 'none');

type KeysContext = {
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
  const config = await readService(file, process);
  if (!isStoreMade(config.store)) throw new CommandError(NO_KEYS);
  await withStore(config.store, async (store) => {
    const { documents } = store;
    const { now } = store.clock;
    await assertStarted(documents);
    const vault = new Vault(config.encryptionKeys);
    const keyStore = keyStoreFor({ ...config, issuer: anyIssuer ? undefined : config.issuer }, store);
    await use({ config, documents, vault, keyStore, now });
  });
}

async function assertStarted(documents: DocumentStore): Promise<void> {
  const found = await Promise.all([RING_ID, PEPPER_ID].map((id) => documents.get(KEYS_COLLECTION, id)));
  if (found.every((document) => document === undefined)) throw new CommandError(NO_KEYS);
}

/** A key as the verbs report it; ISO times. */
export type KeyReport = ReturnType<typeof reportKey>;

function reportKeys(ring: Ring, now: number, { timing }: KeyStore): readonly KeyReport[] {
  return familiesIn(ring).flatMap((alg) => scheduleOf(familyOf(ring, alg), now, timing).map(reportKey));
}

function reportKey({ key, state, next }: KeySchedule) {
  return {
    kid: key.kid,
    alg: key.alg,
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

function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function maybeIso(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : toIso(milliseconds);
}
