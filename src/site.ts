// What follows from one configuration: limits, people, an engine instance, the app in front of it. Built whole, beside
// the one that serves; service.ts puts it in the other's place.
import type Koa from 'koa';
import type { AccountStates } from './accounts/account-state.ts';
import { createAccounts } from './accounts/accounts.ts';
import type { Passwords } from './accounts/passwords.ts';
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
import type { Log } from './telemetry/log.ts';
import { createRevokedTokens } from './tokens/revoked-tokens.ts';

/** What stays for the life of the process, whatever the configuration becomes. */
export type Foundation = {
  readonly now: Clock;
  readonly log: Log;
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
  const { store, hash, states, passwords, uses, views, maySign, tombstoneSeconds, now, log } = foundation;
  const { pages, assets } = views;
  const limits = createLimits({
    counters: store.counters,
    hash,
    rates: config.rateLimits,
    now,
    onLimited: createLimitReport((limit, times) => log.warn({ limit, times }, 'limit reached'), now),
  });
  const accounts = createAccounts(config.users, states);
  const signIn = createSignIn(accounts, passwords, (account, address) =>
    limits.takeSignInAttempt(account, address),
  );

  const adapter = { records: store.records, hash, tombstoneSeconds: tombstoneSeconds(config) };
  const engineParts: Omit<EngineParts, 'keySet'> = {
    config,
    adapter,
    accounts,
    pages,
    now,
    revoked: createRevokedTokens(store.records, hash, now),
    limits,
    log,
    verifySlow: (phc, secret) => passwords.verify(phc, secret),
    onSecretUsed: uses.note,
    maySign,
  };
  const live = new LiveEngine(await createEngine({ ...engineParts, keySet }));

  const csrf = createCsrf(hash);
  const interactions = interactionRoutes({
    issuer: config.issuer,
    interactions: createInteractions(live, adapter),
    signIn,
    csrf,
    show: createShow({ config, accounts, pages, csrf, now }),
  });
  return {
    config,
    app: createApp({ config, live, interactions, pages, assets, limits, log }),
    async useKeys(next) {
      live.swap(await createEngine({ ...engineParts, keySet: next }));
    },
  };
}
