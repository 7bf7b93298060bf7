// What comes before the engine at the page where people type the code of a device.
import type { Middleware } from 'koa';
import { DEVICE_PATH } from '../config/endpoints.ts';

/** The engine would send a page that posts the code of the address by itself. */
export const keepUserCode: Middleware = function keepCode(ctx, next) {
  if (ctx.method !== 'GET' || ctx.path !== DEVICE_PATH) return next();
  const { user_code: userCode, ...others } = ctx.query;
  if (userCode !== undefined) {
    ctx.state['userCode'] = String(userCode);
    ctx.query = others;
  }
  return next();
};
