// The table of all paths that are served, and the grants of the token endpoint. The engine mounts its routes from it; the edge, CORS,
// limits, errors and metrics use it.
import { list } from '../features/index.ts';
import {
  BROWSER,
  CLIENT,
  type ClientLimit,
  DOCUMENT,
  type Endpoint,
  METADATA,
  PAGE,
  PROGRAM,
  type Row,
  type UserGrant,
} from './endpoint-rows.ts';

export const PARTS: Readonly<Record<string, string>> = {
  ':uid': '[\\w-]{21,64}',
  ':link': '[\\w-]{43}',
  ':purpose': '(invite|reset|factors)',
  ':step': '(login|code|passkey|enrol|switch|continue|notice|consent|cancel)',
  ':file': '[\\w.-]+',
  ':change': '(add|remove|recovery-codes)',
};

export const HOME_PATH = '/';

/** Browsers request it if no page names an icon. */
export const FAVICON_PATH = '/favicon.ico';

const SPECIFIED = {
  authorization: { ...BROWSER, path: '/oauth/authorize', route: 'authorization', limit: 'authorization' },
  token: { ...CLIENT, path: '/oauth/token', route: 'token', limit: 'token' },
  userinfo: {
    ...PROGRAM,
    path: '/oauth/userinfo',
    route: 'userinfo',
    methods: ['GET', 'POST'],
    limit: 'userinfo',
  },
  introspection: { ...CLIENT, path: '/oauth/introspect', route: 'introspection', limit: 'introspection' },
  revocation: { ...CLIENT, path: '/oauth/revoke', route: 'revocation', limit: 'revocation' },
  logout: { ...BROWSER, path: '/oauth/logout', route: 'end_session', limit: 'logout' },
  discovery: { ...METADATA, path: '/.well-known/openid-configuration' },
  metadata: { ...METADATA, path: '/.well-known/oauth-authorization-server' },
  jwks: { ...DOCUMENT, path: '/oauth/jwks.json', route: 'jwks' },
} as const satisfies Readonly<Record<string, Row>>;

const ASSET = { ...DOCUMENT, name: 'assets', route: undefined, isScriptable: false } as const;

/** The steps between an authorization or sign-out request and its response, and the files that these pages load. */
const STEPS: readonly Endpoint[] = [
  { ...PAGE, name: 'home', path: HOME_PATH, methods: ['GET', 'HEAD'] },
  { ...PAGE, name: 'resume', path: '/oauth/authorize/:uid', route: 'resume', methods: ['GET'] },
  {
    ...PAGE,
    name: 'logout',
    path: '/oauth/logout/confirm',
    route: 'end_session_confirm',
    methods: ['POST'],
  },
  { ...PAGE, name: 'logout', path: '/oauth/logout/success', route: 'end_session_success', methods: ['GET'] },
  { ...PAGE, name: 'interaction', path: '/interaction/:uid', methods: ['GET'] },
  { ...PAGE, name: 'interaction', path: '/interaction/:uid/:step', methods: ['POST'] },
  { ...PAGE, name: 'interaction', path: '/interaction/link/:link', methods: ['GET', 'HEAD', 'POST'] },
  { ...PAGE, name: 'interaction', path: '/interaction/done/:purpose', methods: ['GET', 'HEAD'] },
  /** The path of the page in 0.1. http/app.ts redirects to the new one. */
  { ...PAGE, name: 'factors', path: '/factors', methods: ['GET'] },
  ...['/assets/:file', FAVICON_PATH].map((path) => ({ ...ASSET, path })),
];

export const ENDPOINT_TABLE: readonly Endpoint[] = [
  ...Object.entries(SPECIFIED).map(([name, row]) => ({
    name,
    isMounted: row.route !== METADATA.route,
    ...row,
  })),
  ...STEPS,
  ...list('endpoints'),
];

const specified = Object.entries(SPECIFIED);
export const ENDPOINTS = Object.fromEntries(specified.map(([name, { path }]) => [name, path])) as {
  readonly [Name in keyof typeof SPECIFIED]: string;
};
/** The paths where the engine mounts its routes, except those that it derives or knows. */
export const ENGINE_PATHS: Readonly<Record<string, string>> = Object.fromEntries(
  ENDPOINT_TABLE.filter(({ isMounted }) => isMounted).map(({ route, path }) => [route, path]),
);

const hasParts = ({ path }: Endpoint) => path.includes(':');
const EXACT = new Map(ENDPOINT_TABLE.filter((one) => !hasParts(one)).map((one) => [one.path, one]));
const PATTERNS = ENDPOINT_TABLE.filter(hasParts).map((endpoint) => ({
  endpoint,
  pattern: new RegExp(`^${endpoint.path.replaceAll(/:\w+/g, (part) => PARTS[part] ?? part)}$`),
}));

/** `path` is relative to the issuer, without a query. */
export const findEndpoint = (path: string): Endpoint | undefined =>
  EXACT.get(path) ?? PATTERNS.find(({ pattern }) => pattern.test(path))?.endpoint;

const PAGE_PREFIXES = ENDPOINT_TABLE.filter(
  ({ caller, path }) => caller === 'person' && path !== HOME_PATH,
).map(({ path }) => path.replace(/:.*/, ''));

/** Whether the path is for users' browsers, even if nothing is served there. */
export const isPagePath = (path: string) =>
  path === HOME_PATH || PAGE_PREFIXES.some((prefix) => path.startsWith(prefix));

const BY_ROUTE = new Map(ENDPOINT_TABLE.map((endpoint) => [endpoint.route, endpoint]));

export const callerOf = (route: string): Endpoint['caller'] | undefined => BY_ROUTE.get(route)?.caller;

/** The limits that a client's request counts against, by the engine's route. Defaults to the limit `token`. */
export function clientLimitsOf(route: string | undefined): readonly [limit: ClientLimit, ofPublic: string] {
  const endpoint = BY_ROUTE.get(route);
  const limit = endpoint?.caller === 'client' ? endpoint.limit : 'token';
  return [limit, endpoint?.publicLimit ?? limit];
}

const declared: readonly UserGrant[] = list('grants');

export const GRANT_TYPES: readonly string[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  ...declared.map(({ type }) => type),
];

export const USER_GRANTS: readonly UserGrant[] = [
  { type: 'authorization_code', begins: 'authorization', resumes: 'resume' },
  ...declared,
];

/** Finds a grant by the engine's route where an app requests it. */
export const grantBegunAt = (route: string): UserGrant | undefined =>
  USER_GRANTS.find(({ begins }) => begins === route);
