// Parses the cookies of an answer as a browser does, and reports what is wrong with them.
import type { ReportFault } from './check.ts';

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
export function cookieHeader(cookies: readonly Cookie[], path: string): string {
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
