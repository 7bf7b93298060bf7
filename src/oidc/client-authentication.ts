// What happens when a client shows its secret: count the attempt, then compare every live hash in constant time. The client's own
// request is counted after that, so that a guess is never free and only the client itself can use up its limit.
import { timingSafeEqual } from 'node:crypto';
import type { Client, ClientSecret } from '../config/config.ts';
import { digestOf } from '../config/secret-strength.ts';
import type { ClientEndpoint, Limits } from '../limits/limits.ts';
import type { Clock } from '../store/store.ts';
import type { Clients } from './clients.ts';

/** Where the secret was shown and from where. */
export type ClientRequest = { readonly endpoint: ClientEndpoint; readonly address: string };

export type SecretComparisonParts = Readonly<{
  clients: Clients;
  limits: Limits;
  now: Clock;
  /** Gets the secret that was right, on the request's path, so it must only take a note. */
  onSecretUsed?: ((client: Client, secret: ClientSecret) => void) | undefined;
}>;

export function createSecretComparison({ clients, limits, now, onSecretUsed }: SecretComparisonParts) {
  /** Counts the attempt, in constant time; throws what the host answers (429, 503). The caller counts the client's request. */
  return async function compareSecret(
    { endpoint, address }: ClientRequest,
    clientId: string,
    secret: string,
  ): Promise<boolean> {
    const client = await clients.load(clientId);
    if (client === undefined) return false;
    return limits.attemptSecret(endpoint, clientId, address, () => {
      const match = findSecret(client.secrets, digestOf(secret), now() / 1000);
      if (match !== undefined) onSecretUsed?.(client, match);
      return match !== undefined;
    });
  };
}

/** The live secret that has this digest; `at` in epoch seconds. Looks at every one, whichever matches. */
export function findSecret(
  secrets: readonly ClientSecret[],
  digest: Buffer,
  at: number,
): ClientSecret | undefined {
  let match: ClientSecret | undefined;
  for (const candidate of secrets) {
    if (isLive(candidate, at) && timingSafeEqual(candidate.digest, digest)) match = candidate;
  }
  return match;
}

const isLive = ({ notBefore, expiresAt }: ClientSecret, at: number): boolean =>
  (notBefore === undefined || notBefore <= at) && (expiresAt === undefined || at < expiresAt);
