// The cookie that marks a trusted browser (users/trusted-browsers.ts): its name and attributes. It carries its own proof and
// grants nothing, so it needs no signature.
import type { Context } from 'koa';
import { DEVICE_DAYS } from '../users/trusted-browsers.ts';
import { cookieNames, cookieOptions } from '../oidc/cookie-names.ts';

/** Enough for five users in one browser, and more than we ever set. */
const MAX_LENGTH = 500;
const MAX_AGE_MS = DEVICE_DAYS * 24 * 60 * 60 * 1000;

export type DeviceCookie = ReturnType<typeof createDeviceCookie>;

export function createDeviceCookie(issuer: string) {
  const { device: name } = cookieNames(issuer);
  const options = cookieOptions(issuer);
  return {
    read: (ctx: Context): string => (ctx.cookies.get(name, options) ?? '').slice(0, MAX_LENGTH),
    write(ctx: Context, value: string): void {
      ctx.cookies.set(name, value, { ...options, maxAge: MAX_AGE_MS });
    },
  };
}
