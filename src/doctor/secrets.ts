// Client secrets that end soon, or have ended.
import type { Config } from '../config/config.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';

/** `now` in epoch milliseconds. */
export function checkSecrets({ clients }: Config, now: number): readonly Finding[] {
  const advice =
    'Make another one (postern client secret), add it to client_secrets, and give it to the client.';
  const findings = secretWarnings(clients, now / 1000).map(({ message, state, isLast }) =>
    state === 'expired' && isLast
      ? problem('secret-expired', message, advice)
      : warning('secret-expires', message, advice),
  );
  return orOk(findings, 'secrets', 'no client secret ends soon');
}
