// The rules for every kind of URI and address in the configuration, each as a function that returns the fault.
import { isIP, isIPv4 } from 'node:net';
import * as z from 'zod';
import { type Fault, matching } from './text.ts';

const REDIRECT_LOOPBACKS = new Set(['localhost', '127.0.0.1', '[::1]']);

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
export const isNativeRedirect = (value: string) => URL.parse(value)?.protocol !== 'https:';

export const hostNameFault = matching(
  /^[\w-]+(\.[\w-]+)*$/,
  'must be a host name, without a scheme, port or wildcard',
);

const CIDR = z.union([z.cidrv4(), z.cidrv6()]);

export const proxyFault: Fault = (value) =>
  isIP(value) > 0 || CIDR.safeParse(value).success
    ? undefined
    : 'must be an IP address or a range, such as 10.0.0.0/8';

const isWeb = (url: URL) => url.protocol === 'https:' || url.protocol === 'http:';

/** Parses an absolute URI without a user name that every parser reads the same. Returns undefined for other text. */
function plainUrl(value: string): URL | undefined {
  if (!/^[\x21-\x7e]+$/.test(value) || /["\\<>^`{|}]/.test(value)) return undefined;
  // localhost:8080 is a URI too, whose scheme is localhost.
  if (/^(localhost|[\w-]+(\.[\w-]+)+):\d+(\/|$)/i.test(value)) return undefined;
  const url = URL.parse(value);
  // URL repairs `https:/host` to `https://host`, other parsers don't.
  const lacksHost = url !== null && isWeb(url) && !/^https?:\/\/[^/]/i.test(value);
  return url === null || lacksHost || url.username + url.password !== '' ? undefined : url;
}

export function uriFault(fits: (url: URL, text: string) => boolean, message: string): Fault {
  return (value) => {
    const url = plainUrl(value);
    return url !== undefined && fits(url, value) ? undefined : message;
  };
}

/** RFC 8414 §2 and OIDC Discovery §3. Checks the text, because URL has already resolved dot segments. */
const plainIssuerFault = uriFault(
  (url, text) =>
    isWeb(url) &&
    !url.hostname.includes('*') &&
    url.port !== '0' &&
    /^https?:\/\/[^/?#]+(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*\/?$/i.test(text),
  'must be an https URL without a query, fragment or user name; its path can have letters, digits and . _ ~ - between single slashes',
);

/** Requires https, except on localhost. */
export function issuerFault(value: string): string | undefined {
  const url = URL.parse(value);
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
    ? 'must be https, because the host is not localhost: use the URL of your TLS proxy (docs/reverse-proxy.md)'
    : plainIssuerFault(value);
}

/** Returns the spelling of the issuer in every URL and token: lower-case host, no default port, no trailing slash. */
export const normalizeIssuer = (issuer: string) => new URL(issuer).href.replace(/\/$/, '');

/** RFC 6749 §3.1.2, RFC 9700 §2.1 (exact match, so no patterns) and RFC 8252 §7. */
export function redirectUriFault(text: string): string | undefined {
  if (text.includes('*')) return 'must not contain a wildcard: list each URI (RFC 9700 §2.1)';
  const url = plainUrl(text);
  if (!url) return 'must be a complete URL, such as https://app.example/callback, without a user name';
  if (text.includes('#')) return 'must not have a fragment: remove the # (RFC 6749 §3.1.2)';
  if (url.protocol === 'http:')
    return REDIRECT_LOOPBACKS.has(url.hostname)
      ? undefined
      : 'must be https: http is only for localhost, 127.0.0.1 and [::1] (RFC 8252 §7.3)';
  return url.protocol === 'https:' || url.protocol.includes('.')
    ? undefined
    : 'must be https, or a private-use scheme with a dot, such as com.example.app:/callback (RFC 8252 §7.1)';
}

/** Client metadata that a page links to: only what is safe in an `href`. */
export const webUriFault = uriFault(isWeb, 'must be a complete http or https URL, without a user name');

export const supportFault = (value: string): string | undefined =>
  /^mailto:[^\s"<>@]+@[^\s"<>@]+$/.test(value) ? undefined : webUriFault(value);

/** A web URL, a path on the issuer's host, or the name of a file in the assets of the administrator's views. */
export function imageFault(value: string): string | undefined {
  if (/^\w[\w-]*\.\w+$/.test(value)) return undefined;
  return /^\/[A-Za-z0-9._~-]/.test(value) && !/[\s"\\<>]/.test(value) ? undefined : webUriFault(value);
}

/** RFC 8707 §2. */
export const resourceFault = uriFault(
  (_url, text) => !text.includes('#'),
  'must be a complete URI, without a fragment or user name (RFC 8707 §2)',
);

/** The form for comparing resources: scheme and host in lower case, `/` as no path (RFC 3986 §6.2.2.1, §6.2.3), the rest as is. */
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
    : 'must be an origin, such as https://app.example: lower case, without a default port, path or wildcard';
}
