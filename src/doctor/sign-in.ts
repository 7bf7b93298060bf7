// A browser's way from an app to the sign-in page, as far as it goes without a password: the redirect, and cookies there and
// back. Leaves one unfinished sign-in behind, which ends by itself.
import { createHash, randomBytes } from 'node:crypto';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { localUrl } from '../config/listen-addresses.ts';
import { type Answer, Unanswered } from './ask.ts';
import { type ReportFault, Skipped, type Target } from './check.ts';

const BROWSER = { accept: 'text/html' };

export async function checkSignIn(target: Target, report: ReportFault): Promise<string | undefined> {
  const { config, issuer, at, ask } = target;
  const app = config?.clients.find(
    ({ grantTypes, redirectUris }) => grantTypes.includes('authorization_code') && redirectUris.length > 0,
  );
  if (app === undefined)
    throw new Skipped('cookies and redirects need the configuration, with a client that people sign in to');
  const answer = await ask(signInUrl(at, app), { headers: BROWSER });
  const { status, header, all } = answer;
  if (status !== 302 && status !== 303) return explainRefusal(target, answer, { app, report });
  const cookies = all('set-cookie').map(parseCookie);
  judgeCookies(issuer, cookies, report);
  const page = URL.parse(header('location'), issuer);
  if (page === null || !page.href.startsWith(`${issuer}/interaction/`)) {
    const found = header('location').split('?', 1)[0];
    const message = `the redirect to the sign-in page leads to ${found}, not below ${issuer}`;
    return report('redirect-rewritten', message);
  }
  if (cookies.length === 0) return undefined;
  const headers = { ...BROWSER, cookie: cookieHeader(cookies, page.pathname) };
  const shown = await ask(`${new URL(at).origin}${page.pathname}${page.search}`, { headers });
  if (shown.status === 400 && isOwnPage(shown))
    return report('cookies-lost', 'the sign-in page does not get the cookies that were set for it');
  if (shown.status !== 200 || !isOwnPage(shown))
    return report('page-refused', `the sign-in page is answered ${shown.status}`);
  return `a browser gets to the sign-in page of ${app.clientId} and keeps its cookies`;
}

async function explainRefusal(
  target: Target,
  answer: Answer,
  { app, report }: { readonly app: Client; readonly report: ReportFault },
): Promise<undefined> {
  const answered = `a sign-in of ${app.clientId} is answered ${answer.status}`;
  return answer.status === 503 && isOwnPage(answer)
    ? report('not-ready', `${answered}: ${await whyNotReady(target)}`)
    : report('sign-in-refused', `${answered} instead of a redirect`);
}

/** What the service itself says, where its management listener can be asked from here. */
async function whyNotReady({ config, ask }: Target): Promise<string> {
  try {
    const { json } = config === undefined ? {} : await ask(`${localUrl(config.management)}/readyz`);
    if (Array.isArray(json?.['problems']) && json['problems'].length > 0) return json['problems'].join('; ');
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
  }
  return "Postern can't use its store";
}

/** The URL that the app would send a browser to; its public data are enough to begin. */
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
function isOwnPage(answer: Answer): boolean {
  return answer.all('content-security-policy').some((policy) => policy.includes("frame-ancestors 'none'"));
}

export type Cookie = {
  readonly name: string;
  readonly value: string;
  /** In lower case; an attribute without a value has an empty one. */
  readonly attributes: ReadonlyMap<string, string>;
};

export function parseCookie(header: string): Cookie {
  const [[name, value], ...rest] = header.split(';').map(split) as [[string, string], ...[string, string][]];
  return { name, value, attributes: new Map(rest.map(([key, set]) => [key.toLowerCase(), set])) };
}

function split(part: string): [string, string] {
  const [name = '', ...rest] = part.split('=');
  return [name.trim(), rest.join('=').trim()];
}

/** What a browser sends with a request for `path` (RFC 6265 §5.1.4). */
function cookieHeader(cookies: readonly Cookie[], path: string): string {
  const sent = cookies.filter(({ attributes }) => {
    const folder = attributes.get('path') ?? '/';
    return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
  });
  return sent.map(({ name, value }) => `${name}=${value}`).join('; ');
}

/** Every cookie of a sign-in is HttpOnly, SameSite=Lax and, with an https issuer, Secure with a prefix (RFC 6265bis §4.1.3). */
export function judgeCookies(issuer: string, cookies: readonly Cookie[], report: ReportFault): void {
  if (cookies.length === 0)
    report('cookies-stripped', 'the answer to a sign-in request has no Set-Cookie: nobody can sign in');
  const secure = issuer.startsWith('https:');
  const renamed = cookies.filter(({ name }) => secure && !/^__(Host|Secure)-/.test(name));
  const altered = cookies.filter((cookie) => !renamed.includes(cookie) && isAltered(cookie, secure));
  if (renamed.length > 0) report('cookies-renamed', `the proxy renames cookies: ${namesOf(renamed)}`);
  if (altered.length > 0)
    report('cookies-altered', `the proxy changes the attributes of cookies: ${namesOf(altered)}`);
}

function isAltered({ name, attributes }: Cookie, secure: boolean): boolean {
  return (
    attributes.has('domain') ||
    !attributes.has('httponly') ||
    attributes.get('samesite')?.toLowerCase() !== 'lax' ||
    attributes.has('secure') !== secure ||
    (name.startsWith('__Host-') && attributes.get('path') !== '/')
  );
}

function namesOf(cookies: readonly Cookie[]): string {
  return cookies.map(({ name }) => name).join(', ');
}
