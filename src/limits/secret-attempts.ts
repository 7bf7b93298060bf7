// Counts attempts with client secrets (docs/decisions/limits.md). A client that hasn't been right from an address yet is counted in the
// shared counters before the comparison, one attempt at a time. After that, it is known there and needs no request to the store, until a
// comparison fails. An attacker without the secret never becomes known, so every guess is counted first.
import type { Clock } from '../store/store.ts';
import type { BeginAttempt, LimitRefusal } from './attempts.ts';
import { Remembered } from './bounded-map.ts';
import type { Add, Quota } from './counters.ts';

/** Machines request a token every few minutes, so they stay known in between. */
const KNOWN_MS = 60 * 60 * 1000;

type Shown = { knownUntil: number; last: Promise<unknown> };

export function createSecretAttempts(begin: BeginAttempt, add: Add, now: Clock) {
  const clients = new Remembered<Shown>();
  const shownBy = ({ name, subject }: Quota) =>
    clients.getOrAdd(`${name}\n${subject}`, () => ({ knownUntil: 0, last: Promise.resolve() }));
  const isKnown = ({ knownUntil }: Shown) => now() < knownUntil;

  return {
    /** Whether the client has presented a right secret from this address, and no wrong one since. */
    isKnown: (quota: Quota) => isKnown(shownBy(quota)),

    /** Resolves the result of `compare`, or why it wasn't called. */
    async attempt(quota: Quota, compare: () => boolean): Promise<boolean | LimitRefusal> {
      const client = shownBy(quota);

      async function asKnown(): Promise<boolean> {
        const isRight = compare();
        client.knownUntil = isRight ? now() + KNOWN_MS : 0;
        // Before the response, because an attacker may share the address of a known client.
        if (!isRight) await add(quota, 1);
        return isRight;
      }

      async function asNew(): Promise<boolean | LimitRefusal> {
        if (isKnown(client)) return asKnown();
        const { used, refused, takeBack } = await begin([quota]);
        if (refused !== undefined) return refused;
        const isRight = compare();
        if (isRight) takeBack();
        // While the counter has failures, every attempt is still counted, even a right one.
        if (isRight && used[0] === 1) client.knownUntil = now() + KNOWN_MS;
        return isRight;
      }

      if (isKnown(client)) return asKnown();
      const turn = client.last.then(asNew);
      client.last = turn.catch(() => undefined);
      return turn;
    },
  };
}
