// What follows from one configuration: limits, people, an engine instance, the app in front of it. Built whole, beside
// the one that serves; service.ts puts it in the other's place.
import { randomBytes } from 'node:crypto';
import type Koa from 'koa';
import type { AccountStates } from './accounts/account-state.ts';
import { createAccounts } from './accounts/accounts.ts';
import { createDevices } from './accounts/devices.ts';
import type { Passwords } from './accounts/passwords.ts';
import { createPeople } from './accounts/people.ts';
import { createSignIn } from './accounts/sign-in.ts';
import type { Config } from './config/config.ts';
import { createEngine, type EngineParts } from './engine/engine.ts';
import { createInteractions } from './engine/interactions.ts';
import { LiveEngine } from './engine/live-engine.ts';
import type { SecretUses } from './engine/secret-uses.ts';
import { createApp } from './http/app.ts';
import { createCsrf } from './interaction/csrf.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { createShow } from './interaction/show.ts';
import type { KeySet } from './keys/key-set.ts';
import { createLimits } from './limits/limits.ts';
import { createLimitReport } from './limits/report.ts';
import type { Views } from './pages/views.ts';
import type { KeyedHash } from './store/keyed-hash.ts';
import type { Clock, Store } from './store/store.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { createRevokedTokens } from './tokens/revoked-tokens.ts';

/** What stays for the life of the process, whatever the configuration becomes. */
export type Foundation = {
  readonly now: Clock;
  readonly telemetry: Telemetry;
  readonly store: Store;
  readonly hash: KeyedHash;
  readonly states: AccountStates;
  readonly passwords: Passwords;
  readonly uses: SecretUses;
  readonly views: Views;
  readonly maySign: () => boolean;
  /** Seconds; never shortened while running, because older tokens may live that long. */
  readonly tombstoneSeconds: (config: Config) => number;
};

/** What follows from one configuration. */
export type Site = {
  readonly config: Config;
  readonly app: Koa;
  /** Puts an engine with these keys in the place of the one that serves. */
  readonly useKeys: (keySet: KeySet) => Promise<void>;
};

export async function buildSite(config: Config, keySet: KeySet, foundation: Foundation): Promise<Site> {
  const { store, hash, states, passwords, uses, views, maySign, tombstoneSeconds, now, telemetry } =
    foundation;
  const { log, audit, metrics } = telemetry;
  const { pages, assets } = views;
  const reportLimit = createLimitReport((limit, times) => {
    log.warn({ limit, times }, 'limit reached');
    audit.record('limit_reached', 'failure', { limit, times });
  }, now);
  const onLimited = (limit: string) => {
    metrics.limitHit(limit);
    reportLimit(limit);
  };
  const limits = createLimits({
    counters: store.counters,
    hash,
    rates: config.rateLimits,
    now,
    onLimited,
  });
  const people = createPeople(store.documents);
  const accounts = createAccounts(config.users, states, people);
  const signIn = createSignIn({
    accounts,
    people,
    passwords,
    devices: createDevices(hash, now, randomBytes),
    countAttempt: (attempt) => limits.takeSignInAttempt(attempt),
    now,
  });

  const adapter = { records: store.records, hash, tombstoneSeconds: tombstoneSeconds(config) };
  const engineParts: Omit<EngineParts, 'keySet'> = {
    config,
    adapter,
    accounts,
    pages,
    now,
    revoked: createRevokedTokens(store.records, hash, now),
    limits,
    telemetry,
    verifySlow: (phc, secret) => passwords.verify(phc, secret),
    onSecretUsed: uses.note,
    maySign,
  };
  const live = new LiveEngine(await createEngine({ ...engineParts, keySet }));

  const csrf = createCsrf(hash);
  const interactions = interactionRoutes({
    issuer: config.issuer,
    interactions: createInteractions(live, adapter, audit),
    signIn,
    csrf,
    show: createShow({ config, accounts, pages, csrf, now }),
    audit,
  });
  return {
    config,
    app: createApp({ config, live, interactions, pages, assets, limits, telemetry }),
    async useKeys(next) {
      live.swap(await createEngine({ ...engineParts, keySet: next }));
    },
  };
}
