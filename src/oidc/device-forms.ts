// What comes before the engine at the page where users type the code of a device.
import { randomBytes } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { DEVICE_PATH } from '../config/endpoints.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { cookieNames, cookieOptions } from './cookie-names.ts';

/** What the forms of this browser carry. It comes from a cookie, so opening the page stores nothing. */
export const formSecretOf = (ctx?: Pick<Context, 'state'>) => String(ctx?.state['deviceForm'] ?? '');

export function prepareDeviceForms(issuer: string, hash: KeyedHash): Middleware {
  const { deviceForm: name } = cookieNames(issuer);
  const options = cookieOptions(issuer);

  return function prepareDeviceForm(ctx, next) {
    if (ctx.path !== DEVICE_PATH && !ctx.path.startsWith(`${DEVICE_PATH}/`)) return next();
    const known = ctx.cookies.get(name, options) ?? '';
    const value = known === '' ? randomBytes(32).toString('hex') : known;
    if (known === '') ctx.cookies.set(name, value, options);
    ctx.state['deviceForm'] = Buffer.from(hash(`device form:${value}`), 'base64url').toString('hex');
    const { user_code: userCode, ...others } = ctx.query;
    if (ctx.method !== 'GET' || ctx.path !== DEVICE_PATH || userCode === undefined) return next();
    // The engine would send a page that posts the code of the address by itself.
    ctx.state['userCode'] = String(userCode);
    ctx.query = others;
    return next();
  };
}
