// What a running service says of itself to those who run it: ready or why not, and what a scrape of the metrics shows.
import type { Config } from './config/config.ts';
import { secretId } from './config/secret-id.ts';
import type { SecretUses } from './engine/secret-uses.ts';
import type { ConfigStatus } from './http/management.ts';
import { outlook } from './keys/outlook.ts';
import type { KeySet } from './keys/key-set.ts';
import { keyProblems } from './keys/readiness.ts';
import { nextStep } from './keys/ring-steps.ts';
import type { Rotation } from './keys/rotation.ts';
import type { Timing } from './keys/timing.ts';
import { createLossDetector } from './store/lost-writes.ts';
import { type Clock, type Store, StoreUnavailable, StoreUnfit } from './store/store.ts';
import type { Snapshot } from './telemetry/instruments.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** Why the service isn't ready, one line each; empty when it is. */
export async function problemsOf(store: Store, rotation: Rotation): Promise<readonly string[]> {
  const problems = keyProblems(rotation.status(), store.clock.now());
  try {
    await store.ping();
    return problems;
  } catch (error) {
    return [storeProblem(error), ...problems];
  }
}

/** What the operator must change at the server or the disk; anything else is an outage. */
function storeProblem(error: unknown): string {
  if (error instanceof StoreUnfit) return `the store is not safe: ${error.message}`;
  return error instanceof StoreUnavailable ? error.message : 'the store can not be reached';
}

/** For the start that found an empty store: whether one was lost is for the operator to know. */
export function reportNewKeys({ active: { kid }, published }: KeySet, { log, audit }: Telemetry): void {
  log.warn(
    { kid },
    'new signing keys were made: what verifiers keep, sessions and tokens of an earlier store, if there was one, are void',
  );
  audit.record('keys_created', 'success', { kid, published: published.map((key) => key.kid) });
}

/** Says when the store went back to an earlier state; to be called every few seconds. */
export function lossDetector({ records, clock }: Store, { log, metrics }: Telemetry): () => Promise<void> {
  return createLossDetector({
    records,
    now: clock.now,
    onLoss(since) {
      metrics.storeRolledBack();
      log.error(
        { since: since === undefined ? 'unknown' : new Date(since).toISOString() },
        'the store went back to an earlier state: revocations, sign-outs and used tokens since then are undone, see docs/backup.md',
      );
    },
  });
}

export type SnapshotParts = {
  readonly config: Config;
  readonly status: ConfigStatus;
  readonly problems: readonly string[];
  readonly rotation: Rotation;
  readonly timing: Timing;
  readonly uses: SecretUses;
  readonly now: Clock;
};

export function snapshotOf(parts: SnapshotParts): Snapshot {
  const { config, status, problems, rotation, timing, uses, now } = parts;
  const ring = rotation.ring();
  const keys = outlook(ring, now(), timing);
  const step = nextStep(ring, now(), timing);
  return {
    configurationHash: status.hash,
    configurationIsCurrent: status.problem === undefined,
    ready: problems.length === 0,
    keys: ring.keys.map(({ kid, createdAt }, index) => ({
      kid,
      state: keys[index]?.state ?? 'unknown',
      createdAt: createdAt / 1000,
    })),
    nextKeyStepAt: step && step.at / 1000,
    secretExpiries: config.clients.flatMap(({ clientId, secrets }) =>
      secrets.flatMap((secret) =>
        secret.expiresAt === undefined
          ? []
          : [{ clientId, secret: secret.name ?? secretId(secret), at: secret.expiresAt }],
      ),
    ),
    secretUses: uses.seen(),
  };
}
