// Faults, one for each case whose number ends in 0, 3 or 7: a text that occurs once in src, and a replacement that breaks the case's rule.
// `npm run mutants` (mutants-run.ts) applies each to a copy of the project and runs the tests that name the case: one must fail.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** By case: the text and its replacement. */
type Faults = Readonly<Record<string, readonly [old: string, broken: string]>>;

export type Mutant = Readonly<{
  case: string;
  /** A folder of src/features, or `core`. */
  feature: string;
  old: string;
  new: string;
}>;

/** Cases without a mutant, with what implements them instead of src, or why nothing does. */
export const NOT_OURS: Readonly<Record<string, string>> = {
  'AZ-03': 'the engine compares redirect URIs as text',
  'PK-03': 'the engine checks the form of a challenge',
  'PK-07': 'the engine compares the client of a code',
  'PK-20': 'the engine creates codes',
  'PK-23': 'the engine puts the nonce into ID tokens',
  'LG-07': 'the engine gives each sign-in another session ID',
  'HT-30': 'Node.js parses forms and JSON without prototypes',
  'LG-20': 'the core sends no email; the feature has ML-01',
  'IN-17': 'the core sends no email; the feature has ML-12',
};

/* oxlint-disable no-template-curly-in-string -- they are source */
const CORE: Faults = {
  'AZ-10': [
    'pushedAuthorizationRequests: { enabled: false },',
    'pushedAuthorizationRequests: { enabled: false }, requestObjects: { enabled: true },',
  ],
  'AZ-23': ['undefined : Math.max(loginTs, factorAt)', 'undefined : Math.max(loginTs, factorAt) + 3600'],
  'AZ-30': ['const MAX_LENGTH = 1024;', 'const MAX_LENGTH = 1024 * 1024;'],
  'PK-10': ['if (row.consumedAt !== undefined && isFirst)', 'if (isFirst && at < 0)'],
  'PK-13': [
    'if (record === undefined) return undefined;\n    const mark',
    "if (record === undefined && model === 'AuthorizationCode') throw new TypeError(model);\n    if (record === undefined) return undefined;\n    const mark",
  ],
  'PK-17': [
    `user.disabled || isOut(state, issued)) return undefined;
      const generation = toGeneration([user.validAfter, state.validAfter]);
      return issued === undefined || issued.generation === generation ? user : undefined;`,
    'false) return undefined; return user;',
  ],
  'TK-03': [
    'token_endpoint_auth_method: client.tokenEndpointAuthMethod,\n    grant_types: [...client',
    "token_endpoint_auth_method: 'none',\n    grant_types: [...client",
  ],
  'TK-07': ["if (findEndpoint(ctx.path)?.caller === 'client') refuseControlBytes(ctx, issuer);", ''],
  'TK-10': ['(expiresAt === undefined || at < expiresAt)', 'true'],
  'TK-13': ['if (refused !== undefined) return refused;', ''],
  'TK-17': ['for (const scope of scopes) {', 'for (const scope of scopes.slice(0, 1)) {'],
  'TK-20': ['const { clientId: sub, scope, aud =', 'const { jti: sub, scope, aud ='],
  'TK-27': ['dPoP: { enabled: false },', 'dPoP: { enabled: true },'],
  'RT-03': ["if (result === 'already_consumed') await revokeGrantOf(id);", ''],
  'RT-07': ["params['scope'] = asked?.join(' ');", "params['scope'] = undefined;"],
  'RT-10': ['issued.generation === generation ? user', "issued.generation !== '' ? user"],
  'RT-17': ["redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)", ''],
  'IS-03': ['if (isUnauthenticated(engineCtx)) {', 'if (isUnauthenticated(engineCtx) && ctx.status === 0) {'],
  'IS-07': [
    "return kind !== 'RefreshToken' && isListed(caller, aud)",
    "return (kind === 'RefreshToken' || isListed(caller, aud))",
  ],
  'IS-10': ["token.includes('.'))", "token.includes('.') && params.token_type_hint !== 'refresh_token')"],
  'IS-13': ['error instanceof errors.JOSEError || error instanceof TypeError', 'error instanceof TypeError'],
  'IS-17': [
    'await remember(this.#revoked, `${grant}:${ttlSeconds}`, () => this.#store.revokeGrant(grant, ttlSeconds));',
    '',
  ],
  'IS-20': [
    "const { token } = params;\n  if (typeof token === 'string'",
    "const [token] = [params.token].flat();\n  if (typeof token === 'string'",
  ],
  'IS-23': ['dPoP: { enabled: false },', 'dPoP: { enabled: true },'],
  'IS-27': ["['email', STANDARD_CLAIMS.filter(isOfEmail)],", "['email', [...STANDARD_CLAIMS]],"],
  'LG-03': ["['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) &&", ''],
  'LG-10': ["error: cause.name === 'SessionNotFound' ? 'expired' : error,", 'error,'],
  'LG-13': [
    'const grant = grantWith(provider, before, missing, of);',
    "const grant = grantWith(provider, before, { ...missing, scopes: [...missing.scopes, 'profile'] }, of);",
  ],
  'LG-17': [`"base-uri 'none'",`, `"base-uri 'none'; form-action 'self'",`],
  'LG-23': ['export const CAP = 80;', 'export const CAP = 800;'],
  'LG-27': [
    'const cleared = [row, pace, known].map',
    'const cleared = [row, pace, known, ...quotasOf(attempt, quotaOf).places].map',
  ],
  'LG-33': ["typed.normalize('NFKC').toLowerCase().normalize('NFKC')", 'typed.toLowerCase()'],
  'LO-03': [
    'post_logout_redirect_uris: [...client.postLogoutRedirectUris],',
    'post_logout_redirect_uris: [],',
  ],
  'LO-07': [
    "ctx.oidc.route === 'end_session' && session.accountId === undefined",
    "ctx.oidc.route === 'end_session'",
  ],
  'LO-10': ["'X-Frame-Options': 'DENY',", ''],
  'LO-13': ["'Referrer-Policy': 'same-origin',", "'Referrer-Policy': 'unsafe-url',"],
  'HT-03': [
    'return provider.urlFor(name, options);',
    "return provider.urlFor(name, options).replace(/(?<=:\\/\\/)[^/]+/, (own) => String(this.ctx.req.headers['x-forwarded-host'] ?? own));",
  ],
  'HT-07': ['...right].slice(0, 4)', '...right].slice(0, 8)'],
  'HT-10': ['undefined : findEndpoint(path);', 'undefined : findEndpoint(path.toLowerCase());'],
  'HT-13': ['hash(`limit:${name}:', 'hash(`limit:${process.pid}:${name}:'],
  'HT-17': ['if (allowed.includes(origin)) allow', "if (origin !== '') allow"],
  'HT-20': ["'X-Request-Id': requestId, Vary: 'Origin'", "'X-Request-Id': requestId"],
  'HT-23': [
    'const HEADERS_TIMEOUT = 8 * SECOND;\nconst REQUEST_TIMEOUT = 12 * SECOND;',
    'const HEADERS_TIMEOUT = 60 * SECOND;\nconst REQUEST_TIMEOUT = 60 * SECOND;',
  ],
  'HT-27': [
    'connectionsCheckingInterval: SECOND,',
    'connectionsCheckingInterval: SECOND, maxHeaderSize: 65_536,',
  ],
  'IN-03': ['  return DEFAULT_LOCALE;', "  return available[0] ?? '';"],
  'IN-07': [".replaceAll(/[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]/gu, '?')", ''],
  'IN-10': [
    '(status === 404 ? undefined : findEndpoint(path)?.name) ?? UNKNOWN',
    'findEndpoint(path)?.name ?? path',
  ],
  'IN-13': ['PLAIN.test(text) ? text :', "text !== '' ? text :"],
  'RD-10': ["ctx.remove('Location');\n      setCookies(ctx, before);", ''],
  'RD-13': ['export const COMMAND_MS = 300;', 'export const COMMAND_MS = 60_000;'],
  'RD-20': ["typeof confirmed === 'number' && confirmed >= replicas", "typeof confirmed === 'number'"],
  'RD-33': ['if (Number(v) > newest) throw new NewerForm(what, v, newest);', ''],
  'KY-10': [
    "[{ kind: 'remove', at: removeAt, take: remove }]",
    "[{ kind: 'remove', at: retireAt, take: remove }]",
  ],
  'KY-13': ['const LEASE_MS = 600_000;', 'const LEASE_MS = 6_000_000;'],
  'KY-17': ['new Map(keks.map((kek)', 'new Map(keks.slice(0, 1).map((kek)'],
  'KY-20': ['max-age=${MAX_AGE_SECONDS}', 'max-age=${MAX_AGE_SECONDS + (Date.now() % 100)}'],
  'KY-23': [
    'const claims = jwt === undefined ? undefined : await tokens.verify(jwt);',
    'if (jwt !== undefined) await super.find(jwt, options);\nconst claims = jwt === undefined ? undefined : await tokens.verify(jwt);',
  ],
  'KY-27': ['if (!belongsTo(ring, pepper)) {', 'if (pepper.length === 0) {'],
  'CF-03': ['await pause(settleMs);', 'await pause(0);'],
  'CF-07': ['if (hash === DEMO_PASSWORD_HASH && !issuerIsLoopback)', "if (hash === '')"],
  'CF-10': ['await revoked.add(this.jti, this.exp);', ''],
  'AC-17': ['return wanted.filter((name) => names.has(name));', 'return wanted;'],
  'MC-03': [
    'const refused = addresses.find(({ address }) => !mayCall(url, address));',
    'const refused = addresses.every(({ address }) => !mayCall(url, address)) ? addresses[0] : undefined;',
  ],
  'MC-10': ['if (length > maxBytes) throw tooLong();', ''],
  'MC-40': ['byName.get(identifier) ?? byKey.get(resourceKey(identifier))', 'byName.get(identifier)'],
  'MF-33': ['app.browsers.isOf(ctx, details) ? toOpenInteraction', 'details ? toOpenInteraction'],
  'MF-47': ['await keep?.(user);', 'await keep?.(user);\nawait parts.factors.remove(accountId);'],
  'PR-20': [
    'pushedAuthorizationRequests: { enabled: false },',
    'pushedAuthorizationRequests: { enabled: true },',
  ],
  'PR-30': ['dPoP: { enabled: false },', 'dPoP: { enabled: true, allowReplay: true },'],
  'PR-33': ["'client_secret_post', 'none'],", "'client_secret_post', 'none', 'private_key_jwt'],"],
  'PR-37': ["'client_secret_post', 'none'],", "'client_secret_post', 'none', 'client_secret_jwt'],"],
  'PR-43': [
    'devInteractions: { enabled: false },',
    'devInteractions: { enabled: false }, claimsParameter: { enabled: true },',
  ],
};

const OF_FEATURES: Readonly<Record<string, Faults>> = {
  core: CORE,
  access: {
    'AC-13': ['if (!rules.mayUseResource(user, api)) return `${rule}.access`;', ''],
    'AC-27': ['if (!known.has(name)) report(', "if (name === '') report("],
  },
  account: { 'MF-37': ['csrf.check(form, visitor.session.uid, stepOf(visitor)),', 'form,'] },
  'back-channel-logout': {
    'PR-03': ["token.set('events', { [EVENT]: {} });", ''],
    'PR-07': [
      'backchannel_logout_uri: text(logoutUriFault)',
      'backchannel_logout_uri: text(() => undefined)',
    ],
    'PR-10': ["token.set('jti', randomUUID());\ntoken.set('sid', sid);", "token.set('jti', randomUUID());"],
  },
  'client-documents': {
    'MC-07': ['url.href === value &&', ''],
    'MC-13': [
      'if (!/^application\\/([\\w.!#$&^+-]+\\+)?json *(;|$)/i.test(contentType))',
      "if (contentType === '')",
    ],
    'MC-23': ["isNativeRedirect(redirectUri) || isNearby(hostname) ? 'device'", "hostname === '' ? 'device'"],
    'MC-27': ['issuerIsLoopback: false,', 'issuerIsLoopback: true,'],
    'MC-30': ["'documents.host': { limit: 10,", "'documents.host': { limit: 1000,"],
  },
  'device-flow': { 'PR-13': ["if (await takePoll(ctx.oidc.params?.['device_code'])) return;", 'return;'] },
  mail: {
    'ML-07': [
      "return 'reason' in opened ? page.refuse(ctx, opened) : page.ask(ctx, opened);",
      "await host.links.use(tokenOf(ctx)); return 'reason' in opened ? page.refuse(ctx, opened) : page.ask(ctx, opened);",
    ],
    'ML-10': ['seeOther(ctx, `${url}/sent`);', 'seeOther(ctx, `${ctx.origin}/${page}/sent`);'],
    'ML-13': ['requireTLS: !isTls,', 'requireTLS: false,'],
    'ML-33': ['findLiveNow(accountId, isUndo ? undefined : state.pending)', 'findLiveNow(accountId)'],
    'ML-43': ["if (!isBegun && (await accounts.lookUp(username)) !== undefined) return 'taken';", ''],
    'ML-47': [".replace(/\\+.*@/, '@')", ''],
  },
  'second-factors': {
    'MF-03': [
      'const isFramed = client.crossOrigin === true || client.topOrigin !== undefined;',
      'const isFramed = false;',
    ],
    'MF-07': ['if (use.counter >= passkey.counter) {', 'if (use.counter >= 0) {'],
    'MF-20': ['const DRIFT = 1;', 'const DRIFT = 2;'],
    'MF-30': ["return isOn && (signIn.enrolment === 'self' || hasSecondFactor(factors));", 'return isOn;'],
  },
  workers: {
    'HT-37': ['const DRAIN_TIMEOUT_MS = 8000;', 'const DRAIN_TIMEOUT_MS = 1;'],
    'RD-30': [
      "'a worker exited and is being replaced');",
      "'a worker exited and is being replaced'); return;",
    ],
  },
};

export const MUTANTS: readonly Mutant[] = Object.entries(OF_FEATURES).flatMap(([feature, faults]) =>
  Object.entries(faults).map(([id, [old, broken]]) => ({ case: id, feature, old, new: broken })),
);

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name));

/** The text with any indentation. */
export const patternOf = ({ old }: Mutant) =>
  new RegExp(old.replaceAll(/[^\w\s]/g, '\\$&').replaceAll(/\s+/g, '\\s+'));

/** The files in `src` that contain its text, each as often as the text occurs. */
export const placesOf = (mutant: Mutant, src: string): readonly string[] =>
  filesIn(src).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split(patternOf(mutant))
      .slice(1)
      .map(() => file),
  );

/** The test files that name the case. */
export const testsOf = (mutant: Mutant, test: string): readonly string[] =>
  filesIn(test).filter(
    (file) => file.endsWith('.test.ts') && readFileSync(file, 'utf8').includes(mutant.case),
  );
