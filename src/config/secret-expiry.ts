// Which client secrets end soon or have ended. One that has ended is no fault of the file, or a service that ran yesterday
// would not start today.
import type { Client, ClientSecret } from './config.ts';
import { DAY } from './duration.ts';
import { secretId } from './secret-id.ts';

/** How long ahead an end is warned of. */
export const WARN_AHEAD_SECONDS = 14 * DAY;

export type SecretState = 'not yet' | 'live' | 'expiring' | 'expired';

/** What `secret` is at `now`, in epoch seconds. */
export function secretState({ notBefore, expiresAt }: ClientSecret, now: number): SecretState {
  if (expiresAt !== undefined && expiresAt <= now) return 'expired';
  if (notBefore !== undefined && notBefore > now) return 'not yet';
  return expiresAt !== undefined && expiresAt <= now + WARN_AHEAD_SECONDS ? 'expiring' : 'live';
}

export type SecretWarning = {
  readonly clientId: string;
  /** The secret's name, or its id when it has none. */
  readonly secret: string;
  readonly state: 'expiring' | 'expired';
  readonly expiresAt: number;
  /** Whether the client has no other secret that outlives this one. */
  readonly isLast: boolean;
  readonly message: string;
};

/** Every secret that the client must soon stop using, and every client that can't authenticate any more. */
export function secretWarnings(clients: readonly Client[], now: number): SecretWarning[] {
  return clients.flatMap(({ clientId, secrets }) =>
    secrets.flatMap((secret) => {
      const { expiresAt } = secret;
      const state = secretState(secret, now);
      if (expiresAt === undefined || (state !== 'expiring' && state !== 'expired')) return [];
      const isLast = secrets.every((other) => (other.expiresAt ?? Infinity) <= expiresAt);
      // An old secret that has ended while another lives is what rotation leaves behind.
      if (state === 'expired' && !isLast) return [];
      const name = secret.name ?? secretId(secret);
      const verb = state === 'expired' ? 'expired' : 'expires';
      const rest = isLast ? (state === 'expired' ? ": it can't authenticate" : ', and it has no other') : '';
      const message = `client ${clientId}: secret ${name} ${verb} ${formatInstant(expiresAt)}${rest}`;
      return [{ clientId, secret: name, state, expiresAt, isLast, message }];
    }),
  );
}

/** `2027-01-01`, or with the time when it isn't midnight UTC. */
export function formatInstant(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  return text.endsWith('T00:00:00Z') ? text.slice(0, 10) : text;
}
