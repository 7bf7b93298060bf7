// What clients saw, and whether it can have happened: at most one success for a code or a refresh token, and nothing alive
// after its revocation was acknowledged. Owns no client and no fault.

export type Operation = 'redeem' | 'refresh' | 'revoke' | 'introspect';
/** `unknown`: 503 or a cut connection. `refused`: a definite no. */
export type Outcome = 'done' | 'refused' | 'unknown';
export type Seen = {
  readonly operation: Operation;
  /** The code or the token, or a family of tokens. */
  readonly subject: string;
  readonly family: string;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
};

export class History {
  readonly #seen: Seen[] = [];

  add(seen: Seen): void {
    this.#seen.push(seen);
  }

  get counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation, outcome } of this.#seen) {
      const name = `${operation} ${outcome}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  /** One line each; empty when all of it can have happened. */
  violations(): readonly string[] {
    return [...this.#doubleSpends(), ...this.#livingDead()];
  }

  #doubleSpends(): readonly string[] {
    const spends = new Map<string, number>();
    for (const { operation, subject, outcome } of this.#seen) {
      if (outcome !== 'done' || (operation !== 'redeem' && operation !== 'refresh')) continue;
      spends.set(subject, (spends.get(subject) ?? 0) + 1);
    }
    return [...spends]
      .filter(([, times]) => times > 1)
      .map(([subject, times]) => `${subject} worked ${times} times`);
  }

  #livingDead(): readonly string[] {
    const revokedAt = new Map<string, number>();
    for (const { operation, family, outcome, endedAt } of this.#seen) {
      if (operation !== 'revoke' || outcome !== 'done') continue;
      revokedAt.set(family, Math.min(endedAt, revokedAt.get(family) ?? Number.POSITIVE_INFINITY));
    }
    return this.#seen
      .filter(
        ({ operation, outcome }) =>
          outcome === 'done' && (operation === 'introspect' || operation === 'refresh'),
      )
      .filter(({ family, beganAt }) => beganAt > (revokedAt.get(family) ?? Number.POSITIVE_INFINITY))
      .map(
        ({ operation, family }) =>
          `${operation} said that ${family} lives after its revocation was acknowledged`,
      );
  }
}
