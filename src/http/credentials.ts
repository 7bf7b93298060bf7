// Client credentials with control bytes in them are refused before anybody compares them: a comparison that pads with
// NUL takes `secret%00` for `secret` (TK-07). RFC 6749 Appendix A allows none. Credentials in a form are compared by hash.
import type { Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';

const BASIC = /^basic ([A-Za-z0-9+/]+={0,2})$/i;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]|%[01][\da-f]|%7f/i;

/** 401 as for any other wrong secret (RFC 6749 §5.2). */
export function refuseControlBytes(issuer: string): Middleware {
  return function refuseControlByte(ctx, next) {
    const { caller } = findEndpoint(ctx.path) ?? {};
    const encoded = caller === 'client' ? BASIC.exec(ctx.get('Authorization'))?.[1] : undefined;
    if (encoded !== undefined && CONTROL.test(Buffer.from(encoded, 'base64').toString('latin1'))) {
      ctx.set('WWW-Authenticate', `Basic realm="${issuer}"`);
      ctx.set('Pragma', 'no-cache');
      throw new Refusal(401, 'invalid_client', 'client authentication failed');
    }
    return next();
  };
}
