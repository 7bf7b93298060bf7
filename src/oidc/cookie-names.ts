// The names and attributes of an issuer's cookies.
import type { Context } from 'koa';

/** RFC 6265bis §4.1.3: the prefixes make a browser refuse a cookie that a sibling domain or plain http planted. */
export function cookieName(
  issuer: string,
  name: string,
  prefix: '__Host-' | '__Secure-' = '__Host-',
): string {
  const { protocol, pathname } = new URL(issuer);
  // A __Host- cookie is sent to the whole host, so issuers at other paths need their own names.
  const own = pathname === '/' ? '' : `-${pathname.slice(1).replaceAll(/[^\w-]/g, toHex)}`;
  return `${protocol === 'https:' ? prefix : ''}postern_${name}${own}`;
}

export const cookieNames = (issuer: string) => ({
  session: cookieName(issuer, 'session'),
  // The paths of these two end with the interaction's id, which no other issuer has.
  interaction: cookieName(issuer, 'interaction', '__Secure-'),
  resume: cookieName(issuer, 'resume', '__Secure-'),
  browser: cookieName(issuer, 'browser'),
  device: cookieName(issuer, 'device'),
  language: cookieName(issuer, 'language'),
});

/** Attributes of the engine's cookies. */
export const SIGNED = { signed: true, httpOnly: true, sameSite: 'lax' } as const;

/** Attributes of cookies without a signature, which carry their own proof or grant nothing. */
export function cookieOptions(issuer: string) {
  return { signed: false, httpOnly: true, sameSite: 'lax' as const, secure: issuer.startsWith('https:') };
}

/** The cookies that the answer sets. */
export const cookiesOf = ({ response }: Pick<Context, 'response'>): readonly string[] =>
  [response.headers['set-cookie'] ?? []].flat();

export function setCookies(ctx: Pick<Context, 'remove' | 'set'>, cookies: readonly string[]): void {
  ctx.remove('Set-Cookie');
  if (cookies.length > 0) ctx.set('Set-Cookie', [...cookies]);
}

const toHex = (character: string) => `.${character.charCodeAt(0).toString(16)}`;
