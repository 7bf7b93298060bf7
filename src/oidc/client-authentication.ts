// What happens when a client shows its secret: count the attempt, then compare every live hash in constant time. The client's own
// request is counted after that, so that a guess is never free and only the client itself can use up its limit.
import { timingSafeEqual } from 'node:crypto';
import type { Client, ClientSecret } from '../config/config.ts';
import { digestOf } from '../config/secret-strength.ts';
import { Remembered } from '../limits/bounded-map.ts';
import type { ClientEndpoint, Limits } from '../limits/limits.ts';
import type { Clock } from '../store/store.ts';
import type { Clients } from './clients.ts';

/** Where the secret was shown and from where. */
export type ClientRequest = { readonly endpoint: ClientEndpoint; readonly address: string };

/** Compares with an argon2id hash, in a bounded queue; may throw what the host answers (503). */
type VerifySlow = (phc: string, secret: string) => Promise<boolean>;

export type SecretComparisonParts = Readonly<{
  clients: Clients;
  limits: Limits;
  now: Clock;
  verifySlow: VerifySlow;
  /** Gets the secret that was right, on the request's path, so it must only take a note. */
  onSecretUsed?: ((client: Client, secret: ClientSecret) => void) | undefined;
}>;

export function createSecretComparison({
  clients,
  limits,
  now,
  verifySlow,
  onSecretUsed,
}: SecretComparisonParts) {
  const findSecret = createSecretFinder(verifySlow);
  /** Counts the attempt, in constant time; throws what the host answers (429, 503). The caller counts the client's request. */
  return async function compareSecret(
    { endpoint, address }: ClientRequest,
    clientId: string,
    secret: string,
  ): Promise<boolean> {
    const client = await clients.load(clientId);
    if (client === undefined) return false;
    return limits.attemptSecret(endpoint, clientId, address, async () => {
      const match = await findSecret(client.secrets, secret, now() / 1000);
      if (match !== undefined) onSecretUsed?.(client, match);
      return match !== undefined;
    });
  };
}

/**
 * Once for each process. An argon2id hash costs 50 ms of a queue that sign-ins need too, so once a secret was right its digest is
 * enough. Whether the hash is still a live one of the client's is asked elsewhere, each time.
 */
export function rememberProven(verifySlow: VerifySlow): VerifySlow {
  const proven = new Remembered<Buffer>();
  return async function verifyUnlessProven(phc, secret) {
    const known = proven.get(phc);
    const digest = digestOf(secret);
    if (known !== undefined && timingSafeEqual(known, digest)) return true;
    const matches = await verifySlow(phc, secret);
    if (matches) proven.add(phc, digest);
    return matches;
  };
}

/** Finds the live secret that `secret` is; `at` in epoch seconds. */
export function createSecretFinder(verifySlow: VerifySlow) {
  return async function findSecret(
    secrets: readonly ClientSecret[],
    secret: string,
    at: number,
  ): Promise<ClientSecret | undefined> {
    const digest = digestOf(secret);
    const match = findFastSecret(secrets, digest, at);
    if (match !== undefined) return match;
    for (const candidate of secrets) {
      if (candidate.kind !== 'argon2id' || !isLive(candidate, at)) continue;
      if (await verifySlow(candidate.phc, secret)) return candidate;
    }
    return undefined;
  };
}

/** Looks at every live SHA-256, whichever matches. */
export function findFastSecret(
  secrets: readonly ClientSecret[],
  digest: Buffer,
  at: number,
): ClientSecret | undefined {
  let match: ClientSecret | undefined;
  for (const candidate of secrets) {
    if (candidate.kind !== 'sha256' || !isLive(candidate, at)) continue;
    if (timingSafeEqual(candidate.digest, digest)) match = candidate;
  }
  return match;
}

const isLive = ({ notBefore, expiresAt }: ClientSecret, at: number): boolean =>
  (notBefore === undefined || notBefore <= at) && (expiresAt === undefined || at < expiresAt);
