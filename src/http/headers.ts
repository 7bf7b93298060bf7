// The headers that our answers share, as plain functions, so that the middleware and the fast path send the same.
import type { Middleware } from 'koa';
import { isLoopbackUrl } from '../config/uri.ts';

export type Headers = Readonly<Record<string, string>>;

/**
 * `script-src 'self'` is for the pages' own script in assets/; no page needs it.
 * No form-action: browsers apply it to the redirect after a sign-in, which goes to the app.
 */
function contentSecurityPolicy(issuer: string): string {
  // A developer's app on the same machine serves its logo there.
  const ofThisMachine = isLoopbackUrl(issuer) ? ' http://localhost:* http://127.0.0.1:*' : '';
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' https: data:${ofThisMachine}`,
    "script-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Headers of every answer, including those of the engine and errors (ASVS 3.4). */
export function securityHeaders(issuer: string): Headers {
  return {
    'Content-Security-Policy': contentSecurityPolicy(issuer),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // `no-referrer` would make browsers send `Origin: null` with our own forms.
    'Referrer-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    ...(issuer.startsWith('https:') && {
      'Strict-Transport-Security': 'max-age=31536000',
    }),
  };
}

/** Headers of every answer of an endpoint that scripts may call. Pages show the id in their text instead. */
export function scriptableHeaders(requestId: string): Headers {
  return { 'X-Request-Id': requestId, Vary: 'Origin' };
}

export function setSecurityHeaders(issuer: string): Middleware {
  const entries = Object.entries(securityHeaders(issuer));

  return async function setHeaders({ res }, next) {
    for (const [name, value] of entries) res.setHeader(name, value);
    await next();
    const cookies = res.getHeader('Set-Cookie');
    if (Array.isArray(cookies)) res.setHeader('Set-Cookie', cookies.map(addMaxAge));
  };
}

/** The package sets only Expires, by this machine's clock: a browser whose clock is ahead would drop a new cookie. */
function addMaxAge(cookie: string): string {
  return cookie.replace(/; expires=([^;]+)/, (expires, at: string) => {
    const seconds = Math.round((Date.parse(at) - Date.now()) / 1000);
    return `${expires}; max-age=${Math.max(0, seconds)}`;
  });
}
