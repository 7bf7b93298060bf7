// When a client shows its secret. Whoever has not been right here before is counted in the shared counter before the
// comparison, one at a time. A client that was right from an address is known there, and doesn't ask the store:
//
//   - Who guesses without the secret never becomes known, so every guess is counted first, over all processes.
//   - From the address of a known client somebody else may guess, too. At most `limit` comparisons run there at a time;
//     the first one that fails is counted in the store before it is answered, and the client is no longer known.
//
// So a known client is never made to wait, a burst of a new one is not mistaken for guessing (the others wait until the
// first is through), and what guesses cost is the same as if each of them asked the store.
import type { Clock } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { BoundedMap } from './bounded-map.ts';
import type { Counted } from './counting.ts';
import { Turns } from './turns.ts';

/** Machines ask for a token every few minutes: they stay known in between. */
const KNOWN_MS = 60 * 60 * 1000;
/** Clients of one address that are not known yet, at a time: what they have in the air must not look like guessing. */
const STRANGERS_AT_ONCE = 4;

type Pair = { knownUntil: number; readonly strangers: Turns; readonly comparisons: Turns };

export interface SecretAttempts {
  /** Whether the client has been right from this address, and nothing was wrong there since. */
  isKnown(perClient: Counted): boolean;
  /**
   * A known client was right just now, with nobody in the air before it: the same as an `attempt`, which wouldn't count either, and
   * doesn't wait. False: ask `attempt`.
   */
  confirm(perClient: Counted): boolean;
  attempt(
    /** For the client and the address, then for the address over all clients. */
    counted: readonly [Counted, Counted],
    /** Throws when the attempt is refused. */
    refuse: (refused: { readonly name: string; readonly waitMs: number }) => void,
    compare: () => Promise<boolean>,
  ): Promise<boolean>;
}

const keyOf = ({ name, subject }: Counted) => `${name}\n${subject}`;

export function createSecretAttempts(attempts: Attempts, now: Clock): SecretAttempts {
  const pairs = new BoundedMap<Pair>(
    () => ({ knownUntil: 0, strangers: new Turns(), comparisons: new Turns() }),
    ({ strangers, comparisons }) => strangers.isIdle && comparisons.isIdle,
  );
  const addresses = new BoundedMap<Turns>(
    () => new Turns(),
    (turns) => turns.isIdle,
  );

  const attempt: SecretAttempts['attempt'] = async (counted, refuse, compare) => {
    const [perClient, perAddress] = counted;
    const pair = pairs.get(keyOf(perClient));
    const isKnown = () => now() < pair.knownUntil;

    async function asKnown(): Promise<boolean | undefined> {
      // Waiting for a turn may have ended because somebody before us was wrong.
      if (!isKnown()) return undefined;
      if (await compare()) {
        pair.knownUntil = now() + KNOWN_MS;
        return true;
      }
      pair.knownUntil = 0;
      await attempts.fail(counted);
      return false;
    }

    async function asStranger(): Promise<boolean | undefined> {
      if (isKnown()) return undefined;
      const begun = await attempts.begin(counted);
      if (begun.refused !== undefined) refuse(begun.refused);
      let isRight: boolean | undefined;
      try {
        isRight = await compare();
      } finally {
        if (isRight !== false) begun.takeBack();
      }
      // With failures in the counter every attempt goes on being counted, right ones too.
      if (isRight && begun.isOnly) pair.knownUntil = now() + KNOWN_MS;
      return isRight;
    }

    for (;;) {
      const answer = isKnown()
        ? await pair.comparisons.run(perClient.rate.limit, asKnown)
        : await pair.strangers.run(1, async () =>
            isKnown() ? undefined : addresses.get(keyOf(perAddress)).run(STRANGERS_AT_ONCE, asStranger),
          );
      if (answer !== undefined) return answer;
    }
  };

  return {
    isKnown: (perClient) => now() < pairs.get(keyOf(perClient)).knownUntil,
    confirm(perClient) {
      const pair = pairs.get(keyOf(perClient));
      const at = now();
      if (at >= pair.knownUntil || !pair.comparisons.isIdle) return false;
      pair.knownUntil = at + KNOWN_MS;
      return true;
    },
    attempt,
  };
}
