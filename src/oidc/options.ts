// Every engine option of the core, including those that are off. Features add theirs with `engine` in their run.ts.
import type { Adapter, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { ENGINE_PATHS } from '../config/endpoints.ts';
import { joinParts } from '../features/index.ts';
import type { Parts } from '../features/parts.ts';
import { createAdapter } from './adapter.ts';
import type { App } from './app.ts';
import { clientMetadataOf, type Clients } from './clients.ts';
import { cookieNames, SIGNED } from './cookie-names.ts';
import { joinGuards } from './guard.ts';
import { createLoadExistingGrant, endImplicitGrants } from './policies/existing-grant.ts';
import { createInteractionPolicy } from './policies/interaction-policy.ts';
import { createLifetimes } from './lifetimes.ts';
import { modelOf } from './models.ts';
import { narrowScopes } from './policies/narrowed-scope.ts';
import { createRestoreOfflineAccess, refreshesUnasked } from './policies/offline-access.ts';
import {
  createRefreshCheck,
  createResourceHooks,
  knownScopes,
  type RestoreScope,
} from './policies/scopes.ts';
import { createSessionAdapter } from './session-records.ts';
import { issuedBySession, issuedByToken } from './seam/session-sign-in.ts';
import { toEngineKeys } from './signing-keys.ts';
import { authenticationClaims, claimsForApi } from './token-claims.ts';
import {
  createDisclose,
  createIntrospectionPolicy,
  createRevocationPolicy,
} from './policies/token-policies.ts';

function openAdapter(name: string, app: Hooked): Adapter {
  if (name === 'Session') return createSessionAdapter(app);
  const adapter = createAdapter(name, app);
  if (name === 'Grant') return endImplicitGrants(adapter, app);
  if (name !== 'Client') return adapter;
  return {
    ...adapter,
    async find(id) {
      const client = await app.clients.load(id);
      return client && app.metadataOf(client);
    },
  };
}

type Hooked = ReturnType<typeof withFeatures>;

export function withFeatures(app: App, features: readonly Parts[]) {
  const guard = joinGuards(features.map(({ guard: own }) => own));
  const { narrowing } = features.find((one) => one.narrowing !== undefined) ?? {};
  const metadataOf = clientMetadataOf(features);
  return { ...app, features, guard, narrowing, metadataOf, disclose: createDisclose(app, guard) };
}

export function createConfiguration(app: Hooked): Configuration {
  const { config, issuer, keySet, audiences, enginePages, now } = app;
  const { clients, browsers, features, narrowing } = app;
  const restoreOfflineAccess = createRestoreOfflineAccess(app.log);
  const checkRefresh = createRefreshCheck(app);
  const engines = features.flatMap(({ engine }) => engine ?? []);

  return {
    adapter(name: string) {
      const { traits } = modelOf(name);
      const [own] = features.flatMap(({ adapter }) => adapter?.(name) ?? []);
      const stored = own ?? openAdapter(name, app);
      return traits.includes('scoped') ? narrowScopes(stored, app.stillAllowed) : stored;
    },
    jwks: toEngineKeys(keySet),
    cookies: { names: cookieNames(issuer), long: SIGNED, short: SIGNED, keys: [...config.cookieKeys] },
    routes: ENGINE_PATHS,
    ...claimsAndLevels(app),
    // createFindAccount decides the claims of an ID token for each client.
    conformIdTokenClaims: false,
    scopes: [...knownScopes(config)],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    enabledJWA: { idTokenSigningAlgValues: [...config.signingKeys.algorithms] },
    ttl: joinParts([createLifetimes(config.lifetimes, audiences, now), ...engines.map(({ ttl }) => ttl)]),
    // RFC 9700 §2.1.1: PKCE for every client; the configuration can exempt only a confidential one.
    pkce: { required: (_ctx, { clientId }) => clients.find(clientId)?.requirePkce ?? true },
    // RFC 9700 §4.14.2: always rotate.
    async rotateRefreshToken(ctx) {
      await checkRefresh(ctx);
      return true;
    },
    issueRefreshToken: async (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') && isLasting(source, clients),
    // Without lasting access, a code and its tokens end with the session.
    expiresWithSession: async (_ctx, source) => !(await isLasting(source, clients)),
    // A revoked grant stays revoked, so the grant itself is destroyed too and the next sign-in creates a new one.
    revokeGrantPolicy: () => true,
    clientBasedCORS: () => true, // http/cors.ts decides, in front of everything
    acceptQueryParamAccessTokens: false, // RFC 9700 §4.3.2
    // OIDC Core §3.1.2.1 requires redirect_uri, and RFC 6749 §4.1.3 the same one again with the code.
    allowOmittingSingleRegisteredRedirectUri: false,
    interactions: {
      async url(ctx, interaction) {
        // The engine has just saved it; both saves become one write at the end of the request.
        await Object.assign(interaction, {
          browser: browsers.bind(ctx, interaction),
          ...narrowing?.kept(ctx),
        }).persist();
        return `${issuer}/interaction/${interaction.uid}`;
      },
      policy: createInteractionPolicy(features),
    },
    findAccount: createFindAccount(app),
    loadExistingGrant: createLoadExistingGrant(app, narrowing),
    extraTokenClaims: config.resources.some(({ accessTokenClaims }) => accessTokenClaims.length > 0)
      ? async (ctx, token) => ({
          ...authenticationClaims(ctx, token),
          ...(await claimsForApi(ctx, token, app)),
        })
      : authenticationClaims,
    renderError: enginePages.renderError,
    features: joinParts([
      featuresOf(app, (ctx, client) => {
        Object.assign(ctx.oidc.params ?? {}, ctx.state['stepUp']);
        narrowing?.restore(ctx);
        restoreOfflineAccess(ctx, client);
      }),
      ...engines.map((engine) => engine.features),
    ]),
  };
}

/** OIDC Core §2: `acr` and `amr` are in every ID token, requested or not, when the configuration has `sign_in`. */
function claimsAndLevels({ claims: { byScope }, levels }: App) {
  if (levels === undefined) return { claims: byScope };
  const { offered, nameOf } = levels;
  const openid = [...(byScope['openid'] ?? []), 'acr', 'amr'];
  return { claims: { ...byScope, openid }, acrValues: offered.map(nameOf) };
}

function createFindAccount({
  accounts,
  claims,
  clients,
  guard,
}: Hooked): NonNullable<Configuration['findAccount']> {
  return async function findAccount(ctx, id, token) {
    const { provider, session } = ctx.oidc;
    const issued =
      token === undefined ? session && issuedBySession(session) : await issuedByToken(provider, token);
    const account = issued && (await accounts.findLive(id, issued));
    if (account === undefined) return undefined;
    if (token !== undefined && !(await guard.admit(ctx, account, token))) return undefined;
    const all = () => claims.forClient(account, ctx.oidc.client?.clientId);
    const ofIdToken = async (scope: string) =>
      claims.inIdToken(all(), (await wantsFullIdToken(ctx, clients)) ? scope : '');
    return {
      accountId: id,
      groups: account.groups,
      claims: async (use, scope) => ({
        sub: id,
        ...(use === 'id_token' ? await ofIdToken(scope) : all()),
      }),
    };
  };
}

async function isLasting({ scopes, clientId }: Scoped, clients: Clients): Promise<boolean> {
  if (scopes.has('offline_access')) return true;
  const client = await clients.load(clientId);
  return client !== undefined && refreshesUnasked(client, [...scopes]);
}

type Scoped = Readonly<{ scopes: ReadonlySet<string>; clientId?: string | undefined }>;

/**
 * OIDC Core §5.4: userinfo has the claims of scopes, so an ID token has them only if no access token works there, as with
 * `resource`, or for a client that reads only the ID token (`id_token_claims: full`).
 */
async function wantsFullIdToken({ oidc }: KoaContextWithOIDC, clients: Clients): Promise<boolean> {
  const settings = await clients.load(oidc.client?.clientId);
  return settings?.idTokenClaims === 'full' || oidc.entities.AccessToken?.aud !== undefined;
}

/** The engine's features; those that aren't named are off. */
function featuresOf(app: Hooked, restoreScope: RestoreScope): NonNullable<Configuration['features']> {
  const { disclose, enginePages } = app;
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    userinfo: { enabled: true },
    clientCredentials: { enabled: true },
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    introspection: {
      enabled: true,
      allowedPolicy: createIntrospectionPolicy(disclose),
    },
    revocation: {
      enabled: true,
      allowedPolicy: createRevocationPolicy(app),
    },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      ...createResourceHooks(app, restoreScope),
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: enginePages.logoutSource,
      postLogoutSuccessSource: enginePages.postLogoutSuccessSource,
    },
  };
}
