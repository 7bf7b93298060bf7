// Clients without registration: their client_id is the URL of a metadata document, which is fetched from a host that the file lists
// (draft-ietf-oauth-client-id-metadata-document-02).
import * as z from 'zod';
import { group } from '../../config/camel-keys.ts';
import { clientIdUrlFault, dnsNameFault, MAX_CLIENT_ID_LENGTH } from '../../config/client-id-url.ts';
import { HOUR, MINUTE } from '../../config/notation.ts';
import { foreignScopesFault, type Rule, type ScopeOwners } from '../../config/rules.ts';
import { scopeFault, splitScope, text } from '../../config/text.ts';
import type { Declaration } from '../feature.ts';

/** Whether the document at this URL may be fetched: `hosts` lists its host or the document itself. */
export function isListedDocument(clientId: string, hosts: readonly string[]): boolean {
  if (clientId.length > MAX_CLIENT_ID_LENGTH || clientIdUrlFault(clientId) !== undefined) return false;
  const { host } = new URL(clientId);
  // With a port, host isn't a name that can be listed.
  return hosts.some((entry) => entry === host || `https://${entry}` === clientId);
}

/** An entry of `hosts`: a host, or one document without its `https://`. */
function listedHostFault(value: string): string | undefined {
  const [host = '', ...path] = value.split('/');
  const isDocument = path.length > 0;
  return dnsNameFault(host) === undefined &&
    (!isDocument || clientIdUrlFault(`https://${value}`) === undefined)
    ? undefined
    : 'must be a host, such as app.example, or one document, such as app.example/client.json: in lower case, without a scheme, port or wildcard';
}

type Listed = Readonly<{ hosts: readonly string[]; scope: readonly string[] }>;

type Settings = { readonly clientDocuments?: Listed | undefined };

const scopeIsOwned: Rule<{ readonly client_documents?: Listed | undefined }, ScopeOwners> = {
  at: 'client_documents.scope',
  fault({ client_documents: listed }, owners) {
    if (listed?.scope.length === 0) return 'must name at least one scope';
    return listed && foreignScopesFault(listed.scope, owners);
  },
};

export const clientDocuments = {
  name: 'client-documents',
  service: {
    client_documents: group({
      hosts: z
        .array(text(listedHostFault))
        .min(1, 'must name at least one host')
        .describe(
          'Exact host names, port 443. An entry with a path, such as app.example/client.json, allows only that document.',
        ),
      scope: text(scopeFault)
        .transform(splitScope)
        .describe('All scopes that these clients can request, separated by spaces.'),
    })
      .optional()
      .describe(
        'Clients without registration: if a client_id is an https URL on one of these hosts, its metadata document is fetched from there. Default: off.',
      ),
  },
  serviceRules: [scopeIsOwned],
  limits: {
    // Fetches of unused documents for strangers. Only the response shows whether a URL is made up: `network` counts fetches that brought no
    // document, and after the first one, `refused` is their share of `host`.
    'documents.address': { limit: 5, windowSeconds: MINUTE },
    'documents.network': { limit: 100, windowSeconds: HOUR },
    'documents.host': { limit: 10, windowSeconds: MINUTE },
    'documents.refused': { limit: 2, windowSeconds: MINUTE },
    // Per document that is in use or listed in the file, across all processes. Each process asks a host that doesn't answer twice a minute.
    // Also for all other documents, per signed-in user or trusted browser.
    'documents.renewal': { limit: 10, windowSeconds: MINUTE },
  },
  audit: ['client_document'],
  isOn: ({ clientDocuments: listed }: Settings) => listed !== undefined,
} as const satisfies Declaration;
