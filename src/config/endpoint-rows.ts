// Types of the rows of endpoints and grants (endpoints.ts), and the values that rows share.

/** The limit that a client's requests and failures count against. */
export type ClientLimit = 'token' | 'introspection' | 'revocation';

/** Limits by address. `pages` covers the steps between a browser's request and its response. */
type AddressLimit = 'userinfo' | 'authorization' | 'logout' | 'pages';

/** The caller: a client that identifies itself (RFC 6749 §2.3), another program, or a user's browser. */
type Called =
  | Readonly<{ caller: 'client'; limit: ClientLimit }>
  | Readonly<{ caller: 'program' | 'person'; limit: AddressLimit | undefined }>;

export type Row = Called & {
  /** Relative to the issuer. `:part` stands for one of PARTS. */
  readonly path: string;
  /** The name of the engine's route. Undefined if the engine doesn't answer it. */
  readonly route: string | undefined;
  /** Whether the engine is configured with the path. It derives or knows the others. */
  readonly isMounted?: boolean;
  /** The limit by address for a client without a secret, if it isn't `limit`. */
  readonly publicLimit?: string;
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[];
  /** Whether browser scripts from an allowed origin may call it. */
  readonly isScriptable: boolean;
  /** Maximum size of the body, if less than the default. */
  readonly maxBytes?: number;
  /** Whether a sign-in that a feature's page started returns here (oidc/internal-client.ts). */
  readonly isCallback?: boolean;
};

/** A grant of the token endpoint that a user gives an app. */
export type UserGrant = Readonly<{
  type: string;
  /** Routes of the engine: where an app requests the grant, and where a user returns after the sign-in pages. */
  begins: string;
  resumes: string;
}>;

/** Metrics, logs and traces use `name`, because a path can contain anything. */
export type Endpoint = Row & { readonly name: string };

export const CLIENT = { methods: ['POST'], caller: 'client', isScriptable: true } as const;
export const PROGRAM = { caller: 'program', isScriptable: true } as const;
/** Public, cached and cheap, so without a limit. */
export const DOCUMENT = { ...PROGRAM, methods: ['GET', 'HEAD'], limit: undefined } as const;
/** RFC 8414 §3.1 and OIDC Discovery §4: the same document at two paths, which the engine knows. */
export const METADATA = { ...DOCUMENT, route: 'discovery' } as const;
/** OIDC Core §3.1.2.1 and RP-Initiated Logout §2 require GET and POST, as OIDC Core §5.3.1 does for userinfo. */
export const BROWSER = {
  methods: ['GET', 'POST'],
  caller: 'person',
  isScriptable: false,
  // The body becomes a query (http/form-as-query.ts).
  maxBytes: 8 * 1024,
} as const;
export const PAGE = { ...BROWSER, route: undefined, limit: 'pages', maxBytes: 16 * 1024 } as const;

export const ACCOUNT_PATH = '/account';
export const FACTORS_PATH = '/account/factors';
