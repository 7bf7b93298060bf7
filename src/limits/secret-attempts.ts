// When a client shows its secret. A client that hasn't been right from an address before is counted in the shared counters
// before the comparison, one attempt at a time. One that has is known there, and doesn't ask the store:
//
//   - Who guesses without the secret never becomes known, so every guess is counted first, over all processes.
//   - From the address of a known client somebody else may guess, too. At most `limit` comparisons run there at a time;
//     the first one that fails is counted in the store before it is answered, and the client is no longer known.
//
// So a known client never waits, and a burst of a new one is not mistaken for guessing.
import type { Clock } from '../store/store.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';
import { BoundedMap } from './bounded-map.ts';
import type { Quota } from './counters.ts';

/** Machines ask for a token every few minutes: they stay known in between. */
const KNOWN_MS = 60 * 60 * 1000;
/** New clients of one address at a time: what they have in the air must not look like guessing. */
const NEW_AT_ONCE = 4;

/** Lets so many in at a time; the others wait, first come, first served. */
class Semaphore {
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  get isIdle(): boolean {
    return this.#inside === 0;
  }

  /** Runs `action` when fewer than `width` are inside. */
  async run<T>(width: number, action: () => Promise<T>): Promise<T> {
    while (this.#inside >= width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#inside += 1;
    try {
      return await action();
    } finally {
      this.#inside -= 1;
      this.#waiting.shift()?.();
    }
  }
}

const keyOf = ({ name, subject }: Quota) => `${name}\n${subject}`;

export type SecretAttempts = ReturnType<typeof createSecretAttempts>;

export function createSecretAttempts(attempts: Attempts, now: Clock) {
  const clients = new BoundedMap(
    () => ({ knownUntil: 0, whenKnown: new Semaphore(), whenNew: new Semaphore() }),
    ({ whenKnown, whenNew }) => whenKnown.isIdle && whenNew.isIdle,
  );
  const addresses = new BoundedMap(
    () => new Semaphore(),
    ({ isIdle }) => isIdle,
  );

  return {
    /** Whether the client has been right from this address, and nothing was wrong there since. */
    isKnown: (perClient: Quota) => now() < clients.get(keyOf(perClient)).knownUntil,

    /** `perAddress` counts over all clients. `refuse` throws when the attempt is refused. */
    async attempt(
      [perClient, perAddress]: readonly [Quota, Quota],
      refuse: (refusal: LimitRefusal) => void,
      compare: () => Promise<boolean>,
    ): Promise<boolean> {
      const quotas = [perClient, perAddress];
      const client = clients.get(keyOf(perClient));
      const isKnown = () => now() < client.knownUntil;

      // Each is undefined where that has changed while the attempt waited.
      async function asKnown(): Promise<boolean | undefined> {
        if (!isKnown()) return undefined;
        const isRight = await compare();
        client.knownUntil = isRight ? now() + KNOWN_MS : 0;
        if (!isRight) await attempts.fail(quotas);
        return isRight;
      }

      async function asNew(): Promise<boolean | undefined> {
        if (isKnown()) return undefined;
        const { used, refused, takeBack } = await attempts.begin(quotas);
        if (refused !== undefined) refuse(refused);
        let isRight: boolean | undefined;
        try {
          isRight = await compare();
        } finally {
          if (isRight !== false) takeBack();
        }
        // With failures in the counter every attempt goes on being counted, right ones too.
        if (isRight && used === 1 && refused === undefined) client.knownUntil = now() + KNOWN_MS;
        return isRight;
      }

      for (;;) {
        const isRight = isKnown()
          ? await client.whenKnown.run(perClient.rate.limit, asKnown)
          : await client.whenNew.run(1, () => addresses.get(keyOf(perAddress)).run(NEW_AT_ONCE, asNew));
        if (isRight !== undefined) return isRight;
      }
    },
  };
}
