// The resolved configuration: plain, readonly, complete. Every secret reference has been read, every duration is in
// seconds, every path is absolute. Owns the types only: schema.ts has the file's form, load.ts makes one from the other.

/** `N/duration`: at most `limit` in `windowSeconds`. */
export type Rate = { readonly limit: number; readonly windowSeconds: number };

export type RateLimits = {
  readonly dryRun: boolean;
  readonly token: { readonly client: Rate; readonly address: Rate; readonly failures: Rate };
  readonly introspection: { readonly client: Rate; readonly failures: Rate; readonly unknown: Rate };
  readonly revocation: { readonly client: Rate; readonly failures: Rate };
  readonly userinfo: { readonly address: Rate };
  readonly authorization: { readonly address: Rate };
  readonly logout: { readonly address: Rate };
  readonly signIn: { readonly accountFailures: Rate; readonly addressFailures: Rate };
};

/** All in seconds. */
export type Lifetimes = {
  readonly accessToken: number;
  readonly idToken: number;
  readonly authorizationCode: number;
  readonly refreshToken: number;
  readonly refreshTokenAbsolute: number;
  /** Of a browser that does nothing. */
  readonly session: number;
  /** From the sign-in, however busy the browser is. */
  readonly sessionAbsolute: number;
  /** How long what a person allowed an app is remembered. */
  readonly consent: number;
  readonly interaction: number;
};

export type StoreConfig =
  | { readonly engine: 'lmdb'; readonly folder: string }
  /** redis://, redis+sentinel:// or redis+cluster://, or rediss for TLS (redis-url.ts); the password may be inside, so it is never printed. */
  | { readonly engine: 'redis'; readonly url: string };

export type LogConfig = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** `auto`: readable in a terminal, JSON elsewhere. */
  readonly format: 'auto' | 'json' | 'readable';
};

/** Where the audit trail goes. */
export type AuditConfig = { readonly to: 'stdout' | 'off' } | { readonly to: 'file'; readonly file: string };

/** An API that accepts our tokens (RFC 8707 resource). */
export type Resource = {
  readonly resource: string;
  /** What people read instead of the identifier. */
  readonly name?: string | undefined;
  readonly scopes: readonly string[];
  /** Scope -> plain words for the consent page. */
  readonly scopeDescriptions?: Readonly<Record<string, string>> | undefined;
  /** Access token lifetime in seconds for this audience; the general one when absent. */
  readonly accessToken?: number | undefined;
  /** client_ids that may get tokens for a resource without scopes; empty for any other. */
  readonly clients: readonly string[];
  /** client_ids that may introspect tokens of this audience. */
  readonly introspectionClients: readonly string[];
  /** Whether those hear the login name of the person. */
  readonly introspectionUsername: boolean;
};

/** What is kept of a secret: never the value itself. */
export type SecretHash =
  /** SHA-256 of the UTF-8 bytes, 32 bytes: for random secrets, and cheap enough for every request. */
  | { readonly kind: 'sha256'; readonly digest: Buffer }
  /** argon2id, PHC string: imported from elsewhere, and slow on purpose. */
  | { readonly kind: 'argon2id'; readonly phc: string };

export type ClientSecret = SecretHash & {
  readonly name?: string | undefined;
  /** Epoch seconds. */
  readonly notBefore?: number | undefined;
  readonly expiresAt?: number | undefined;
};

export type GrantType = 'authorization_code' | 'refresh_token' | 'client_credentials';
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none';

export type Client = {
  readonly clientId: string;
  readonly clientName?: string | undefined;
  readonly applicationType: 'web' | 'native';
  readonly secrets: readonly ClientSecret[];
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  readonly scopes: readonly string[];
  readonly requirePkce: boolean;
  readonly allowedCorsOrigins: readonly string[];
  readonly rateLimits: { readonly token?: Rate; readonly introspection?: Rate; readonly revocation?: Rate };
  readonly consent: 'explicit' | 'implicit';
  /** `full`: the claims of the granted scopes are in the ID token, besides userinfo. */
  readonly idTokenClaims: 'minimal' | 'full';
  readonly logoUri?: string | undefined;
  readonly clientUri?: string | undefined;
  /** OIDC Core §4: where the app itself begins a sign-in. */
  readonly initiateLoginUri?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly tosUri?: string | undefined;
};

/** A person from `users_from`. Claims have their OIDC Core §5.1 names. */
export type User = {
  /** `usr_` and at least 16 random characters: the `sub` of this person, for ever. */
  readonly id: string;
  readonly username: string;
  /** argon2id, PHC string. */
  readonly passwordHash: string;
  readonly disabled: boolean;
  readonly claims: Readonly<Record<string, unknown>>;
};

export type Branding = {
  readonly name: string;
  readonly logo?: string | undefined;
  readonly logoDark?: string | undefined;
  readonly favicon?: string | undefined;
  readonly color?: string | undefined;
  readonly privacyUri?: string | undefined;
  readonly termsUri?: string | undefined;
  readonly imprintUri?: string | undefined;
};

export type Config = {
  /** Without a trailing slash; may have a path. */
  readonly issuer: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly management: {
    readonly host: string;
    readonly port: number;
    /** Host names, besides localhost and `host`, that requests may be addressed to. */
    readonly hosts: readonly string[];
  };
  readonly store: StoreConfig;
  readonly workers: number;
  readonly log: LogConfig;
  readonly audit: AuditConfig;
  readonly trustedProxies: readonly string[];
  readonly hstsIncludeSubdomains: boolean;
  /** 32 bytes each; the first encrypts, all decrypt. */
  readonly encryptionKeys: readonly Buffer[];
  /** The first signs cookies, all verify. */
  readonly cookieKeys: readonly string[];
  /** Whether files with secrets that others may read or write are refused. */
  readonly secretFiles: 'private' | 'any_mode';
  readonly cors: { readonly allowedOrigins: readonly string[] };
  readonly features: { readonly clientCredentials: boolean; readonly pkce: 'required' | 'per_client' };
  readonly rateLimits: RateLimits;
  readonly lifetimes: Lifetimes;
  readonly refreshTokenGrace: number;
  readonly signingKeys: {
    readonly modulus: number;
    readonly rotateEvery: number;
    readonly publishAhead: number;
    readonly jwksMaxAge: number;
  };
  readonly resources: readonly Resource[];
  readonly clients: readonly Client[];
  readonly users: readonly User[];
  /** Absolute path of the file that they are in. */
  readonly usersFrom?: string | undefined;
  readonly passwords: { readonly minLength: number };
  /** Absolute path of the operator's views, when configured. */
  readonly viewsFolder?: string | undefined;
  readonly branding: Branding;
  /** One line each: what the start should tell the operator (keys generated, …). Never a secret. */
  readonly notices: readonly string[];
};

/** The specification's scopes (Spec §1); all other scopes belong to a resource. */
export const SPECIFICATION_SCOPES = ['openid', 'email', 'profile', 'offline_access'] as const;

/** One thing that is wrong with the configuration, in the words of the person who must repair it. */
export type ConfigProblem = {
  readonly file: string;
  /** 1-based, absent when the file itself can't be read. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Where in the document, as `clients[2].redirect_uris`. */
  readonly path?: string | undefined;
  readonly message: string;
};

/** What a configuration was made from, so that a change of it can be noticed. All absolute. */
export type ConfigSources = {
  /** Every file that was read or looked for, also one that isn't there. */
  readonly files: readonly string[];
  /** Patterns of `clients_from`: a new file that matches is a change too. */
  readonly patterns: readonly string[];
};

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

/** `config/postern.yaml:12:5 clients[0].redirect_uris: …`, the form that editors turn into a link. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return path ? `${place} ${path}: ${message}` : `${place} ${message}`;
}
