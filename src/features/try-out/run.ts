// The try-out page: a sign-in with code and PKCE as the demo client, over real HTTP, that shows the tokens and claims. Served by the
// management listener, only on a loopback issuer with the shipped demo client.
import { createHash, randomBytes } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import type { Context, Middleware } from 'koa';
import type { Client } from '../../config/config.ts';
import { DEMO_CALLBACK_PATH, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_PATH } from '../../config/demo.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { App } from '../../oidc/app.ts';
import type { PageModels } from '../../views/models.ts';
import type { Parts } from '../parts.ts';
import { demoUserOf, findDemo } from './feature.ts';

const COOKIE = 'postern_try';
const startUrl = `${DEMO_PATH}/start`;

type TokenAnswer = Readonly<{ access_token: string; id_token: string; error?: string }>;
type Demo = Readonly<{ client: Client; callback: string }>;

export function open({ config, pages, issuer }: App): Parts {
  const demo = findDemo(config);
  const guard = { isPlain: () => true };
  if (!demo) return { guard };
  const person = demoUserOf(config);

  function show(ctx: Context, model: PageModels['try']): void {
    ctx.set({
      'Content-Security-Policy': `default-src 'none'; style-src ${issuer}; script-src ${issuer}; img-src ${issuer} https: data:; base-uri 'none'; frame-ancestors 'none'`,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    });
    ctx.type = 'html';
    ctx.body = pages.render('try', model, {
      locale: pages.localeFor({ acceptLanguage: ctx.acceptsLanguages() }),
    });
  }

  const management: Middleware = async (ctx, next) => {
    if (ctx.method !== 'GET') return next();
    if (ctx.path === DEMO_PATH) return show(ctx, { startUrl, outcome: 'ready', person });
    if (ctx.path === startUrl) return startSignIn(ctx, issuer, demo);
    if (ctx.path === DEMO_CALLBACK_PATH) {
      const model = await finishSignIn(ctx, issuer, demo);
      return show(ctx, model.outcome === 'stale' ? { ...model, person } : model);
    }
    return next();
  };
  return { guard, management };
}

const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

/** The cookie binds the answer to this browser. `state` and `nonce` are derived from it. */
function startSignIn(ctx: Context, issuer: string, { client, callback }: Demo): void {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = challengeOf(verifier);
  ctx.cookies.set(COOKIE, verifier, { httpOnly: true, sameSite: 'lax', path: DEMO_PATH });
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: callback,
    scope: client.scopes.join(' '),
    prompt: 'consent', // OIDC Core §11: the first time, offline_access is granted by consent only
    state: challenge,
    nonce: challenge,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  ctx.redirect(`${issuer}${ENDPOINTS.authorization}?${query.toString()}`);
}

async function finishSignIn(
  ctx: Context,
  issuer: string,
  { client, callback }: Demo,
): Promise<PageModels['try']> {
  const { code, state, iss, error } = ctx.query;
  if (typeof error === 'string') return { startUrl, outcome: 'refused', error };
  const verifier = ctx.cookies.get(COOKIE) ?? '';
  // RFC 9207 §2.4: the answer must come from the issuer that the request went to.
  const isOurs = state === challengeOf(verifier) && iss === issuer;
  if (!isOurs || typeof code !== 'string') return { startUrl, outcome: 'stale' };
  const answer = await fetch(`${issuer}${ENDPOINTS.token}`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.clientId}:${DEMO_CLIENT_SECRET}`)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: verifier,
    }),
  });
  const tokens = (await answer.json()) as TokenAnswer;
  if (!answer.ok) return { startUrl, outcome: 'refused', error: String(tokens.error) };
  const sections = await readTokens(issuer, client, tokens, state);
  return { startUrl, outcome: 'signed_in', sections };
}

/** Verifies the tokens offline, like an API: with the published keys alone. */
async function readTokens(issuer: string, client: Client, tokens: TokenAnswer, nonce: string) {
  const keys = createRemoteJWKSet(new URL(`${issuer}${ENDPOINTS.jwks}`));
  const own = { issuer, audience: DEMO_CLIENT_ID, algorithms: [client.idTokenSignedResponseAlg] };
  const id = await jwtVerify(tokens.id_token, keys, own);
  if (id.payload['nonce'] !== nonce) throw new TypeError('the ID token is not for this sign-in');
  const access = await jwtVerify(tokens.access_token, keys, { issuer, algorithms: ['RS256'], typ: 'at+jwt' });
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const userinfo = await fetch(`${issuer}${ENDPOINTS.userinfo}`, { headers });
  const sections = {
    'ID token, verified': { header: id.protectedHeader, claims: id.payload },
    'Access token, verified': { header: access.protectedHeader, claims: access.payload },
    Userinfo: await userinfo.json(),
    'Token response': tokens,
  };
  return Object.entries(sections).map(([title, shown]) => ({
    title,
    text: JSON.stringify(shown, undefined, 2),
  }));
}
