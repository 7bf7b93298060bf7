// What comes before the engine at the page where people type the code of a device.
import type { Middleware } from 'koa';
import { DEVICE_PATH } from '../config/endpoints.ts';
import { refuseForeignForm } from './form-origin.ts';

/** The engine would send a page that posts the code of the address by itself; and its forms know no origin. */
export function guardDeviceForms(issuer: string): Middleware {
  return async function guardDeviceForm(ctx, next) {
    if (ctx.path !== DEVICE_PATH) return next();
    if (ctx.method === 'POST') refuseForeignForm(ctx, issuer);
    const { user_code: userCode, ...others } = ctx.query;
    if (ctx.method === 'GET' && userCode !== undefined) {
      ctx.state['userCode'] = String(userCode);
      ctx.query = others;
    }
    return next();
  };
}
