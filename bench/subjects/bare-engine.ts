// The engine alone: its own JWT access tokens, static clients, records as JSON text in lmdb, plain pages; no limits, no log, no host.
// Each call of the adapter is one transaction, on disk before it resolves, as in the service.
// Its settings of the protocol are the service's (PKCE, consent, a new refresh token with each refresh), so it answers the same requests.
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { open } from 'lmdb';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import { REDIRECT_URI, RESOURCE, SCOPE, SECRET } from '../names.ts';

/**
 * `opaque`: the only access tokens that the engine itself introspects. `userinfo`: opaque tokens without an API, the only ones that its
 * userinfo accepts.
 */
const [port = '0', format = 'jwt'] = process.argv.slice(2);
const HOUR = 3600;

const folder = mkdtempSync(path.join(tmpdir(), 'postern-bare-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const records = open<string, string>({
  path: folder,
  noSubdir: false,
  overlappingSync: false,
  eventTurnBatching: false,
} as Parameters<typeof open>[0]);

const adapter = (model: string): Adapter => {
  const keyOf = (id: string) => `${model}:${id}`;
  const grantKey = (grantId: string) => `grant:${grantId}`;
  const keysOf = (grantId: string) => JSON.parse(records.get(grantKey(grantId)) ?? '[]') as readonly string[];
  const read = (key: string) => {
    const text = records.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as AdapterPayload);
  };
  return {
    upsert: (id, payload) =>
      records.transaction(() => {
        records.putSync(keyOf(id), JSON.stringify(payload));
        if (model === 'Session') records.putSync(`uid:${payload.uid}`, id);
        const { grantId } = payload;
        if (grantId === undefined || model === 'Session' || model === 'Interaction') return;
        records.putSync(grantKey(grantId), JSON.stringify([...keysOf(grantId), keyOf(id)]));
      }),
    find: async (id) => read(keyOf(id)),
    findByUid: async (uid) => read(keyOf(records.get(`uid:${uid}`) ?? '')),
    findByUserCode: async () => undefined,
    consume: (id) =>
      records.transaction(() => {
        const consumed = Math.floor(Date.now() / 1000);
        records.putSync(keyOf(id), JSON.stringify({ ...read(keyOf(id)), consumed }));
      }),
    destroy: (id) => records.transaction(() => void records.removeSync(keyOf(id))),
    revokeByGrantId: (grantId) =>
      records.transaction(() => {
        for (const key of keysOf(grantId)) records.removeSync(key);
        records.removeSync(grantKey(grantId));
      }),
  };
};

const { privateKey } = await generateKeyPair('RS256', { extractable: true });
const machine = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [], scope: SCOPE };
const app = {
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: [REDIRECT_URI],
  scope: `openid email profile offline_access ${SCOPE}`,
};

const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter,
  clients: [
    { ...machine, client_id: 'bench', client_secret: SECRET },
    { ...app, client_id: 'web', client_secret: SECRET },
  ],
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
  cookies: { keys: ['a key of the benchmark'] },
  routes: {
    authorization: '/oauth/authorize',
    token: '/oauth/token',
    introspection: '/oauth/introspect',
    userinfo: '/oauth/userinfo',
  },
  scopes: ['openid', 'offline_access', SCOPE],
  claims: { email: ['email'], profile: ['name'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  expiresWithSession: () => false,
  findAccount: (_ctx, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, email: `${accountId}@example.com`, name: accountId }),
  }),
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => (format === 'userinfo' ? undefined : RESOURCE),
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        accessTokenFormat: format === 'opaque' ? 'opaque' : 'jwt',
      }),
    },
  },
  ttl: {
    AccessToken: HOUR,
    AuthorizationCode: 60,
    ClientCredentials: HOUR,
    Grant: 14 * 24 * HOUR,
    IdToken: HOUR,
    Interaction: HOUR,
    RefreshToken: 14 * 24 * HOUR,
    Session: 14 * 24 * HOUR,
  },
});

/** The minimum that an application of the engine has to write: a form with a name, a form with a button. */
async function interact(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
  const details = await provider.interactionDetails(request, response);
  if (request.method === 'GET') {
    const action = `${provider.issuer}/interaction/${details.uid}/${details.prompt.name}`;
    const page = `<!doctype html><form method="post" action="${action}"><input name="username"><button>Go on</button></form>`;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(page);
    return;
  }
  const form = new URLSearchParams(await textOf(request));
  const result = url.endsWith('/login')
    ? { login: { accountId: form.get('username') ?? '' } }
    : { consent: { grantId: await consentTo(details) } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

async function consentTo(details: Awaited<ReturnType<Provider['interactionDetails']>>): Promise<string> {
  const { grantId, session, params, prompt } = details;
  const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant =
    found ??
    new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) });
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details as {
    readonly missingOIDCScope?: string[];
    readonly missingResourceScopes?: Readonly<Record<string, string[]>>;
  };
  grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return grant.save();
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** The browser rejects a cookie that has only `expires`: its clock may differ. */
const withMaxAge = (cookie: string) =>
  cookie.replace(
    /expires=([^;]+)/,
    (all, at: string) => `${all}; max-age=${Math.round((Date.parse(at) - Date.now()) / 1000)}`,
  );

provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith('/interaction/')) {
    await next();
    const cookies: unknown = ctx.response.get('set-cookie');
    if (Array.isArray(cookies)) ctx.set('set-cookie', cookies.map(String).map(withMaxAge));
    return;
  }
  ctx.respond = false;
  await interact(ctx.req, ctx.res, ctx.path);
});
provider.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
