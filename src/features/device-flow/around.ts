// Middleware around the engine: the forms of the page where users enter a device's code, the redirects to the sign-in and back, and the
// polling interval of devices (RFC 8628 §3.5), which the engine neither sends nor enforces.
import { randomBytes } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { CALLBACK_PATH, DEVICE_PATH } from './feature.ts';
import type { App } from '../../oidc/app.ts';
import { cookieName, cookieOptions } from '../../oidc/cookie-names.ts';
import { internalSignInUrl } from '../../oidc/internal-client.ts';
import { seeOther } from '../../oidc/send-page.ts';

/** The secret in the forms of this browser. It comes from a cookie, so opening the page stores nothing. */
export const formSecretOf = ({ state }: Pick<Context, 'state'>) => String(state['deviceForm']);

export const typedIn = (ctx?: KoaContextWithOIDC) =>
  String(ctx?.oidc.params?.['user_code'] ?? ctx?.state['userCode'] ?? '');

/** The cookie with the secret of the forms and, during a sign-in, the typed code. */
function cookieOf({ cookies }: Pick<Context, 'cookies'>, issuer: string) {
  const name = cookieName(issuer, 'device_form');
  const options = cookieOptions(issuer);
  const [secret = '', typed = ''] = (cookies.get(name, options) ?? '').split('.');
  return { secret, typed, set: (...parts: string[]) => cookies.set(name, parts.join('.'), options) };
}

export function signInFirst(ctx: KoaContextWithOIDC, issuer: string, typed: string): void {
  const { secret, set } = cookieOf(ctx, issuer);
  set(secret, Buffer.from(typed).toString('base64url'));
  seeOther(ctx, internalSignInUrl(issuer, CALLBACK_PATH, false));
}

export function aroundDevices(app: App): Middleware {
  const { issuer, hash } = app;
  const pacePoll = pacePolls(app);
  return function prepareForm(ctx, serve) {
    const next = () => pacePoll(ctx, serve);
    if (ctx.path !== DEVICE_PATH && !ctx.path.startsWith(`${DEVICE_PATH}/`)) return next();
    const { secret: known, typed, set } = cookieOf(ctx, issuer);
    const secret = known === '' ? randomBytes(32).toString('hex') : known;
    const isBack = ctx.path === CALLBACK_PATH;
    if (known === '' || isBack) set(secret);
    if (isBack) {
      const code = ctx.query['error'] === undefined ? Buffer.from(typed, 'base64url').toString() : '';
      return seeOther(ctx, `${issuer}${DEVICE_PATH}${code && `?user_code=${encodeURIComponent(code)}`}`);
    }
    ctx.state['deviceForm'] = Buffer.from(hash(`device form:${secret}`), 'base64url').toString('hex');
    if (ctx.path !== DEVICE_PATH) return next();
    ctx.state['formSecret'] = formSecretOf(ctx);
    const { user_code: userCode, ...others } = ctx.query;
    if (ctx.method !== 'GET' || userCode === undefined) return next();
    // The engine would send a page that automatically submits the code in the URL.
    ctx.state['userCode'] = String(userCode);
    ctx.query = others;
    return next();
  };
}

/** RFC 8628 §3.2: seconds between two polls. */
const INTERVAL = 5;
/** Seconds that each early poll adds to the wait. */
const STEP = 5;

type Answer = { readonly error?: unknown } | undefined;

function pacePolls({ store: { counters }, hash }: App): Middleware {
  /** Resolves whether the poll is on time. Each early poll makes the device wait longer. */
  async function takePoll(deviceCode: unknown): Promise<boolean> {
    const polls = hash(`device poll:${String(deviceCode)}`);
    const { count: early = 0 } = (await counters.read(polls)) ?? {};
    return (await counters.increment(polls, 1, (INTERVAL + early * STEP) * 1000, true)).count === 1;
  }

  return async function pacePoll(hostCtx, next) {
    await next();
    const ctx = hostCtx as unknown as KoaContextWithOIDC;
    const route = ctx.oidc?.route;
    if (route === 'device_authorization' && ctx.status === 200) {
      ctx.body = { ...(ctx.body as object), interval: INTERVAL };
    }
    if (route !== 'token' || (ctx.body as Answer)?.error !== 'authorization_pending') return;
    if (await takePoll(ctx.oidc.params?.['device_code'])) return;
    // > the interval MUST be increased by 5 seconds for this and all subsequent requests
    ctx.body = {
      error: 'slow_down',
      error_description: 'the device polls too often: wait 5 seconds more each time',
    };
  };
}
