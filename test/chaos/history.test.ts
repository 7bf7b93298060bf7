// The checker of histories must be able to fail: it finds each kind of violation, and accepts what may happen.
import { expect, it } from 'vitest';
import { History, type Seen } from './history.ts';

let clock = 0;

/** A history of events one after the other, one millisecond each. */
function historyOf(...all: readonly Partial<Seen>[]): History {
  const history = new History();
  for (const seen of all) {
    clock += 2;
    const timed = { beganAt: clock, endedAt: clock + 1, ...seen };
    history.add({ operation: 'refresh', subject: 's', family: 'f', outcome: 'done', ...timed });
  }
  return history;
}

it('RD-31: finds a code or a refresh token that worked twice', () => {
  expect(historyOf({}, {}).violations()).toEqual(['refresh s worked 2 times']);
  expect(historyOf({}, { outcome: 'refused' }, { outcome: 'unknown' }).violations()).toEqual([]);
  expect(historyOf({ operation: 'redeem' }, {}).violations()).toEqual([]);
});

it('RD-31: finds what lives after its revocation was acknowledged, and nothing that was asked before', () => {
  const revoked = { operation: 'revoke', subject: 'r' } as const;
  const asked = { operation: 'introspect', subject: 'a' } as const;
  expect(historyOf(revoked, asked).violations()).toEqual([
    expect.stringContaining('introspect said that f lives after its revocation was acknowledged'),
  ]);
  expect(historyOf({ ...revoked, outcome: 'unknown' }, asked).violations()).toEqual([]);
  expect(historyOf(revoked, { ...asked, family: 'other' }).violations()).toEqual([]);
  const began = clock + 1;
  expect(historyOf(revoked, { ...asked, beganAt: began }).violations()).toEqual([]);
});

it('RD-31: counts reads of a master that is being replaced apart, but no use, and nothing that lives on', () => {
  const revoked = { operation: 'revoke', subject: 'r' } as const;
  const asked = { operation: 'introspect', subject: 'a' } as const;
  const history = historyOf(revoked, asked);
  history.addReplacement(clock - 1, clock);
  expect(history.violations()).toEqual([]);
  expect(history.stale()).toMatchObject([asked]);
  const later = clock + 10_100;
  history.add({ ...asked, family: 'f', outcome: 'done', beganAt: later, endedAt: later + 1 });
  expect(history.violations()).toHaveLength(1);
  const used = historyOf(revoked, {});
  used.addReplacement(clock - 1, clock);
  expect(used.violations()).toHaveLength(1);
  expect(used.stale()).toEqual([]);
});

it('RD-31: finds a refusal that nobody gave a reason for', () => {
  const refused = { operation: 'introspect', subject: 'a', outcome: 'refused' } as const;
  expect(historyOf({}, refused).lost()).toEqual(['introspect']);
  expect(historyOf({}, refused).lost(0)).toEqual([]);
  expect(historyOf({ outcome: 'unknown' }, refused).lost()).toEqual([]);
  expect(historyOf({}, { outcome: 'refused' }, refused).lost()).toEqual([]);
  expect(historyOf({ operation: 'revoke', outcome: 'unknown' }, refused).lost()).toEqual([]);
});
