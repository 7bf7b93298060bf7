// One instance of the engine for one configuration and one key set, tested before it serves. New keys or a new
// configuration make a new instance; nothing here changes afterwards.
import compose from 'koa-compose';
import type { Context, Middleware, Next } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { ClientDocuments } from '../client-documents/documents.ts';
import { createAccessRules } from '../config/access-rules.ts';
import { clientLimitOf, ENDPOINTS } from '../config/endpoints.ts';
import { jwksMaxAge } from '../keys/timing.ts';
import type { Limits } from '../limits/limits.ts';
import {
  type AccessTokens,
  assertMaySign,
  createAccessTokens,
  signOnlyWhile,
} from '../tokens/access-token.ts';
import type { Pages } from '../views/pages.ts';
import { createAudienceRules } from '../tokens/audience.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import { levelsOf } from '../config/sign-in-levels.ts';
import type { Accounts } from '../users/accounts.ts';
import type { FactorStore } from '../users/factors.ts';
import { adjustAnswers, rememberFaults } from './answers.ts';
import { recordEvents } from './audit-trail.ts';
import { createClaims } from './claims.ts';
import { createBrowserBinding } from './browser-binding.ts';
import {
  type ClientRequest,
  createSecretComparison,
  type SecretComparison,
  type SecretComparisonParts,
} from './client-authentication.ts';
import { type ConfigurationParts, createConfiguration } from './options.ts';
import type { LoadClient } from './clients.ts';
import { type ClientLookup, createClientLookup } from './document-clients.ts';
import { createLogouts, type LogoutsParts } from './logouts.ts';
import { prepareDeviceForms } from './device-forms.ts';
import { createDevicePages } from './device-pages.ts';
import { pacePolls } from './device-polls.ts';
import { createEnginePages } from './engine-pages.ts';
import { type ClientLimits, createClientLimits } from './limit-clients.ts';
import { createAccessPolicy } from './policies/access.ts';
import { createStillAllowed } from './policies/narrowed-scope.ts';
import { createRememberedConsents } from './policies/remembered-consents.ts';
import { createMachineTokenFinder } from './machine-tokens.ts';
import { createSignInPolicy, type SignInPolicy } from './policies/sign-in-level.ts';
import { logEvents } from './event-log.ts';
import { createFindDefault, type FindDefault } from './policies/default-scopes.ts';
import { PosternProvider, type SeamParts } from './seam/provider.ts';
import { createFastAnswers } from './fast/answers.ts';
import { guardEngineForms } from './form-origin.ts';
import { signOutAtOnce } from './sign-out-at-once.ts';
import { createDisclose } from './policies/token-policies.ts';

export type EngineParts = Pick<
  ConfigurationParts,
  'config' | 'keySet' | 'adapter' | 'accounts' | 'now' | 'telemetry'
> & {
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

export type Engine = Awaited<ReturnType<typeof createEngine>>;

/** Throws when the new instance can't verify what it signs. */
export async function createEngine(parts: EngineParts) {
  const { config, keySet, limits, revoked, telemetry, adapter, pages } = parts;
  const { issuer } = config;
  const { audit, log } = telemetry;
  const audiences = createAudienceRules(issuer, config.resources, config.lifetimes.accessToken);
  const tokens = await createTokens(parts);

  const lookup = createClientLookup(config.clients, parts.documents);
  const { find: findClient, load: loadClient } = lookup;
  const secrets = createSecretComparison({ ...parts, findClient });

  const signIn = signInOf(parts, loadClient);
  const ofPeople = policiesOfPeople(parts, { audiences, loadClient, signIn });
  const stillAllowed = createStillAllowed(loadClient);
  const findMachineToken = createMachineTokenFinder(tokens, revoked, stillAllowed);
  const consents = createRememberedConsents({
    ...adapter,
    findLive: ofPeople.findLive,
    lifetimeSeconds: config.lifetimes.consent,
  });
  const browsers = createBrowserBinding(issuer, adapter.hash, parts.now);
  const enginePages = createEnginePages({ pages, issuer, findClient });

  const clientLimits = createClientLimits(limits);
  const clients = { findClient, loadClient, stillAllowed };
  const made = { ...ofPeople, ...clients, signIn, audiences, browsers, consents, enginePages };
  const devicePages = createDevicePages({ ...parts, ...made });
  const configuration = createConfiguration({ ...parts, ...made, ...clientLimits, devicePages });
  const findDefault = createFindDefault(audiences);
  const provider = new PosternProvider(issuer, configuration, {
    tokens,
    audiences,
    revoked,
    findMachineToken,
    browsers,
    noteLogout: (ctx, ended) => logouts.note(ctx, ended),
    postAnswer: config.features.responseModes.includes('form_post') ? enginePages.postAnswer : undefined,
    ...clientHooks({ lookup, secrets, clientLimits, findDefault }),
  });
  const logouts = createLogouts({ ...parts, provider, findClient });
  const ofFastPath = { provider, secrets, tokens, audit, findDefault, findMachineToken };
  rememberFaults(provider);
  logEvents(provider, log);
  recordEvents(provider, audit, adapter.records.afterwards);

  const handle = compose([
    lookup.prepare,
    keepGrants(parts.maySign),
    clientLimits.countAnswers,
    guardEngineForms(issuer),
    ...(config.features.deviceFlow ? [prepareDeviceForms(issuer, adapter.hash), pacePolls(limits)] : []),
    adjustAnswers(config),
    logouts.queue,
    signOutAtOnce({ enginePages, adapter, audit, logouts }),
    ...(provider.middleware as Middleware[]),
  ]);
  return {
    provider,
    tokens,
    /** For how many seconds a JWKS answer may be kept. */
    jwksMaxAge: () => jwksMaxAge(keySet, config.signingKeys, adapter.clock.now()),
    findClient,
    loadClient,
    browsers,
    consents,
    access: ofPeople.access,
    signIn,
    logouts,
    /** What http/fast-path.ts sends without the engine, by path below the issuer. */
    fastAnswers: createFastAnswers({ ...parts, ...made, ...ofFastPath }),
    /** Runs inside the host's own Koa context. */
    handle: (ctx: Context, next: Next) => handle(ctx, next),
  };
}

async function createTokens({ config, keySet, now, maySign, telemetry }: EngineParts): Promise<AccessTokens> {
  const signer = createAccessTokens(config.issuer, keySet, now);
  const [sub, iat] = ['self-test', Math.floor(now() / 1000)];
  const claims = { sub, aud: sub, iat, exp: iat + 60, jti: sub, client_id: sub };
  // A bad key set is found here and never by a client.
  if ((await signer.verify(await signer.sign(claims))) === undefined)
    throw new TypeError(`key ${keySet.active.kid} does not verify what it signs`);
  // An ID token is only ever signed after an access token, in the same request: this guards both.
  return signOnlyWhile(maySign, signer, telemetry.metrics);
}

/** Undefined where the file says nothing of sign-ins. */
function signInOf({ config, factors, now }: EngineParts, loadClient: LoadClient): SignInPolicy | undefined {
  const levels = levelsOf(config);
  return levels && createSignInPolicy({ config, levels, factors, loadClient, now });
}

/** Which claims of people apps and APIs get, who may use which, and who may introspect. */
function policiesOfPeople(
  { config, accounts, telemetry: { audit } }: EngineParts,
  made: Pick<ConfigurationParts, 'audiences' | 'loadClient' | 'signIn'>,
) {
  const rules = createAccessRules(config);
  const findLive: Accounts['findLive'] = (id, issued) => accounts.findLive(id, issued);
  const { audiences } = made;
  const claims = createClaims({ config, audiences, rules });
  const access = createAccessPolicy({ config, rules, audiences, audit });
  return {
    findLive,
    claims,
    access,
    disclose: createDisclose({ ...made, claims, findLive, access }),
  };
}

type ClientHooksParts = {
  readonly lookup: ClientLookup;
  readonly secrets: SecretComparison;
  readonly clientLimits: ClientLimits;
  readonly findDefault: FindDefault;
};

/** What the engine's client does when it says who it is, and before its code or token is used up. */
function clientHooks({ lookup, secrets, clientLimits, findDefault }: ClientHooksParts) {
  const { find: findClient } = lookup;
  const { admit, takeBeforeUse } = clientLimits;

  async function admitClient(ctx: KoaContextWithOIDC | undefined, clientId: string): Promise<void> {
    const client = findClient(clientId);
    if (ctx !== undefined && client !== undefined) await admit(ctx, client);
  }

  return {
    defaultScopeOf(clientId, resource) {
      const client = findClient(clientId);
      return client && findDefault({ client, resource, isForPerson: true }).join(' ');
    },
    async compareClientSecret(ctx, clientId, secret) {
      const isRight = await secrets.compare(requestOf(ctx), clientId, secret);
      if (isRight) await admitClient(ctx, clientId);
      return isRight;
    },
    admitPublicClient: admitClient,
    takeBeforeUse,
  } satisfies Partial<SeamParts>;
}

/** Where and from where a client says who it is. */
function requestOf(ctx: KoaContextWithOIDC | undefined): ClientRequest {
  return {
    endpoint: clientLimitOf(ctx?.oidc.route),
    address: String(ctx?.state['clientAddress'] ?? ''),
  };
}

/** Refuses before a code or a refresh token is used up for an answer that can't be signed. */
function keepGrants(maySign: () => boolean): Middleware {
  return async function keepGrant(ctx, next) {
    if (ctx.path === ENDPOINTS.token && ctx.method === 'POST') assertMaySign(maySign);
    await next();
  };
}
