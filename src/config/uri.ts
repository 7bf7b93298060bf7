// The rules for every kind of URI in the configuration, each as a function that says what is wrong.
import { isIPv4 } from 'node:net';
import { matching } from './text.ts';

const REDIRECT_LOOPBACKS = new Set(['localhost', '127.0.0.1', '[::1]']);
const FORBIDDEN_SCHEMES = new Set(['javascript:', 'data:', 'file:', 'vbscript:', 'blob:', 'about:']);

/** Whether `hostname`, as URL gives it, can only mean this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

export function isLoopbackUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && isLoopbackHost(url.hostname);
}

/** RFC 8252 §7.3 and §7.1: `http` on loopback, or a private-use scheme; both belong to native apps only. */
export function isNativeRedirect(value: string): boolean {
  return URL.parse(value)?.protocol !== 'https:';
}

export const hostNameFault = matching(
  /^[\w-]+(\.[\w-]+)*$/,
  'must be a host name, without scheme, port and wildcard',
);

type UrlRule = readonly [broken: (url: URL, text: string) => boolean, message: string];

function firstBroken(rules: readonly UrlRule[], url: URL, value: string): string | undefined {
  return rules.find(([broken]) => broken(url, value))?.[1];
}

function absoluteFault(value: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(value) || /["\\<>^`{|}]/.test(value)) {
    return 'must be a URI: ASCII without spaces, backslashes, quotes and braces';
  }
  // localhost:8080 is a URI too, whose scheme is localhost.
  const isHostAndPort = /^(localhost|[\w-]+(\.[\w-]+)+):\d+(\/|$)/i.test(value);
  return URL.canParse(value) && !isHostAndPort
    ? undefined
    : 'must begin with its scheme, such as https:// (or http:// for localhost)';
}

function withUrl(rules: readonly UrlRule[]): (value: string) => string | undefined {
  return (value) => {
    const fault = absoluteFault(value);
    const url = URL.parse(value);
    return fault ?? (url === null ? undefined : firstBroken(rules, url, value));
  };
}

const isWeb = (url: URL): boolean => url.protocol === 'https:' || url.protocol === 'http:';
// URL repairs `https:/host` to `https://host`, other parsers don't.
const lacksAuthority = (url: URL, text: string): boolean => isWeb(url) && !/^https?:\/\/[^/]/i.test(text);
const hasUserInfo = (url: URL): boolean => url.username !== '' || url.password !== '';
const hasFragment = (_url: URL, text: string): boolean => text.includes('#');

/** The issuer: RFC 8414 §2 and OIDC Discovery §3, and https unless it is this machine. */
export const issuerFault = withUrl([
  [(url) => !isWeb(url), 'must be an https URL'],
  [lacksAuthority, 'must be an https URL with a host'],
  [
    (url) => url.protocol === 'http:' && !isLoopbackHost(url.hostname),
    'must be https: http is only for localhost. Put a TLS proxy in front, and write its address here: docs/reverse-proxy.md',
  ],
  [hasUserInfo, 'must not contain a user name or password'],
  [
    ({ hostname, port }) => hostname.includes('*') || port === '0',
    'must be one address that browsers can open',
  ],
  [(_url, text) => /[?#]/.test(text), 'must not contain a query or fragment'],
  [
    // Of the text: URL has resolved dot segments already.
    (_url, text) => !/^https?:\/\/[^/]+(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*\/?$/i.test(text),
    'must have a plain path: letters, digits and . _ ~ - between single slashes',
  ],
]);

/** The one spelling of the issuer that every URL and token has: lower-case host, no default port, no trailing slash. */
export function normalizeIssuer(issuer: string): string {
  return new URL(issuer).href.replace(/\/$/, '');
}

/** RFC 6749 §3.1.2, RFC 9700 §2.1 (exact match, so no patterns) and RFC 8252 §7. */
export function redirectUriFault(value: string): string | undefined {
  if (value.includes('*'))
    return 'must not contain a wildcard: redirect URIs are compared exactly (RFC 9700 §2.1)';
  return plainRedirectFault(value);
}

const plainRedirectFault = withUrl([
  [hasFragment, 'must not contain a fragment (RFC 6749 §3.1.2)'],
  [(url) => FORBIDDEN_SCHEMES.has(url.protocol), 'must not use a scheme that browsers run or read locally'],
  [lacksAuthority, 'must have a host'],
  [hasUserInfo, 'must not contain a user name or password'],
  [
    (url) => url.protocol === 'http:' && !REDIRECT_LOOPBACKS.has(url.hostname),
    'must be https (http is for localhost, 127.0.0.1 and [::1])',
  ],
  [
    (url) => !isWeb(url) && !url.protocol.includes('.'),
    'must use https, or a private scheme that is a reversed domain name, such as com.example.app:/callback (RFC 8252 §7.1)',
  ],
]);

/** OIDC Back-Channel Logout §2.2, and https alone. What the name leads to is seen when it is called. */
export const logoutUriFault = withUrl([
  [(url) => url.protocol !== 'https:', 'must be an https URL'],
  [lacksAuthority, 'must be an https URL with a host'],
  [hasUserInfo, 'must not contain a user name or password'],
  [hasFragment, 'must not contain a fragment (OIDC Back-Channel Logout §2.2)'],
  // URL has put every spelling of an address into one.
  [(url) => /^\[|^[\d.]+$/.test(url.hostname), 'must name its host: no address'],
]);

/** Client metadata that a page links to: only what is safe in an `href`. */
export const webUriFault = withUrl([
  [(url) => !isWeb(url), 'must be an http or https URL'],
  [lacksAuthority, 'must be an http or https URL with a host'],
  [hasUserInfo, 'must not contain a user name or password'],
]);

/** Where people find help: a page, or an address for mail. */
export function supportFault(value: string): string | undefined {
  return /^mailto:[^\s"<>@]+@[^\s"<>@]+$/.test(value) ? undefined : webUriFault(value);
}

/** A web URL, a path on the issuer's host, or the name of a file in the assets of the operator's views. */
export function imageFault(value: string): string | undefined {
  if (/^\w[\w-]*\.\w+$/.test(value)) return undefined;
  return /^\/[A-Za-z0-9._~-]/.test(value) && !/[\s"\\<>]/.test(value) ? undefined : webUriFault(value);
}

/** RFC 8707 §2: an absolute URI without a fragment. */
export const resourceFault = withUrl([
  [hasFragment, 'must not contain a fragment (RFC 8707 §2)'],
  [lacksAuthority, 'must have a host'],
  [hasUserInfo, 'must not contain a user name or password'],
]);

/** How resources are compared: the scheme and the host without case and `/` as no path (RFC 3986 §6.2.2.1, §6.2.3), else as written. */
export function resourceKey(identifier: string): string {
  return identifier
    .replace(/^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i, (start) => start.toLowerCase())
    .replace(/^(https?:\/\/[^/?#]+)\/$/, '$1');
}

/** An origin exactly as a browser sends it (RFC 6454 §7). */
export function originFault(value: string): string | undefined {
  const url = URL.parse(value);
  return url !== null && isWeb(url) && url.origin === value && !value.includes('*')
    ? undefined
    : 'must be an exact origin, as https://app.example: scheme, host and unusual port in lower case, no path, no wildcard';
}
