// What happens when a client shows its secret: count the attempt, compare every live hash in constant time, then count
// the client's own request. In this order, so that a guess is never free and nobody can use up a client's limit.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Client, ClientSecret } from '../config/config.ts';
import type { ClientEndpoint, Limits } from '../limits/limits.ts';
import type { Clock } from '../store/store.ts';

/** Where the secret was shown and from where. */
export type ClientRequest = { readonly endpoint: ClientEndpoint; readonly address: string };

export function createSecretComparison(
  findClient: (clientId: string) => Client | undefined,
  limits: Limits,
  now: Clock,
): (request: ClientRequest, clientId: string, secret: string) => Promise<boolean> {
  return async function compareSecret({ endpoint, address }, clientId, secret) {
    const takeBack = await limits.takeSecretAttempt(endpoint, clientId, address);
    const client = findClient(clientId);
    if (client === undefined || !matchesLiveSecret(client.secrets, secret, now() / 1000)) return false;
    takeBack();
    await limits.takeClient(endpoint, client);
    return true;
  };
}

/** `at` in epoch seconds. Looks at every live hash, whichever matches. */
export function matchesLiveSecret(secrets: readonly ClientSecret[], secret: string, at: number): boolean {
  const digest = createHash('sha256').update(secret, 'utf8').digest();
  let matches = false;
  for (const candidate of secrets) {
    if (isLive(candidate, at) && timingSafeEqual(candidate.digest, digest)) matches = true;
  }
  return matches;
}

function isLive({ notBefore, expiresAt }: ClientSecret, at: number): boolean {
  return (notBefore === undefined || notBefore <= at) && (expiresAt === undefined || at < expiresAt);
}
