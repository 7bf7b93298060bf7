// Compares pinned client documents with what is published.
import { checkPinned } from '../client-documents/pinned.ts';
import type { Config } from '../config/config.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { createOutgoing } from '../outgoing/guard.ts';
import type { ReportFault } from './check.ts';

export async function checkPinnedDocuments({ clients, issuer, outgoing }: Config, report: ReportFault) {
  const { internalHosts } = outgoing;
  const guard = createOutgoing({ internalHosts, issuerIsLoopback: isLoopbackUrl(issuer) });
  const checks = await checkPinned(clients, guard);
  for (const { clientId, differences, failed } of checks) {
    for (const difference of differences) report('client-document-differs', `${clientId}: ${difference}`);
    if (failed !== undefined) report('client-document-unreachable', `${clientId}: ${failed}`);
  }
  return checks.length === 0 ? undefined : 'the pinned documents of clients are as published';
}
