// Clients by their metadata documents, where hosts of these are listed.
import type { Parts } from '../parts.ts';

export const open = (): Parts => ({
  // Draft §6: the engine's own feature would fetch, and remember, by itself.
  discovery: { client_id_metadata_document_supported: true },
});
