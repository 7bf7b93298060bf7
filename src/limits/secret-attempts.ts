// When a client shows its secret. A client that hasn't been right from an address before is counted in the shared counters
// before the comparison, one attempt at a time. One that has is known there, and doesn't ask the store:
//
//   - Who guesses without the secret never becomes known, so every guess is counted first, over all processes.
//   - From the address of a known client somebody else may guess, too. The first comparison that fails there is counted before
//     it is answered, and the client is no longer known.
//
// So a known client never waits, and a burst of a new one is not mistaken for guessing.
import type { Clock } from '../store/store.ts';
import type { BeginAttempt, LimitRefusal } from './attempts.ts';
import { Remembered } from './bounded-map.ts';
import type { Add, Quota } from './counters.ts';

/** Machines ask for a token every few minutes: they stay known in between. */
const KNOWN_MS = 60 * 60 * 1000;

type Shown = { knownUntil: number; last: Promise<unknown> };

export function createSecretAttempts(begin: BeginAttempt, add: Add, now: Clock) {
  const clients = new Remembered<Shown>();
  const shownBy = ({ name, subject }: Quota) =>
    clients.getOrAdd(`${name}\n${subject}`, () => ({ knownUntil: 0, last: Promise.resolve() }));
  const isKnown = ({ knownUntil }: Shown) => now() < knownUntil;

  return {
    /** Whether the client has been right from this address, and nothing was wrong there since. */
    isKnown: (quota: Quota) => isKnown(shownBy(quota)),

    /** `refuse` throws when the attempt is refused. */
    async attempt(
      quota: Quota,
      refuse: (refusal: LimitRefusal) => never,
      compare: () => boolean,
    ): Promise<boolean> {
      const client = shownBy(quota);

      async function asKnown(): Promise<boolean> {
        const isRight = compare();
        client.knownUntil = isRight ? now() + KNOWN_MS : 0;
        if (!isRight) await add(quota, 1);
        return isRight;
      }

      async function asNew(): Promise<boolean> {
        if (isKnown(client)) return asKnown();
        const { used, refused, takeBack } = await begin([quota]);
        if (refused !== undefined) refuse(refused);
        const isRight = compare();
        if (isRight) takeBack();
        // With failures in the counter every attempt goes on being counted, right ones too.
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
