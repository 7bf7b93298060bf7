// The answers that clients saw, and whether they are consistent: at most one success for a code or a refresh token, nothing active after
// its revocation was acknowledged, and no refusal without a reason. Reads of a replaced, not yet demoted master are counted separately.

export type Operation = 'sign in' | 'redeem' | 'refresh' | 'revoke' | 'introspect' | 'machine token';
/** `unknown`: 503 or a cut connection. `refused`: a definite no. */
export type Outcome = 'done' | 'refused' | 'unknown';
export type Seen = {
  readonly operation: Operation;
  /** The code or the token. */
  readonly subject: string;
  /** Everything that results from one sign-in, or one machine token. */
  readonly family: string;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
};

/** How long Sentinels take to demote an old master. */
const DEMOTED_MS = 10_000;

export class History {
  readonly #seen: Seen[] = [];
  readonly #replacements: { readonly from: number; readonly to: number }[] = [];

  add(seen: Seen): void {
    this.#seen.push(seen);
  }

  /** Between these times a master may have been replaced, and may have answered reads until it was demoted. */
  addReplacement(from: number, to: number): void {
    this.#replacements.push({ from, to: to + DEMOTED_MS });
  }

  get size(): number {
    return this.#seen.length;
  }

  /** Counts by operation and outcome: `redeem done`. */
  get counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation, outcome } of this.#seen) {
      const name = `${operation} ${outcome}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  /** One line for each violation; empty if there is none. */
  violations(): readonly string[] {
    const alive = this.#livingDead().filter((seen) => !this.#isStale(seen));
    return [
      ...this.#doubleSpends(),
      ...alive.map(
        ({ operation, family }) =>
          `${operation} said that ${family} lives after its revocation was acknowledged: ${this.storyOf(family).join('; ')}`,
      ),
    ];
  }

  /** Tokens that an old master called active. A lost revocation looks the same, so introspect these again. */
  stale(): readonly Seen[] {
    return this.#livingDead().filter((seen) => this.#isStale(seen));
  }

  /**
   * Refusals in families without a revocation, a second use or a lost answer: something was lost. Only a failover may lose anything
   * (a code or a session that no replica had yet).
   */
  lost(until = Number.POSITIVE_INFINITY): readonly string[] {
    const explained = new Set<string>();
    const spent = new Set<string>();
    for (const { operation, family, subject, outcome } of this.#seen) {
      const isSpending = operation === 'redeem' || operation === 'refresh';
      if (operation === 'revoke' || (isSpending && (outcome === 'unknown' || spent.has(subject)))) {
        explained.add(family);
      }
      if (isSpending) spent.add(subject);
    }
    return this.#seen
      .filter(
        ({ outcome, family, endedAt }) => outcome === 'refused' && endedAt < until && !explained.has(family),
      )
      .map(({ operation, subject }) => (operation === 'sign in' ? `sign in: ${subject}` : operation));
  }

  /** All events of a family in the order of the answers, to investigate a violation. */
  storyOf(family: string): readonly string[] {
    const [first] = this.#seen.filter((seen) => seen.family === family);
    return this.#seen
      .filter((seen) => seen.family === family)
      .map(({ operation, subject, outcome, beganAt, endedAt }) => {
        const [from, to] = [beganAt, endedAt].map((at) => Math.round(at - (first?.beganAt ?? 0)));
        return `${from}-${to} ms ${operation} ${outcome} …${subject.slice(-6)}`;
      });
  }

  #doubleSpends(): readonly string[] {
    const spends = new Map<string, number>();
    for (const { operation, subject, outcome } of this.#seen) {
      if (outcome !== 'done' || (operation !== 'redeem' && operation !== 'refresh')) continue;
      const name = `${operation} ${subject}`;
      spends.set(name, (spends.get(name) ?? 0) + 1);
    }
    return [...spends]
      .filter(([, times]) => times > 1)
      .map(([subject, times]) => `${subject} worked ${times} times`);
  }

  #isStale({ operation, beganAt, endedAt }: Seen): boolean {
    return (
      operation === 'introspect' &&
      this.#replacements.some(({ from, to }) => beganAt <= to && endedAt >= from)
    );
  }

  #livingDead(): readonly Seen[] {
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
      .filter(({ family, beganAt }) => beganAt > (revokedAt.get(family) ?? Number.POSITIVE_INFINITY));
  }
}
