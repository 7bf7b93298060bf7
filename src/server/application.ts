// What follows from one configuration: limits, people, an engine instance, the app in front of it. Built whole, beside
// the one that serves; service.ts puts it in the other's place.
import { randomBytes } from 'node:crypto';
import type { AccountStates } from '../users/account-state.ts';
import { createAccounts } from '../users/accounts.ts';
import { createDevices } from '../users/trusted-browsers.ts';
import type { Passwords } from '../users/passwords.ts';
import { createPeople } from '../users/people.ts';
import { createTrustLinks } from '../users/trust-links.ts';
import { type CountAttempt, createSignIn } from '../users/sign-in.ts';
import type { Config, RateLimits } from '../config/config.ts';
import type { VerifySlow } from '../oidc/client-authentication.ts';
import { createEngine, type EngineParts } from '../oidc/provider.ts';
import { createInteractions } from '../oidc/interactions.ts';
import { LiveEngine } from '../oidc/live-provider.ts';
import { oneRequest } from '../oidc/one-request.ts';
import type { SecretUses } from '../oidc/secret-uses.ts';
import { createApp } from '../http/app.ts';
import type { App } from '../http/server.ts';
import { createCsrf } from '../interaction/csrf.ts';
import { interactionRoutes } from '../interaction/routes.ts';
import { createShow } from '../interaction/show.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Limits } from '../limits/limits.ts';
import { BUILT_IN_FOLDER } from '../views/built-in-folder.ts';
import { createViews, type Views } from '../views/views.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { createRequestRecords, type RequestRecords } from '../store/request-records.ts';
import type { Clock, Store } from '../store/store.ts';
import type { Log } from '../observability/log.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { createRevokedTokens } from '../tokens/revoked-tokens.ts';

/** What stays for the life of the process, whatever the configuration becomes. */
export type Foundation = {
  readonly now: Clock;
  readonly telemetry: Telemetry;
  readonly store: Store;
  readonly hash: KeyedHash;
  readonly states: AccountStates;
  readonly passwords: Passwords;
  readonly limitsOf: (rates: RateLimits) => Limits;
  /** Compares a client secret with an argon2id hash. */
  readonly verifySlow: VerifySlow;
  readonly uses: SecretUses;
  readonly views: Views;
  readonly maySign: () => boolean;
  /** Seconds; never shortened while running, because older tokens may live that long. */
  readonly tombstoneSeconds: (config: Config) => number;
  /** False: the engine answers every request by itself. */
  readonly hasShortWays?: boolean | undefined;
};

/** What follows from one configuration. */
export type Site = {
  readonly config: Config;
  readonly app: App;
  /** Puts an engine with these keys in the place of the one that serves. */
  readonly useKeys: (keySet: KeySet) => Promise<void>;
};

export async function buildSite(config: Config, keySet: KeySet, foundation: Foundation): Promise<Site> {
  const { store, hash, states, uses, views, maySign, tombstoneSeconds, now, telemetry } = foundation;
  const { pages, assets } = views;
  const limits = foundation.limitsOf(config.rateLimits);
  const records = createRequestRecords(store.records, now);
  const { accounts, devices, signIn } = peopleOf(config, foundation, { records, limits });

  const adapter = {
    records,
    hash,
    clock: store.clock,
    expectPerson: accounts.expect,
    tombstoneSeconds: tombstoneSeconds(config),
    onDamaged: reportDamaged(records, telemetry),
  };
  const engineParts: Omit<EngineParts, 'keySet'> = {
    config,
    adapter,
    accounts,
    pages,
    now,
    revoked: createRevokedTokens(records, hash, now),
    limits,
    telemetry,
    verifySlow: foundation.verifySlow,
    onSecretUsed: uses.note,
    maySign,
    hasShortWays: foundation.hasShortWays,
  };
  const live = new LiveEngine(await createEngine({ ...engineParts, keySet }));

  const csrf = createCsrf(hash);
  const interactions = interactionRoutes({
    issuer: config.issuer,
    interactions: createInteractions(live, adapter, telemetry.audit),
    signIn,
    csrf,
    show: createShow({ config, accounts, pages, csrf }),
    audit: telemetry.audit,
    trust: {
      links: createTrustLinks({ records, states, hash, random: randomBytes }),
      accounts,
      devices,
      pages,
    },
  });
  return {
    config,
    app: createApp({
      config,
      live,
      oneRequest: oneRequest({ ...adapter, issuer: config.issuer }),
      interactions,
      pages,
      assets,
      limits,
      telemetry,
    }),
    async useKeys(next) {
      live.swap(await createEngine({ ...engineParts, keySet: next }));
    },
  };
}

/** The people of the file and of the store, and how they sign in. */
function peopleOf(
  { users }: Config,
  { store, hash, states, passwords, now }: Foundation,
  { records, limits }: { readonly records: RequestRecords; readonly limits: Limits },
) {
  const people = createPeople(store.documents);
  const accounts = createAccounts({ users, states, people, once: records.once, clock: store.clock });
  const devices = createDevices(hash, now, randomBytes);
  const countAttempt: CountAttempt = (attempt) => limits.takeSignInAttempt(attempt);
  const signIn = createSignIn({ accounts, people, passwords, devices, countAttempt, now });
  return { accounts, devices, signIn };
}

export function openViews({ issuer, viewsFolder, branding }: Config, log: Log): Views {
  return createViews({
    builtInFolder: BUILT_IN_FOLDER,
    overrideFolder: viewsFolder,
    branding,
    issuer,
    onProblem: ({ file, message }) => log.error({ file }, message),
    onReload: () => log.info('the views were read again'),
  });
}

/** One request may meet the same record several times. */
function reportDamaged({ once }: RequestRecords, { log, metrics }: Telemetry) {
  return (kind: string, key: string): void => {
    void once(`damaged ${key}`, () => {
      metrics.recordDamaged(kind);
      log.error({ kind, hash: key }, 'a stored record is damaged and counts as absent');
      return Promise.resolve();
    });
  };
}
