// Makes the resolved configuration from a file that has no problems. Owns the step from the file's names and notation
// to the service's; it decides nothing.
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { applicationTypeOf } from './check-clients.ts';
import type {
  AuditConfig,
  Branding,
  Client,
  ClientSecret,
  Config,
  Lifetimes,
  RateLimits,
  Resource,
  StoreConfig,
  User,
} from './config.ts';
import { complete, type Entry } from './rules.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import type { UserForm } from './schema-user.ts';
import type { ServiceForm } from './schema.ts';
import { splitScope } from './text.ts';
import { processesOf } from './threads.ts';
import { normalizeIssuer } from './uri.ts';

/** Everything that was read, all of it in order. */
export type Sources = {
  readonly service: Entry<ServiceForm>;
  readonly clients: readonly Entry<ClientForm>[];
  readonly resources: readonly Entry<ResourceForm>[];
  readonly users: readonly Entry<UserForm>[];
  readonly store: StoreConfig;
  readonly clientSecrets: ReadonlyMap<Entry<ClientForm>, readonly ClientSecret[]>;
  readonly encryptionKeys: readonly string[];
  readonly cookieKeys: readonly string[];
  readonly notices: readonly string[];
};

/** The configuration as the rest of the service sees it. */
export function toConfig(sources: Sources): Config {
  const form = complete(sources.service);
  return {
    issuer: normalizeIssuer(form.issuer),
    listen: form.listen,
    management: form.management,
    store: sources.store,
    workers: form.workers === 'auto' ? processesOf(availableParallelism()) : form.workers,
    log: form.log,
    audit: toAudit(form.audit, sources.service.folder),
    trustedProxies: form.trusted_proxies,
    hstsIncludeSubdomains: form.hsts_include_subdomains,
    encryptionKeys: sources.encryptionKeys.map((key) => Buffer.from(key, 'base64url')),
    cookieKeys: sources.cookieKeys,
    secretFiles: form.secret_files,
    cors: { allowedOrigins: form.cors.allowed_origins },
    features: { clientCredentials: form.features.client_credentials, pkce: form.features.pkce },
    rateLimits: toRateLimits(form.rate_limits),
    lifetimes: toLifetimes(form.lifetimes),
    refreshTokenGrace: form.refresh_token_grace,
    signingKeys: {
      modulus: form.signing_keys.modulus,
      rotateEvery: form.signing_keys.rotate_every,
      publishAhead: form.signing_keys.publish_ahead,
      jwksMaxAge: form.signing_keys.jwks_max_age,
    },
    resources: sources.resources.map((entry) => toResource(complete(entry))),
    clients: sources.clients.map((entry) =>
      toClient(complete(entry), sources.clientSecrets.get(entry) ?? []),
    ),
    users: sources.users.map((entry) => toUser(complete(entry))),
    usersFrom: form.users_from === undefined ? undefined : resolve(sources.service.folder, form.users_from),
    passwords: { minLength: form.passwords.min_length },
    viewsFolder: form.views === undefined ? undefined : resolve(sources.service.folder, form.views),
    branding: toBranding(form.branding),
    notices: sources.notices,
  };
}

function toAudit(audit: string, folder: string): AuditConfig {
  if (audit === 'stdout' || audit === 'off') return { to: audit };
  return { to: 'file', file: resolve(folder, audit.slice('file:'.length)) };
}

function toRateLimits(form: ServiceForm['rate_limits']): RateLimits {
  return {
    dryRun: form.dry_run,
    token: form.token,
    introspection: form.introspection,
    revocation: form.revocation,
    userinfo: form.userinfo,
    authorization: form.authorization,
    logout: form.logout,
    signIn: {
      accountFailures: form.sign_in.account_failures,
      addressFailures: form.sign_in.address_failures,
    },
  };
}

function toLifetimes(form: ServiceForm['lifetimes']): Lifetimes {
  return {
    accessToken: form.access_token,
    idToken: form.id_token,
    authorizationCode: form.authorization_code,
    refreshToken: form.refresh_token,
    refreshTokenAbsolute: form.refresh_token_absolute,
    session: form.session,
    sessionAbsolute: form.session_absolute,
    consent: form.consent,
    interaction: form.interaction,
  };
}

function toBranding(form: ServiceForm['branding']): Branding {
  return {
    name: form.name,
    logo: form.logo,
    logoDark: form.logo_dark,
    favicon: form.favicon,
    color: form.color,
    privacyUri: form.privacy_uri,
    termsUri: form.terms_uri,
    imprintUri: form.imprint_uri,
  };
}

function toResource(form: ResourceForm): Resource {
  return {
    resource: form.resource,
    name: form.name,
    scopes: [...new Set(form.scopes)],
    scopeDescriptions: form.scope_descriptions,
    accessToken: form.access_token,
    clients: form.clients,
    introspectionClients: form.introspection_clients,
    introspectionUsername: form.introspection_username,
  };
}

function toClient(form: ClientForm, secrets: readonly ClientSecret[]): Client {
  const { token, introspection, revocation } = form.rate_limits;
  return {
    clientId: form.client_id,
    clientName: form.client_name,
    applicationType: applicationTypeOf(form),
    secrets,
    redirectUris: form.redirect_uris,
    postLogoutRedirectUris: form.post_logout_redirect_uris,
    grantTypes: form.grant_types,
    tokenEndpointAuthMethod: form.token_endpoint_auth_method,
    scopes: splitScope(form.scope),
    requirePkce: form.require_pkce,
    allowedCorsOrigins: form.allowed_cors_origins,
    rateLimits: {
      ...(token && { token }),
      ...(introspection && { introspection }),
      ...(revocation && { revocation }),
    },
    consent: form.consent,
    idTokenClaims: form.id_token_claims,
    logoUri: form.logo_uri,
    clientUri: form.client_uri,
    initiateLoginUri: form.initiate_login_uri,
    policyUri: form.policy_uri,
    tosUri: form.tos_uri,
  };
}

function toUser({ id, username, password_hash: passwordHash, disabled, ...claims }: UserForm): User {
  const known = Object.entries(claims).filter(([, value]) => value !== undefined);
  return { id, username, passwordHash, disabled, claims: Object.fromEntries(known) };
}
