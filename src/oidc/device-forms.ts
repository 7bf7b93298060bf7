// What comes before the engine at the page where users type the code of a device, and the way to the sign-in and back.
import { randomBytes } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { DEVICE_PATH } from '../config/endpoints.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { cookieNames, cookieOptions } from './cookie-names.ts';
import { ownSignInUrl } from './own-client.ts';
import { seeOther } from './send-page.ts';

const CALLBACK_PATH = `${DEVICE_PATH}/callback`;

/** What the forms of this browser carry. It comes from a cookie, so opening the page stores nothing. */
export const formSecretOf = (ctx?: Pick<Context, 'state'>) => String(ctx?.state['deviceForm'] ?? '');

export const typedIn = (ctx?: KoaContextWithOIDC) =>
  String(ctx?.oidc.params?.['user_code'] ?? ctx?.state['userCode'] ?? '');

/** The secret of the forms and, during a sign-in, what was typed. */
function cookieOf({ cookies }: Pick<Context, 'cookies'>, issuer: string) {
  const { deviceForm: name } = cookieNames(issuer);
  const options = cookieOptions(issuer);
  const [secret = '', typed = ''] = (cookies.get(name, options) ?? '').split('.');
  return { secret, typed, set: (...parts: string[]) => cookies.set(name, parts.join('.'), options) };
}

export function signInFirst(ctx: KoaContextWithOIDC, issuer: string, typed: string): void {
  const { secret, set } = cookieOf(ctx, issuer);
  set(secret, Buffer.from(typed).toString('base64url'));
  seeOther(ctx, ownSignInUrl(issuer, CALLBACK_PATH, false));
}

export function prepareDeviceForms(issuer: string, hash: KeyedHash): Middleware {
  return function prepareDeviceForm(ctx, next) {
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
    const { user_code: userCode, ...others } = ctx.query;
    if (ctx.method !== 'GET' || ctx.path !== DEVICE_PATH || userCode === undefined) return next();
    // The engine would send a page that posts the code of the address by itself.
    ctx.state['userCode'] = String(userCode);
    ctx.query = others;
    return next();
  };
}
