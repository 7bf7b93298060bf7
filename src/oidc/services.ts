// What one engine instance is made of, besides the engine itself: each part is made once, and all of them are passed on whole.
import type { ClientDocuments } from '../client-documents/documents.ts';
import { createAccessRules } from '../config/access-rules.ts';
import type { Config } from '../config/config.ts';
import { levelsOf } from '../config/sign-in-levels.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Limits } from '../limits/limits.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { Clock } from '../store/store.ts';
import { createAccessTokens, signOnlyWhile } from '../tokens/access-token.ts';
import { createAudienceRules } from '../tokens/audience.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import type { Accounts } from '../users/accounts.ts';
import type { FactorStore } from '../users/factors.ts';
import type { Pages } from '../views/pages.ts';
import type { AdapterParts } from './adapter.ts';
import { createBrowserBinding } from './browser-binding.ts';
import { createClaims } from './claims.ts';
import { createSecretComparison, type SecretComparisonParts } from './client-authentication.ts';
import { createDevicePages } from './device-pages.ts';
import { createClientLookup } from './document-clients.ts';
import { createEnginePages } from './engine-pages.ts';
import { createClientLimits } from './limit-clients.ts';
import type { LogoutsParts } from './logouts.ts';
import { createMachineTokenFinder } from './machine-tokens.ts';
import { createAccessPolicy } from './policies/access.ts';
import { createFindDefault } from './policies/default-scopes.ts';
import { createStillAllowed } from './policies/narrowed-scope.ts';
import { createRememberedConsents } from './policies/remembered-consents.ts';
import { createFindRefusal } from './policies/scopes.ts';
import { createSignInPolicy } from './policies/sign-in-level.ts';
import { createDisclose } from './policies/token-policies.ts';

export type EngineParts = {
  readonly config: Config;
  readonly keySet: KeySet;
  readonly adapter: AdapterParts;
  readonly accounts: Accounts;
  readonly now: Clock;
  readonly telemetry: Telemetry;
  /** Read once a request. */
  readonly factors: FactorStore;
  readonly pages: Pages;
  readonly revoked: RevokedTokens;
  /** Undefined where no documents of clients are fetched. */
  readonly documents?: ClientDocuments | undefined;
  readonly limits: Limits;
  readonly verifySlow: SecretComparisonParts['verifySlow'];
  readonly onSecretUsed?: SecretComparisonParts['onSecretUsed'];
  /** False: the keys may be out of date, and nothing may be signed with them. */
  readonly maySign: () => boolean;
  readonly logoutJobs: LogoutsParts['logoutJobs'];
};

export type Services = ReturnType<typeof createServices>;

export function createServices(given: EngineParts) {
  const { config, keySet, adapter, accounts, limits, now, telemetry } = given;
  const { issuer } = config;
  const lookup = createClientLookup(config.clients, given.documents);
  const { find: findClient, load: loadClient } = lookup;
  const findLive: Accounts['findLive'] = (id, issued) => accounts.findLive(id, issued);
  const audiences = createAudienceRules(issuer, config.resources, config.lifetimes.accessToken);
  // An ID token is only ever signed after an access token, in the same request: this guards both.
  const tokens = signOnlyWhile(given.maySign, createAccessTokens(issuer, keySet, now), telemetry.metrics);
  const rules = createAccessRules(config);
  const base = { ...given, ...telemetry, issuer, rules, audiences, findClient, loadClient, findLive };

  const levels = levelsOf(config);
  const stillAllowed = createStillAllowed(loadClient);
  const policies = {
    /** These two are undefined where the file has no such rules. */
    signInPolicy: levels && createSignInPolicy({ ...base, levels }),
    access: createAccessPolicy(base),
    claims: createClaims(base),
  };
  const enginePages = createEnginePages(base);
  return {
    ...base,
    ...policies,
    lookup,
    tokens,
    stillAllowed,
    enginePages,
    secrets: createSecretComparison(base),
    disclose: createDisclose({ ...base, ...policies }),
    findMachineToken: createMachineTokenFinder(tokens, given.revoked, stillAllowed),
    consents: createRememberedConsents({ ...adapter, findLive, lifetimeSeconds: config.lifetimes.consent }),
    browsers: createBrowserBinding(issuer, adapter.hash, now),
    devicePages: createDevicePages({ ...base, enginePages }),
    clientLimits: createClientLimits(limits),
    findDefault: createFindDefault(audiences),
    findRefusal: createFindRefusal(base),
  };
}
