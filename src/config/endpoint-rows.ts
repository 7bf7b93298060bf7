// What a row of the table of endpoints says (endpoints.ts), and of that of grants (grants.ts); and what rows have in common.

/** What a client's requests and failures count as. */
export type ClientLimit = 'token' | 'introspection' | 'revocation';

/** By address; `pages` are the steps between a browser's request and its answer. */
type AddressLimit = 'userinfo' | 'authorization' | 'logout' | 'pages';

/** Who calls: a client that says who it is (RFC 6749 §2.3), another program, or a user's browser. */
type Called =
  | { readonly caller: 'client'; readonly limit: ClientLimit }
  | { readonly caller: 'program' | 'person'; readonly limit: AddressLimit | undefined };

export type Row = Called & {
  /** Relative to the issuer; `:part` stands for one of PARTS. */
  readonly path: string;
  /** What the engine calls it; undefined where the host answers. */
  readonly route: string | undefined;
  /** The engine is told the path; it derives or knows the others. */
  readonly isMounted?: boolean;
  /** By address, of a client without a secret, where it isn't `limit`. */
  readonly publicLimit?: string;
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[];
  /** Whether scripts in a browser may call it, given an allowed origin. */
  readonly isScriptable: boolean;
  /** Of a body, where less than elsewhere. */
  readonly maxBytes?: number;
  /** Where a sign-in comes back to that a page of a feature has begun (oidc/own-client.ts). */
  readonly isCallback?: boolean;
};

/** A grant of the token endpoint by which a user allows an app something. */
export type UserGrant = Readonly<{
  type: string;
  /** Routes of the engine: where an app asks for it, and where a user returns to from the pages of a sign-in. */
  begins: string;
  resumes: string;
}>;

/** Metrics, log and traces have `name`, because a path can contain anything. */
export type Endpoint = Row & { readonly name: string };

export const CLIENT = { methods: ['POST'], caller: 'client', isScriptable: true } as const;
export const PROGRAM = { caller: 'program', isScriptable: true } as const;
/** Public, cached and cheap, so without a limit. */
export const DOCUMENT = { ...PROGRAM, methods: ['GET', 'HEAD'], limit: undefined } as const;
/** RFC 8414 §3.1 and OIDC Discovery §4 have the same document at paths that the engine knows. */
export const METADATA = { ...DOCUMENT, route: 'discovery' } as const;
/** OIDC Core §3.1.2.1 and RP-Initiated Logout §2 want POST besides GET, and so does OIDC Core §5.3.1 of userinfo. */
export const BROWSER = {
  methods: ['GET', 'POST'],
  caller: 'person',
  isScriptable: false,
  // Becomes a query (http/form-as-query.ts).
  maxBytes: 8 * 1024,
} as const;
export const PAGE = { ...BROWSER, route: undefined, limit: 'pages', maxBytes: 16 * 1024 } as const;

/** Where users help themselves. */
export const ACCOUNT_PATH = '/account';
/** The user's own page for second factors. */
export const FACTORS_PATH = '/account/factors';
