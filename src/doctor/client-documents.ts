// Compares pinned client documents with what is published.
import { checkPinned } from '../client-documents/pinned.ts';
import type { Config } from '../config/config.ts';
import { outgoingOf } from '../outgoing/guard.ts';
import type { ReportFault } from './check.ts';

export async function checkPinnedDocuments(config: Config, report: ReportFault) {
  const checks = await checkPinned(config.clients, outgoingOf(config));
  for (const { clientId, differences, failed } of checks) {
    for (const difference of differences) report('client-document-differs', `${clientId}: ${difference}`);
    if (failed !== undefined) report('client-document-unreachable', `${clientId}: ${failed}`);
  }
  return checks.length === 0 ? undefined : 'the pinned documents of clients are as published';
}
