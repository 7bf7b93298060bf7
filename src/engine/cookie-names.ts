// What the engine's cookies are called. Owns no cookie.

export type CookieNames = { readonly session: string; readonly interaction: string; readonly resume: string };

/** RFC 6265bis §4.1.3: the prefixes make a browser refuse a cookie that a neighbour or plain http planted. */
export function cookieNames(issuer: string): CookieNames {
  const secure = issuer.startsWith('https:');
  return {
    session: `${secure ? '__Host-' : ''}postern_session`,
    interaction: `${secure ? '__Secure-' : ''}postern_interaction`,
    resume: `${secure ? '__Secure-' : ''}postern_resume`,
  };
}
