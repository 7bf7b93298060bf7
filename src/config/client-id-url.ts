// A client_id that is a URL: a Client Identifier URL, of the metadata document that the client was made of
// (draft-ietf-oauth-client-id-metadata-document-02).

/** Of every client_id, also of one that a caller names. */
export const MAX_CLIENT_ID_LENGTH = 200;

/** Draft §3: https, a path, no dot segments, no fragment, query and user. Only in the one spelling that URL gives it. */
export function clientIdUrlFault(value: string): string | undefined {
  const url = URL.parse(value);
  // URL resolves dot segments, in every spelling, and repairs case, ports, backslashes and numbers for an address.
  return url !== null &&
    url.href === value &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    url.username + url.password === '' &&
    !/[?#]/.test(value)
    ? undefined
    : 'must be an https URL with a path and a lower-case host, without a default port, dot segments, query, fragment or user name';
}

/** Of a client_id without a fault: another one has no colon. */
export const isUrlClient = (clientId: string): boolean => clientId.startsWith('https://');

/** A name that is asked of DNS, in the one spelling that URL gives it; no address. */
export function dnsNameFault(value: string): string | undefined {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(value) &&
    URL.parse(`https://${value}`)?.host === value &&
    !/^[\d.]+$/.test(value)
    ? undefined
    : 'must be a host name in lower case, without a scheme, port or wildcard, and not an IP address';
}
