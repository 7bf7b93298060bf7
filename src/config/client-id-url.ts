// A client_id that is the URL of the client's metadata document, a Client Identifier URL
// (draft-ietf-oauth-client-id-metadata-document-02).

/** In characters. Applies to every client_id, including one that a caller sends. */
export const MAX_CLIENT_ID_LENGTH = 200;

/** Draft §3: https, a path, no dot segments, fragment, query or user. Accepts only the spelling that URL normalizes to. */
export function clientIdUrlFault(value: string): string | undefined {
  const url = URL.parse(value);
  // URL normalizes dot segments in every spelling, case, ports, backslashes and numeric addresses, so the href then differs.
  return url !== null &&
    url.href === value &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    url.username + url.password === '' &&
    !/[?#]/.test(value)
    ? undefined
    : 'must be an https URL with a path and a lower-case host, without a default port, dot segments, query, fragment or user name';
}

/** For a valid client_id: one that isn't a URL has no colon. */
export const isUrlClient = (clientId: string) => clientId.startsWith('https://');

/** The rule for a name that DNS resolves, in the spelling that URL normalizes to. Rejects IP addresses. */
export function dnsNameFault(value: string): string | undefined {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(value) &&
    URL.parse(`https://${value}`)?.host === value &&
    !/^[\d.]+$/.test(value)
    ? undefined
    : 'must be a host name in lower case, without a scheme, port or wildcard, and not an IP address';
}
