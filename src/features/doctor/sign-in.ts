// The redirect from an app to the sign-in page, and its cookies in both directions. Leaves one pending sign-in, which expires.
import { createHash, randomBytes } from 'node:crypto';
import type { Client } from '../../config/config.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { Answer } from './ask.ts';
import { type ReportFault, Skipped, type Target } from './check.ts';

const BROWSER = { accept: 'text/html' };

export async function checkSignIn(target: Target, report: ReportFault): Promise<string | undefined> {
  const { config, issuer, at, ask } = target;
  const app = config?.clients.find(
    ({ grantTypes, redirectUris }) => grantTypes.includes('authorization_code') && redirectUris.length > 0,
  );
  if (!app)
    throw new Skipped('cookies and redirects can only be checked with a client that users sign in to');
  const { status, header, all } = await ask(signInUrl(at, app), { headers: BROWSER });
  if (status !== 302 && status !== 303)
    return report(
      'sign-in-refused',
      `a sign-in to "${app.clientId}" returns ${status} instead of a redirect`,
    );
  const cookies = all('set-cookie');
  judgeCookies(issuer, cookies, report);
  const page = URL.parse(header('location'), issuer);
  if (page === null || !page.href.startsWith(`${issuer}/interaction/`)) {
    const found = header('location').split('?', 1)[0];
    const message = `the redirect to the sign-in page goes to ${found} instead of ${issuer}`;
    return report('redirect-rewritten', message);
  }
  if (cookies.length === 0) return undefined;
  const headers = { ...BROWSER, cookie: cookieHeader(cookies, page.pathname) };
  const shown = await ask(`${new URL(at).origin}${page.pathname}${page.search}`, { headers });
  if (shown.status === 400 && isOwnPage(shown))
    return report('cookies-lost', 'the sign-in page does not receive its cookies');
  if (shown.status !== 200 || !isOwnPage(shown))
    return report('sign-in-refused', `the sign-in page returns ${shown.status}`);
  return `a browser reaches the sign-in page of "${app.clientId}" and keeps its cookies`;
}

function signInUrl(at: string, { clientId, redirectUris, scopes }: Client): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUris[0] ?? '',
    scope: scopes.includes('openid') ? 'openid' : (scopes[0] ?? ''),
    state: 'postern-doctor',
    nonce: 'postern-doctor',
    code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `${at}${ENDPOINTS.authorization}?${query.toString()}`;
}

/** Every page of Postern has this policy; a page of the proxy doesn't. */
const isOwnPage = (answer: Answer) =>
  answer.all('content-security-policy').some((policy) => policy.includes("frame-ancestors 'none'"));

const pathOf = (cookie: string) => /; *path=([^;]*)/i.exec(cookie)?.[1] ?? '/';

/** What a browser sends with a request for `path` (RFC 6265 §5.1.4). */
function cookieHeader(cookies: readonly string[], path: string): string {
  return cookies
    .filter((cookie) => `${path}/`.startsWith(`${pathOf(cookie).replace(/\/$/, '')}/`))
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}

/** Every cookie of a sign-in is HttpOnly, SameSite=Lax and, with an https issuer, Secure with a prefix (RFC 6265bis §4.1.3). */
export function judgeCookies(issuer: string, cookies: readonly string[], report: ReportFault): void {
  const secure = issuer.startsWith('https:');
  const altered = cookies.filter(
    (cookie) =>
      /; *domain=/i.test(cookie) ||
      !/; *httponly/i.test(cookie) ||
      !/; *samesite=lax/i.test(cookie) ||
      /; *secure/i.test(cookie) !== secure ||
      /^__(Host|Secure)-/.test(cookie) !== secure ||
      (cookie.startsWith('__Host-') && pathOf(cookie) !== '/'),
  );
  if (cookies.length === 0)
    report('cookies-altered', 'the response to a sign-in request has no Set-Cookie: no user can sign in');
  if (altered.length > 0) {
    const names = altered.map((cookie) => cookie.split('=', 1)[0]).join(', ');
    report('cookies-altered', `the proxy changes the names or attributes of cookies: ${names}`);
  }
}
