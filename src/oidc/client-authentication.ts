// What happens when a client shows its secret: count the attempt, then compare every live hash in constant time. The client's own
// request is counted after that, so that a guess is never free and only the client itself can use up its limit.
import { timingSafeEqual } from 'node:crypto';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Client, ClientSecret } from '../config/config.ts';
import { digestOf } from '../config/secret-strength.ts';
import type { Limits } from '../limits/limits.ts';
import type { Clock } from '../store/store.ts';
import type { Clients } from './clients.ts';
import { type ClientLimits, shownAt } from './limit-clients.ts';

type SecretComparisonParts = Readonly<{
  clients: Clients;
  limits: Limits;
  now: Clock;
  /** Gets the secret that was right, on the request's path, so it must only take a note. */
  onSecretUsed: (client: Client, secret: ClientSecret) => void;
  admitClient: ClientLimits['admitClient'];
}>;

export function createSecretComparison(parts: SecretComparisonParts) {
  const { clients, limits, now, onSecretUsed, admitClient } = parts;
  /** Counts the attempt, in constant time, and a right one as a request of the client; throws what the host answers (429, 503). */
  return async function compareSecret(ctx: KoaContextWithOIDC, clientId: string, secret: string) {
    const client = await clients.load(clientId);
    if (client === undefined) return false;
    const { endpoint, address } = shownAt(ctx);
    const isRight = await limits.attemptSecret(endpoint, clientId, address, () => {
      const match = findSecret(client.secrets, digestOf(secret), now() / 1000);
      if (match !== undefined) onSecretUsed(client, match);
      return match !== undefined;
    });
    if (isRight) await admitClient(ctx, client);
    return isRight;
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
