// What comes before the engine at the page where people type the code of a device.
import type { Middleware } from 'koa';
import { DEVICE_PATH } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';

/** The engine would send a page that posts the code of the address by itself; and its forms know no origin. */
export function guardDeviceForms(issuer: string): Middleware {
  const { origin: own } = new URL(issuer);
  return async function guardDeviceForm(ctx, next) {
    if (ctx.path !== DEVICE_PATH) return next();
    const origin = ctx.get('Origin');
    const site = ctx.get('Sec-Fetch-Site');
    const isForeign = (origin !== '' && origin !== own) || !['', 'same-origin', 'none'].includes(site);
    if (ctx.method === 'POST' && isForeign) {
      throw new Refusal(403, 'forbidden', 'the form was not sent from this site');
    }
    const { user_code: userCode, ...others } = ctx.query;
    if (ctx.method === 'GET' && userCode !== undefined) {
      ctx.state['userCode'] = String(userCode);
      ctx.query = others;
    }
    return next();
  };
}
