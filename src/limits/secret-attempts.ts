// When a client shows its secret. A client that hasn't been right from an address before is counted in the shared counters
// before the comparison, one attempt at a time. One that has is known there, and doesn't ask the store:
//
//   - Who guesses without the secret never becomes known, so every guess is counted first, over all processes.
//   - From the address of a known client somebody else may guess, too. The first comparison that fails there is counted before
//     it is answered, and the client is no longer known. As many as the limit says run at a time before that.
//
// So a known client never waits, and a burst of a new one is not mistaken for guessing.
import type { Clock } from '../store/store.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';
import { Remembered } from './bounded-map.ts';
import type { Add, Quota } from './counters.ts';

/** Machines ask for a token every few minutes: they stay known in between. */
const KNOWN_MS = 60 * 60 * 1000;

type Shown = { knownUntil: number; running: Set<Promise<unknown>>; last: Promise<unknown> };

export function createSecretAttempts(attempts: Attempts, add: Add, now: Clock) {
  const clients = new Remembered<Shown>();
  const shownBy = ({ name, subject }: Quota) =>
    clients.getOrAdd(`${name}\n${subject}`, () => ({
      knownUntil: 0,
      running: new Set(),
      last: Promise.resolve(),
    }));
  const isKnown = ({ knownUntil }: Shown) => now() < knownUntil;

  return {
    /** Whether the client has been right from this address, and nothing was wrong there since. */
    isKnown: (quota: Quota) => isKnown(shownBy(quota)),

    /** `refuse` throws when the attempt is refused. */
    async attempt(
      quota: Quota,
      refuse: (refusal: LimitRefusal) => never,
      compare: () => Promise<boolean>,
    ): Promise<boolean> {
      const client = shownBy(quota);

      async function asKnown(): Promise<boolean> {
        const comparing = compare();
        client.running.add(comparing);
        try {
          const isRight = await comparing;
          if (!isRight) client.knownUntil = 0;
          else if (isKnown(client)) client.knownUntil = now() + KNOWN_MS;
          if (!isRight) await add(quota, 1);
          return isRight;
        } finally {
          client.running.delete(comparing);
        }
      }

      async function asNew(): Promise<boolean> {
        await Promise.allSettled(client.running);
        if (isKnown(client)) return asKnown();
        const { used, refused, takeBack } = await attempts.begin([quota]);
        if (refused !== undefined) refuse(refused);
        let isRight: boolean | undefined;
        try {
          isRight = await compare();
        } finally {
          if (isRight !== false) takeBack();
        }
        // With failures in the counter every attempt goes on being counted, right ones too.
        if (isRight && used[0] === 1) client.knownUntil = now() + KNOWN_MS;
        return isRight;
      }

      if (isKnown(client) && client.running.size < quota.rate.limit) return asKnown();
      const turn = client.last.then(asNew);
      client.last = turn.catch(() => undefined);
      return turn;
    },
  };
}
