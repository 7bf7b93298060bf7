// Opens an application: all parts of its engine, pages and fast path, as one flat object that is passed whole. The object doesn't change
// once it serves; server/replace.ts replaces it.
import { createAccessRules } from '../config/access-rules.ts';
import type { Client, ClientSecret, Config, RateLimits } from '../config/config.ts';
import { levelsOf } from '../config/sign-in-levels.ts';
import { type AuditEvent, notifiesUsers } from '../features/index.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Limits } from '../limits/limits.ts';
import type { Audit } from '../observability/audit.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { Outgoing } from '../outgoing/guard.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, Store, StoredRecord } from '../store/store.ts';
import { createUnitOfWork } from '../store/unit-of-work.ts';
import { createAccessTokens, signOnlyWhile } from '../tokens/access-token.ts';
import { createAudienceRules } from '../tokens/audience.ts';
import { createRevokedTokens } from '../tokens/revoked-tokens.ts';
import { createOneTimeLinks } from '../users/one-time-links.ts';
import { createNoteSignIn } from '../users/account-state.ts';
import { createAccounts, type OpenUsers, openUsers } from '../users/accounts.ts';
import { createMakePassword, type Passwords } from '../users/passwords.ts';
import { createSignIn } from '../users/sign-in.ts';
import { createTrustedBrowsers } from '../users/trusted-browsers.ts';
import type { UserEvents } from '../users/user-events.ts';
import type { Views } from '../views/views.ts';
import { createBrowserBinding } from './browser-binding.ts';
import { createClaims } from './claims.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { createClientLookup } from './clients.ts';
import { createEndedSessions, type SessionEnds } from './ended-sessions.ts';
import { createEnginePages } from './engine-pages.ts';
import { createStillAllowed } from './policies/narrowed-scope.ts';
import { createRememberedConsents } from './policies/remembered-consents.ts';
import { createFindDefault, createFindRefusal } from './policies/scopes.ts';
import { createMachineTokenFinder } from './seam/client-credentials.ts';
import { createOnUserEvent, userListsOf } from './user-lists.ts';

/** The parts that outlive every application of a process. They include counters and leases, so that a reload doesn't reset them. */
export interface Process extends Telemetry, OpenUsers {
  readonly audit: Audit<AuditEvent>;
  readonly now: Clock;
  readonly store: Store;
  readonly hash: KeyedHash;
  readonly passwords: Passwords;
  readonly limitsOf: (rates: RateLimits) => Limits;
  readonly onSecretUsed: (client: Client, secret: ClientSecret) => void;
  readonly openViews: (config: Config) => Views;
  /** Outbound requests, limited by the settings of a configuration. */
  readonly outgoingOf: (config: Config) => Outgoing;
  /** False when these keys may be out of date, so that nothing may be signed with them. */
  readonly maySign: (keySet: KeySet) => boolean;
  readonly userEvents: UserEvents;
  /** Seconds; never less than before in this process, because older tokens may live that long. */
  readonly tombstoneSecondsOf: (config: Config) => number;
  /** The longest lifetime of access tokens so far, in seconds, by audience. */
  readonly longestLifetimes: Map<string, number>;
}

export type ApplicationParts = Readonly<{ config: Config; keySet: KeySet; views: Views }>;

type OpenParts = ApplicationParts & { readonly sessionEnds: SessionEnds | undefined };

export type App = ReturnType<typeof openApp>;

export function openApp(process: Process, { config, keySet, views, sessionEnds }: OpenParts) {
  const { store, hash, now, states, storedUsers, importedCosts, audit } = process;
  const { clock } = store;
  const { issuer } = config;
  const { pages } = views;
  const limits = process.limitsOf(config.rateLimits);
  const outgoing = process.outgoingOf(config);
  const records = createUnitOfWork(store, now);
  const tombstoneSeconds = process.tombstoneSecondsOf(config);
  const onDamaged = reportDamaged(process);

  const remembered = openUsers({ ...store, documents: records.documents }, hash);
  const accounts = createAccounts({ config, states, storedUsers, importedCosts, remembered });
  const { findLive } = accounts;
  const factors = { ...process.factors, get: remembered.factors.get };
  const trustedBrowsers = createTrustedBrowsers(hash, now);

  const clients = createClientLookup(config.clients);
  const { accessToken } = config.lifetimes;
  const audiences = createAudienceRules(issuer, config.resources, accessToken, process.longestLifetimes);
  const rules = createAccessRules(config);
  const claims = createClaims(config, audiences, rules);
  const stillAllowed = createStillAllowed(clients);

  const ended = createEndedSessions(sessionEnds);
  const stored = { records, accounts, findLive, hash, clock, onDamaged, tombstoneSeconds, audit, ended };
  const userLists = userListsOf(config, store, stored);

  // Tokens. An ID token is only ever signed after an access token of the same request, so this guards both.
  const accessTokens = createAccessTokens(issuer, keySet, now, audiences.isPossible);
  const maySign = () => process.maySign(keySet);
  const tokens = signOnlyWhile(maySign, accessTokens, process.metrics);
  const revoked = createRevokedTokens(records, hash, now);

  return {
    ...process,
    ...stored,
    maySign,
    config,
    issuer,
    keySet,
    pages,
    assets: views.assets,
    limits,
    outgoing,
    storeNow: clock.now,
    factors,
    trustedBrowsers,
    checkPassword: createSignIn({
      ...process,
      accounts,
      trustedBrowsers,
      countAttempt: limits.takeSignInAttempt,
      beside: records.beside,
      factors: config.signIn && factors,
    }),
    noteSignIn: createNoteSignIn(states, remembered.states, clock.now),
    makePassword: createMakePassword(config, limits),
    // Uses the store itself, so that a link is saved before it is handed out.
    links: createOneTimeLinks({ ...process, records: store.records, now: clock.now }),
    clients,
    ...createClientAuthentication({ ...process, clients, limits }),
    audiences,
    rules,
    claims,
    /** Undefined when the configuration has no `sign_in`. */
    levels: levelsOf(config),
    stillAllowed,
    findDefault: createFindDefault(audiences),
    findRefusal: createFindRefusal(config, audiences),
    consents: createRememberedConsents(stored, config.lifetimes.consent),
    /** The lists of users' sessions and grants; undefined when nothing reads them. */
    userLists,
    /** Undefined without the account page. */
    activity: config.account ? userLists?.index : undefined,
    notifiesUsers: notifiesUsers(config),
    onUserEvent: createOnUserEvent(store, storedUsers, userLists?.userSessions),
    tokens,
    revoked,
    findMachineToken: createMachineTokenFinder(tokens, revoked, stillAllowed),
    browsers: createBrowserBinding(issuer, hash, now),
    enginePages: createEnginePages(pages, clients, issuer),
  };
}

/** Reports each record once, because one request may read it several times. */
function reportDamaged({ log, metrics }: Telemetry) {
  const reported = new WeakSet<StoredRecord>();
  return (kind: string, record: StoredRecord): void => {
    if (reported.has(record)) return;
    reported.add(record);
    metrics.count('damaged_records', { kind });
    log.error({ kind, hash: record.key }, 'ignored a damaged record in the store');
  };
}
