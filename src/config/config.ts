// The types of the configuration as the service uses it: plain, readonly, complete. Every secret reference has been read,
// every duration is in seconds, every path is absolute.
import type { CamelKeys } from './camel-keys.ts';
import { type ConfigProblem, formatProblem } from './problems.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import type { ServiceForm } from './schema.ts';
import type { SecretHash } from './secret-strength.ts';
import type { TelemetrySettings } from '../observability/telemetry.ts';

export type RateLimits = ServiceForm['rate_limits'];
/** In seconds. */
export type Lifetimes = ServiceForm['lifetimes'];
export type Branding = ServiceForm['branding'];
/** Undefined where the file has no `sign_in`. */
export type SignInSettings = ServiceForm['sign_in'];

export type StoreConfig =
  | Readonly<{ engine: 'lmdb'; folder: string }>
  /** redis://, redis+sentinel:// or redis+cluster://, rediss for TLS (redis-url.ts). Never printed, because it may contain a password. */
  | Readonly<{ engine: 'redis'; url: string }>;

export type AuditConfig = TelemetrySettings['audit'];

/** An API that accepts our tokens (RFC 8707 resource). */
export type Resource = CamelKeys<ResourceForm>;

export type ClientSecret = SecretHash & {
  readonly name?: string | undefined;
  /** Epoch seconds. */
  readonly notBefore?: number | undefined;
  readonly expiresAt?: number | undefined;
};

export type Client = Omit<
  CamelKeys<ClientForm>,
  'scope' | 'defaultScope' | 'applicationType' | 'clientSecret' | 'clientSecrets'
> & {
  readonly scopes: readonly string[];
  /** Scopes of a request without `scope`. */
  readonly defaultScopes?: readonly string[] | undefined;
  readonly applicationType: 'web' | 'native';
  readonly secrets: readonly ClientSecret[];
};

/** A user from `users_from`. Standard claims have their OIDC Core §5.1 names, and custom claims are next to them. */
export type UserEntry = Readonly<{
  /** The `sub` of this user, which never changes: `usr_` and at least 16 random characters. */
  id: string;
  username: string;
  /** argon2id, PHC string. Undefined for a user in the file who has a passkey, and for an invited user in the store. */
  passwordHash: string | undefined;
  disabled: boolean;
  /** Sorted, without duplicates. Users in the store may have groups that the file doesn't define; these give no access. */
  groups: readonly string[];
  claims: Readonly<Record<string, unknown>>;
}>;

/** The running configuration: the values in the file, with each reference replaced by its secret or file content. */
export type Config = Omit<
  CamelKeys<ServiceForm>,
  '$schema' | 'store' | 'audit' | 'encryptionKeys' | 'clientsFrom' | 'views'
> & {
  readonly store: StoreConfig;
  readonly audit: AuditConfig;
  /** 32 bytes each; the first encrypts, all decrypt. */
  readonly encryptionKeys: readonly Buffer[];
  readonly resources: readonly Resource[];
  readonly clients: readonly Client[];
  readonly users: readonly UserEntry[];
  readonly viewsFolder?: string | undefined;
  /** Notices for the administrator at startup (keys generated, …), one line each. Never contain a secret. */
  readonly notices: readonly string[];
};

export type ScopeSettings = Pick<Config, 'groups' | 'scopes' | 'resources'>;

export type AccessSettings = Pick<Config, 'groups' | 'clients' | 'resources'>;

/** The scopes that the issuer always has. The file can add user scopes; all others belong to a resource. */
export const SPECIFICATION_SCOPES = ['openid', 'email', 'profile', 'offline_access'] as const;

/** Lists the scopes that belong to no API. */
export function userScopes({ groups = {}, scopes = {} }: Partial<ScopeSettings>): readonly string[] {
  const ofGroups = Object.keys(groups).length > 0 ? ['groups'] : [];
  return [...new Set([...SPECIFICATION_SCOPES, ...ofGroups, ...Object.keys(scopes)])];
}

/** The sources of a configuration, to notice changes. All paths are absolute. */
export type ConfigSources = Readonly<{
  /** Every file that was read or looked for, including missing files. */
  files: readonly string[];
  /** Patterns of `clients_from`: a new file that matches is a change too. */
  patterns: readonly string[];
}>;

/** Contains every problem of a configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];
  /** The sources that were read before the failure: a change of one may make the configuration load. */
  readonly sources: ConfigSources;

  constructor(problems: readonly ConfigProblem[], sources: ConfigSources = { files: [], patterns: [] }) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.sources = sources;
  }
}
