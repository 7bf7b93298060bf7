// A client_id that is a URL: a Client Identifier URL, of a document that is fetched, or of one that is pinned in the file
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
    : 'must be a plain https URL: host in lower case, a path, no default port, dot segments, query, fragment or user name';
}

/** Whether a client_id that the configuration or the guard of documents let through is a URL, fetched or pinned. */
export const isDocumentClient = (clientId: string): boolean => clientId.startsWith('https://');

/** Whether the document at this URL may be fetched: `hosts` of client_documents has its host, or itself. */
export function isListedDocument(clientId: string, hosts: readonly string[]): boolean {
  if (clientId.length > MAX_CLIENT_ID_LENGTH || clientIdUrlFault(clientId) !== undefined) return false;
  const { host } = new URL(clientId);
  // With a port, host isn't a name that can be listed.
  return hosts.some((entry) => entry === host || `https://${entry}` === clientId);
}

/** An entry of client_documents.hosts: a host, or one document without its `https://`. */
export function listedHostFault(value: string): string | undefined {
  const [host = '', ...path] = value.split('/');
  const isDocument = path.length > 0;
  return dnsNameFault(host) === undefined &&
    (!isDocument || clientIdUrlFault(`https://${value}`) === undefined)
    ? undefined
    : 'must be a host, such as app.example, or one document, such as app.example/client.json: lower case, without scheme, port and wildcard';
}

/** A name that is asked of DNS, in the one spelling that URL gives it; no address. */
export function dnsNameFault(value: string): string | undefined {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(value) &&
    URL.parse(`https://${value}`)?.host === value &&
    !/^[\d.]+$/.test(value)
    ? undefined
    : 'must be a host name in lower case, without scheme, port and wildcard; no address';
}
