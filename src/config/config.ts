// The types of the configuration as the service has it: plain, readonly, complete. Every secret reference has been read,
// every duration is in seconds, every path is absolute.
import type { CamelKeys } from './camel-keys.ts';
import { type ConfigProblem, formatProblem } from './problems.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import type { ServiceForm } from './schema.ts';
import type { SecretHash } from './secret-strength.ts';
import type { TelemetrySettings } from '../observability/telemetry.ts';

export type { Rate } from './notation.ts';
export type { SecretHash } from './secret-strength.ts';

export type RateLimits = ServiceForm['rate_limits'];
/** All in seconds. */
export type Lifetimes = ServiceForm['lifetimes'];
export type Branding = ServiceForm['branding'];
/** Undefined where the file has no `sign_in`. */
export type SignInSettings = ServiceForm['sign_in'];

export type StoreConfig =
  | { readonly engine: 'lmdb'; readonly folder: string }
  /** redis://, redis+sentinel:// or redis+cluster://, or rediss for TLS (redis-url.ts); the password may be inside, so it is never printed. */
  | { readonly engine: 'redis'; readonly url: string };

export type AuditConfig = TelemetrySettings['audit'];

/** An API that accepts our tokens (RFC 8707 resource). */
export type Resource = CamelKeys<ResourceForm>;

export type ClientSecret = SecretHash & {
  readonly name?: string | undefined;
  /** Epoch seconds. */
  readonly notBefore?: number | undefined;
  readonly expiresAt?: number | undefined;
};

/** A client, with its scope as a list and with what is kept of its secrets. */
export type Client = Omit<
  CamelKeys<ClientForm>,
  'scope' | 'defaultScope' | 'applicationType' | 'clientSecret' | 'clientSecrets'
> & {
  readonly scopes: readonly string[];
  /** What a request without scope gets. */
  readonly defaultScopes?: readonly string[] | undefined;
  readonly applicationType: 'web' | 'native';
  readonly secrets: readonly ClientSecret[];
};

/** A user from `users_from`. Standard claims have their OIDC Core §5.1 names; custom ones are beside them. */
export type UserEntry = Readonly<{
  /** `usr_` and at least 16 random characters: the `sub` of this user, for ever. */
  id: string;
  username: string;
  /** argon2id, PHC string. Undefined: a user of the file who has a passkey, or one of the store who was invited. */
  passwordHash: string | undefined;
  disabled: boolean;
  /** Sorted, each once. For users of the store also names that the file doesn't define, which give nothing. */
  groups: readonly string[];
  claims: Readonly<Record<string, unknown>>;
}>;

/** What the service runs with: the file's own values, and what was read from where they point to. */
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
  /** Absolute path of the operator's views, when configured. */
  readonly viewsFolder?: string | undefined;
  /** One line each: notices for the operator at the start (keys generated, …). Never a secret. */
  readonly notices: readonly string[];
};

/** Which scopes there are. */
export type ScopeSettings = Pick<Config, 'groups' | 'scopes' | 'resources'>;

/** Who may use what. */
export type AccessSettings = Pick<Config, 'groups' | 'clients' | 'resources'>;

/** The scopes of the issuer itself; all others belong to a resource. */
export const SPECIFICATION_SCOPES = ['openid', 'email', 'profile', 'offline_access'] as const;

/** Every scope that is about a user and of no API: the specification's, and those that the file switches on. */
export function userScopes({ groups = {}, scopes = {} }: Partial<ScopeSettings>): readonly string[] {
  const ofGroups = Object.keys(groups).length > 0 ? ['groups'] : [];
  return [...new Set([...SPECIFICATION_SCOPES, ...ofGroups, ...Object.keys(scopes)])];
}

/** What a configuration was made from, so that a change of it can be noticed. All absolute. */
export type ConfigSources = Readonly<{
  /** Every file that was read or looked for, also one that isn't there. */
  files: readonly string[];
  /** Patterns of `clients_from`: a new file that matches is a change too. */
  patterns: readonly string[];
}>;

/** Every problem of a configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];
  /** As far as reading came: what may have to change before it loads. */
  readonly sources: ConfigSources;

  constructor(problems: readonly ConfigProblem[], sources: ConfigSources = { files: [], patterns: [] }) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.sources = sources;
  }
}
