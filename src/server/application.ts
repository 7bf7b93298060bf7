// One application: limits, users, an engine instance and the middleware in front of it, built from a configuration, a key set and
// the views. It is immutable; replace.ts puts another one in its place.
import { randomBytes } from 'node:crypto';
import { type AccountStates, createAccountStates } from '../users/account-state.ts';
import { createAccounts } from '../users/accounts.ts';
import { createTrustedBrowsers } from '../users/trusted-browsers.ts';
import type { Passwords } from '../users/passwords.ts';
import { createFactorStore } from '../users/factors.ts';
import { createPeople } from '../users/people.ts';
import { createMakePassword } from '../users/new-passwords.ts';
import { createOneTimeLinks } from '../users/one-time-links.ts';
import { type CountAttempt, createSignIn } from '../users/sign-in.ts';
import { type ClientDocuments, createClientDocuments } from '../client-documents/documents.ts';
import { vetClientDocument } from '../client-documents/vet.ts';
import type { Config, RateLimits } from '../config/config.ts';
import type { VerifySlow } from '../oidc/client-authentication.ts';
import { createEngine, type Engine } from '../oidc/provider.ts';
import { createPersonGrants } from '../oidc/person-grants.ts';
import { createBrowserSessions } from '../oidc/browser-session.ts';
import { createInteractions } from '../oidc/interactions.ts';
import type { LogoutJobs } from '../oidc/logout-jobs.ts';
import type { LogoutApps } from '../oidc/logout-sender.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import { createOwnClient } from '../oidc/own-client.ts';
import type { SecretUses } from '../oidc/secret-uses.ts';
import { unitOfWork } from '../oidc/unit-of-work.ts';
import { createApp } from '../http/app.ts';
import type { App } from '../http/server.ts';
import { createCsrf } from '../interaction/csrf.ts';
import type { Host } from '../interaction/host.ts';
import { ownCallbacksOf, ownPages } from '../interaction/own-pages.ts';
import { placeOf } from '../oidc/place.ts';
import { interactionRoutes } from '../interaction/routes.ts';
import { createTell } from '../interaction/tell.ts';
import { createDeviceCookie } from '../interaction/trusted-browser-cookie.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Limits } from '../limits/limits.ts';
import type { Outgoing } from '../outgoing/guard.ts';
import type { Views } from '../views/views.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { personListsOf } from '../oidc/lists-of-persons.ts';
import { secondFactorsOf } from './second-factors.ts';
import type { Clock, Store, StoredRecord } from '../store/store.ts';
import { createUnitOfWork, type UnitOfWork } from '../store/unit-of-work.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { createRevokedTokens } from '../tokens/revoked-tokens.ts';

/** Shared by every application of this process. Counters and leases are here, so that a reload doesn't reset them. */
export type SharedServices = {
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
  /** What asks other hosts, by the settings of a configuration. */
  readonly outgoingOf: (config: Config) => Outgoing;
  readonly maySign: () => boolean;
  readonly logoutJobs: LogoutJobs;
  /** Seconds; never shortened while running, because older tokens may live that long. */
  readonly tombstoneSeconds: (config: Config) => number;
};

/** What an application is built from. */
export type ApplicationParts = { readonly config: Config; readonly keySet: KeySet; readonly views: Views };

export type Application = {
  readonly app: App;
  /** What its sessions end at. */
  readonly apps: LogoutApps;
  readonly endVoid: PersonSessions['endVoid'];
  readonly leave: PersonSessions['leave'];
};

/** Rejects when its engine fails the self-test. */
export async function createApplication(
  { config, keySet, views }: ApplicationParts,
  shared: SharedServices,
): Promise<Application> {
  const { store, hash, now, telemetry } = shared;
  const { pages, assets } = views;
  const limits = shared.limitsOf(config.rateLimits);
  const records = createUnitOfWork(store, now);
  const { accounts, people, trustedBrowsers, signIn } = usersOf(config, shared, { records, limits });

  const plain = { records, accounts, ...adapterOf(config, shared) };
  const lists = personListsOf(config, store, { ...plain, audit: telemetry.audit });
  const adapter = { ...plain, lists: lists?.lists };
  const endVoid: Application['endVoid'] = async (id) => lists?.sessions.endVoid(id);
  const factors = createFactorStore(store.documents, hash, records.documents);
  const engine = await createEngine({
    config: withOwnClient(config),
    keySet,
    adapter,
    accounts,
    factors,
    pages,
    now,
    revoked: createRevokedTokens(records, hash, now),
    documents: documentsOf(config, shared, limits),
    limits,
    telemetry,
    verifySlow: shared.verifySlow,
    onSecretUsed: shared.uses.note,
    maySign: shared.maySign,
    logoutJobs: shared.logoutJobs,
  });

  const ofSignIns = { limits, accounts, trustedBrowsers };
  const account = accountPageOf(config, lists, engine);
  const { audit } = telemetry;
  const host: Host = {
    ...ofSignIns,
    links: linksOf(shared),
    makePassword: createMakePassword(config, limits),
    storeNow: store.clock.now,
    flush: () => records.flush(),
    config,
    people,
    states: shared.states,
    sessions: createBrowserSessions(engine),
    interactions: createInteractions(engine, adapter, audit, account && placeOf),
    pages,
    csrf: createCsrf(hash),
    audit,
    checkPassword: signIn,
    cookie: createDeviceCookie(config.issuer),
    endVoid,
    now,
    second: secondFactorsOf(config, shared, records, ofSignIns),
    account,
    tell: createTell(account?.index),
  };
  const app = createApp({
    config,
    engine,
    unitOfWork: unitOfWork({ ...adapter, factors: config.signIn && factors }, config.issuer),
    interactions: interactionRoutes(host),
    ownPages: ownPages(host),
    pages,
    assets,
    limits,
    telemetry,
  });
  const leave: Application['leave'] = async (id, clientId) => lists?.sessions.leave(id, clientId);
  return { app, endVoid, leave, apps: { ...engine.logouts, outgoing: shared.outgoingOf(config) } };
}

function adapterOf(config: Config, { store: { clock }, hash, telemetry, tombstoneSeconds }: SharedServices) {
  return { hash, clock, tombstoneSeconds: tombstoneSeconds(config), onDamaged: reportDamaged(telemetry) };
}

/** Undefined while there is none. */
function accountPageOf(
  config: Config,
  lists: ReturnType<typeof personListsOf>,
  { consents, findClient }: Engine,
): Host['account'] {
  if (!config.account || lists === undefined) return undefined;
  const grants = createPersonGrants({ ...lists.parts, consents });
  return { findClient, personSessions: lists.sessions, grants, index: lists.index };
}

/** With the way from the service's own pages to the sign-in, where there are such pages. */
function withOwnClient(config: Config): Config {
  const callbacks = ownCallbacksOf(config);
  if (callbacks.length === 0) return config;
  return { ...config, clients: [...config.clients, createOwnClient(config, callbacks)] };
}

/** The accounts of the file and of the store, and how people sign in. */
function usersOf(
  { users, signIn: settings }: Config,
  { store, hash, states, passwords, now }: SharedServices,
  { records, limits }: { readonly records: UnitOfWork; readonly limits: Limits },
) {
  const people = createPeople(store.documents);
  const remembered = {
    states: createAccountStates(records.documents),
    people: createPeople(records.documents),
  };
  const factorsAreOff = settings === undefined;
  const accounts = createAccounts({ users, states, people, factorsAreOff, remembered, clock: store.clock });
  const trustedBrowsers = createTrustedBrowsers(hash, now, randomBytes);
  const countAttempt: CountAttempt = (attempt) => limits.takeSignInAttempt(attempt);
  const factors = settings && createFactorStore(store.documents, hash, records.documents);
  const signIn = createSignIn({ accounts, people, passwords, trustedBrowsers, countAttempt, factors, now });
  return { accounts, people, trustedBrowsers, signIn };
}

/** Of the store itself: whether a link was saved is known before it is handed out. */
function linksOf({ store: { records, documents, clock }, hash, states }: SharedServices) {
  const factors = createFactorStore(documents, hash);
  return createOneTimeLinks({ records, states, factors, hash, random: randomBytes, now: clock.now });
}

/** Undefined where none are fetched. The store itself: what is fetched belongs to no request. */
function documentsOf(config: Config, shared: SharedServices, limits: Limits): ClientDocuments | undefined {
  const { clientDocuments } = config;
  const { store, hash, telemetry } = shared;
  if (clientDocuments === undefined) return undefined;
  const { hosts, scope } = clientDocuments;
  return createClientDocuments({
    hosts,
    vet: (document) => vetClientDocument(document, scope),
    outgoing: shared.outgoingOf(config),
    records: store.records,
    clock: store.clock,
    hash,
    limits,
    audit: telemetry.audit,
    log: telemetry.log,
    onDamaged: reportDamaged(telemetry),
    tokenSeconds: shared.tombstoneSeconds(config),
  });
}

/** One request may read the same record several times. */
function reportDamaged({ log, metrics }: Telemetry) {
  const reported = new WeakSet<StoredRecord>();
  return (kind: string, record: StoredRecord): void => {
    if (reported.has(record)) return;
    reported.add(record);
    metrics.recordDamaged(kind);
    log.error({ kind, hash: record.key }, 'a stored record is damaged and counts as absent');
  };
}
