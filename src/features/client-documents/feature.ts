// Clients that nobody registered: their client_id is the URL of a metadata document, which is fetched from a host that the file lists
// (draft-ietf-oauth-client-id-metadata-document-02).
import * as z from 'zod';
import { group } from '../../config/camel-keys.ts';
import { listedHostFault } from '../../config/client-id-url.ts';
import { HOUR, MINUTE } from '../../config/notation.ts';
import { foreignScopesFault, type Rule, type ScopeOwners } from '../../config/rules.ts';
import { scopeFault, splitScope, text } from '../../config/text.ts';
import type { Declaration } from '../feature.ts';

type Listed = { readonly hosts: readonly string[]; readonly scope: readonly string[] };

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
          'Exact host names, asked on port 443; an entry with a path, such as app.example/client.json, is that one document.',
        ),
      scope: text(scopeFault)
        .transform(splitScope)
        .describe("Every scope that such a client may ask for, separated by spaces, as a client's scope."),
    })
      .optional()
      .describe(
        'Apps that nobody registered: a client_id that is an https URL of one of these hosts is looked up there. Absent: none, and nothing is fetched.',
      ),
  },
  serviceRules: [scopeIsOwned],
  limits: {
    // Fetches of documents that nobody uses yet, for strangers. Whether a URL was made up, only the answer says: `network` counts those that
    // brought no document, and after the first `refused` is its share of `host`.
    'documents.address': { limit: 5, windowSeconds: MINUTE },
    'documents.network': { limit: 100, windowSeconds: HOUR },
    'documents.host': { limit: 10, windowSeconds: MINUTE },
    'documents.refused': { limit: 2, windowSeconds: MINUTE },
    // Of one document in use or named in the file, over all processes: each asks a host that doesn't answer once in half a minute. Also
    // of all others for one signed-in user or trusted browser.
    'documents.renewal': { limit: 10, windowSeconds: MINUTE },
  },
  isOn: ({ clientDocuments: listed }: { readonly clientDocuments?: unknown }) => listed !== undefined,
} as const satisfies Declaration;
