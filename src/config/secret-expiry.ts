// Client secrets that expire soon or have expired, which is no error: a service that ran yesterday must start today.
import type { Client, ClientSecret } from './config.ts';
import { DAY, formatInstant } from './notation.ts';
import { secretId } from './secret-strength.ts';

const WARN_AHEAD_SECONDS = 14 * DAY;

type SecretState = 'not yet' | 'live' | 'expiring' | 'expired';

/** `now`: epoch seconds. */
export function secretState({ notBefore, expiresAt }: ClientSecret, now: number): SecretState {
  if (expiresAt !== undefined && expiresAt <= now) return 'expired';
  if (notBefore !== undefined && notBefore > now) return 'not yet';
  return expiresAt !== undefined && expiresAt <= now + WARN_AHEAD_SECONDS ? 'expiring' : 'live';
}

/** A warning for each secret that expires soon, and for each client that can't authenticate any more. */
export function secretWarnings(clients: readonly Client[], now: number): string[] {
  return clients.flatMap(({ clientId, secrets }) =>
    secrets.flatMap((secret) => {
      const { expiresAt } = secret;
      const state = secretState(secret, now);
      if (expiresAt === undefined || (state !== 'expiring' && state !== 'expired')) return [];
      // Whether the client has no other secret that outlives this one.
      const isLast = secrets.every((other) => (other.expiresAt ?? Infinity) <= expiresAt);
      // After a rotation, an expired secret beside a valid one is normal.
      if (state === 'expired' && !isLast) return [];
      const name = secret.name ?? secretId(secret);
      const verb = state === 'expired' ? 'expired' : 'expires';
      const rest = isLast ? (state === 'expired' ? ": it can't authenticate" : ': add another') : '';
      return [`client ${clientId}: secret ${name} ${verb} ${formatInstant(expiresAt)}${rest}`];
    }),
  );
}
