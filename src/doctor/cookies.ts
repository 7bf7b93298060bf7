// The cookies of an answer as a browser would take them, and what is wrong with them. Owns no request.
import { isSecure, type Examination } from './examination.ts';
import { problem, type Finding } from './finding.ts';

export type Cookie = {
  readonly name: string;
  readonly value: string;
  /** In lower case; an attribute without a value has an empty one. */
  readonly attributes: ReadonlyMap<string, string>;
};

export function parseCookie(header: string): Cookie {
  const [pair = '', ...rest] = header.split(';');
  const [name, value] = split(pair);
  return {
    name,
    value,
    attributes: new Map(rest.map((part) => split(part)).map(([key, set]) => [key.toLowerCase(), set])),
  };
}

function split(part: string): [string, string] {
  const at = part.indexOf('=');
  return at === -1 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
}

/** What a browser sends with a request for `path`. */
export function cookieHeader(cookies: readonly Cookie[], path: string): string {
  return cookies
    .filter(({ attributes }) => {
      const folder = attributes.get('path') ?? '/';
      return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
    })
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
}

/** Every cookie of a sign-in is HttpOnly, SameSite=Lax and, with an https issuer, Secure with a prefix (RFC 6265bis §4.1.3). */
export function judgeCookies(
  examination: Pick<Examination, 'issuer'>,
  cookies: readonly Cookie[],
): Finding[] {
  if (cookies.length === 0)
    return [
      problem(
        'cookies-stripped',
        'the answer to a sign-in request has no Set-Cookie: nobody can sign in',
        'Let the proxy pass Set-Cookie on (in nginx: no proxy_hide_header Set-Cookie, no proxy_ignore_headers with a cache).',
      ),
    ];
  const secure = isSecure(examination);
  const renamed = cookies.filter(({ name }) => secure && !/^__(Host|Secure)-/.test(name));
  const altered = cookies.filter((cookie) => !renamed.includes(cookie) && isAltered(cookie, secure));
  const findings: Finding[] = [];
  if (renamed.length > 0)
    findings.push(
      problem(
        'cookies-renamed',
        `the proxy renames cookies: ${names(renamed)}`,
        'Let it leave Set-Cookie alone: without the __Host- and __Secure- prefixes a neighbour can plant them.',
      ),
    );
  if (altered.length > 0)
    findings.push(
      problem(
        'cookies-altered',
        `the proxy changes the attributes of cookies: ${names(altered)}`,
        'Let it leave Set-Cookie alone (in nginx: no proxy_cookie_path, proxy_cookie_domain or proxy_cookie_flags).',
      ),
    );
  return findings;
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

function names(cookies: readonly Cookie[]): string {
  return cookies.map(({ name }) => name).join(', ');
}
