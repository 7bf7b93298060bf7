import { describe, expect, it } from 'vitest';
import { compromise } from '../../../src/keys/emergency.ts';
import { drop, nextFamilyStep } from '../../../src/keys/families.ts';
import { activeKey, reserveKeys, stateOf, type NewKey, type Ring } from '../../../src/keys/ring.ts';
import { appoint, publishActive, withReserve } from '../../../src/keys/schedule.ts';
import { toTiming } from '../../../src/config/key-times.ts';
import { DAY, HOUR, MINUTE, SECOND, START, TIMES, TIMING } from './keys.fixture.ts';

function newKey(kid: string): NewKey {
  const jwk = { kty: 'RSA', use: 'sig', kid, alg: 'RS256', n: 'n', e: 'AQAB' } as const;
  return { kid, alg: 'RS256', createdAt: START, public: jwk, sealed: `sealed ${kid}` };
}

const moment = (now: number) => ({ now, timing: TIMING });
const empty: Ring = { generation: 1, keys: [], gone: [] };
const first = withReserve(publishActive(empty, moment(START), newKey('k1')), START, newKey('k2'));
const rotateNow = (ring: Ring, now: number, key: NewKey) => appoint(ring, now, moment(now), key);
const states = (ring: Ring, now: number) =>
  Object.fromEntries(ring.keys.map((key) => [key.kid, stateOf(key, now)]));
const signs = (ring: Ring, now: number) => activeKey(ring, now)?.kid;

/** The ring after its next step, if that is due by `now`. */
function step(ring: Ring, now: number, timing: typeof TIMING, key: NewKey): Ring {
  const due = nextFamilyStep(ring, ['RS256'], { now, timing });
  return due === undefined || due.at > now ? ring : due.take(key);
}

/** The planned life of a ring up to `until`, checked every minute around its own moments. */
function live(ring: Ring, from: number, until: number, timing = TIMING): Ring {
  let now = from;
  let made = 1;
  let result = ring;
  for (;;) {
    const due = nextFamilyStep(result, ['RS256'], { now, timing });
    if (due === undefined || Math.max(due.at, now) > until) return result;
    now = Math.max(due.at, now);
    made += 1;
    result = step(result, now, timing, newKey(`new${made}`));
  }
}

describe('the planned life of a key', () => {
  const due = START - TIMING.skew * SECOND + 30 * DAY;

  it('is announced a day before the change, together with the key after it', () => {
    expect(live(first, START, due - DAY - 1)).toBe(first);
    const ring = live(first, START, due - DAY);
    expect(ring.keys.map((key) => [key.kid, key.activateAt])).toEqual([
      ['k1', START - TIMING.skew * SECOND],
      ['k2', due],
      ['new2', undefined],
    ]);
    expect([signs(ring, due - 1), signs(ring, due)]).toEqual(['k1', 'k2']);
  });

  it('KY-06: ends in retirement until the last token is gone, then in removal', () => {
    const ring = live(first, START, due);
    const removal = due + (3600 + 3600 + 120) * SECOND;
    expect(states(ring, removal - 1)).toMatchObject({ k1: 'retired', k2: 'active' });
    expect(states(ring, removal)).toMatchObject({ k1: 'removed' });
    const after = live(ring, due, removal);
    expect(after.keys.map((key) => key.kid)).toEqual(['k2', 'new2']);
    expect(after.gone).toEqual([{ kid: 'k1', at: removal }]);
  });

  it('KY-18: loses its private part once no clock can sign with it', () => {
    const ring = live(first, START, due + TIMING.skew * SECOND - 1);
    expect(ring.keys[0]?.sealed).toBeDefined();
    expect(live(ring, due, due + TIMING.skew * SECOND).keys[0]?.sealed).toBeUndefined();
  });

  it('goes on after years in which nothing ran', () => {
    const late = START + 1000 * DAY;
    const ring = live(first, late, late);
    expect(ring.keys[1]?.activateAt).toBe(late + (15 + 120) * SECOND);
    expect(reserveKeys(ring)).toHaveLength(1);
  });

  it('KY-06: is prolonged when tokens come to live longer, and never shortened', () => {
    const ring = live(first, START, due);
    const longer = toTiming({ ...TIMES, accessToken: 10 * 3600 });
    const extended = live(ring, due + MINUTE, due + MINUTE, longer);
    expect(extended.keys[0]?.removeAt).toBe(due + longer.retireToRemove * SECOND);
    expect(live(extended, due + MINUTE, due + MINUTE).keys[0]?.removeAt).toBe(extended.keys[0]?.removeAt);
  });
});

describe('a rotation by hand', () => {
  it('KY-04: waits until every verifier can know the reserve', () => {
    const ring = rotateNow(first, START + MINUTE, newKey('k3'));
    expect(ring.keys[1]?.activateAt).toBe(START + 3735 * SECOND);
    expect(reserveKeys(ring).map((key) => key.kid)).toEqual(['k3']);
  });

  it('is soon when the reserve has been known for long, but not before every node knows of it', () => {
    const now = START + 10 * DAY;
    expect(rotateNow(first, now, newKey('k3')).keys[1]?.activateAt).toBe(now + 135 * SECOND);
  });
});

describe('a compromised key', () => {
  const now = START + 10 * DAY;

  it('KY-19: is gone at once, on every clock, and the reserve signs', () => {
    const ring = compromise(first, 'k1', moment(now), newKey('k3'));
    for (const skew of [-119 * SECOND, 0, 119 * SECOND]) {
      expect(signs(ring, now + skew)).toBe('k2');
      expect(states(ring, now + skew)).toEqual({ k1: 'compromised', k2: 'active', k3: 'published' });
    }
    expect(ring.keys[0]?.sealed).toBeUndefined();
  });

  it('gives its appointment up: the active key goes on', () => {
    const planned = step(first, START + 29 * DAY, TIMING, newKey('k3'));
    const ring = compromise(planned, 'k2', moment(START + 29 * DAY));
    expect(ring.keys[0]).toMatchObject({ kid: 'k1', retireAt: undefined, removeAt: undefined });
    expect(signs(ring, START + 40 * DAY)).toBe('k1');
  });

  it('leaves the tokens of the key before it alone', () => {
    const due = START - TIMING.skew * SECOND + 30 * DAY;
    const ring = compromise(live(first, START, due), 'k2', moment(due + MINUTE), newKey('k9'));
    expect(states(ring, due + MINUTE)).toEqual({
      k1: 'retired',
      k2: 'compromised',
      new2: 'active',
      k9: 'published',
    });
    expect(ring.keys[0]?.removeAt).toBe(due + 7320 * SECOND);
  });

  it('KY-06: does not bring back the key that retired before it', () => {
    const once = rotateNow(first, START + DAY, newKey('k3'));
    const second = START + DAY + 5 * MINUTE;
    const twice = rotateNow(once, second, newKey('k4'));
    const at = twice.keys[2]?.activateAt ?? 0;
    const ring = compromise(twice, 'k2', moment(at + 10 * MINUTE), newKey('k5'));
    expect(states(ring, at + 10 * MINUTE)).toMatchObject({ k1: 'retired', k2: 'compromised', k3: 'active' });
    expect(ring.keys[0]).toEqual(twice.keys[0]);
  });

  it('is named a second time without effect, also after its end', () => {
    const ring = compromise(first, 'k1', moment(now), newKey('k3'));
    expect(compromise(ring, 'k1', moment(now), newKey('k4'))).toBe(ring);
    const later = live(ring, now, now + DAY);
    expect(later.gone).toEqual([{ kid: 'k1', at: now }]);
    expect(compromise(later, 'k1', moment(now + DAY), newKey('k4'))).toBe(later);
  });
});

describe('a ring that a clock was ahead at, which is right again', () => {
  const due = START - TIMING.skew * SECOND + 30 * DAY;
  const early = START - 5 * HOUR;

  it('F1-07: signs with the key that a rotation has activated, also once the one before it is removed', () => {
    const [planned, retired, removed] = [due - 1, due + 3 * MINUTE, due + DAY].map((at) =>
      live(first, START, at),
    );
    if (!planned || !retired || !removed) throw new Error('no ring');
    for (const now of [due - 5 * HOUR, due - 1]) {
      expect([planned, retired, removed].map((ring) => signs(ring, now))).toEqual(['k1', 'k2', 'k2']);
    }
  });

  it('F1-07: never signs with a compromised key, but with the next one', () => {
    const during = compromise(first, 'k1', moment(START + HOUR), newKey('k3'));
    expect(signs(during, early)).toBe('k2');
    const after = compromise(first, 'k1', moment(early), newKey('k3'));
    expect([signs(after, early), signs(after, START + DAY)]).toEqual(['k2', 'k2']);
    const rotated = live(first, START, due + 3 * MINUTE);
    expect(signs(compromise(rotated, 'k2', moment(due - HOUR), newKey('k9')), due - HOUR)).toBe('new2');
  });

  it('F1-07: signs with no key that has retired, or has no appointment', () => {
    expect(signs(drop(first, moment(START + DAY)), START + 2 * DAY)).toBeUndefined();
    expect(signs({ ...first, keys: first.keys.slice(1) }, early)).toBeUndefined();
  });
});

it('KY-02: a key is refused when its kid has been here', () => {
  const duplicate = 'a kid never returns';
  const now = START + 10 * DAY;
  const without = { ...first, keys: first.keys.slice(0, 1) };
  const ofGone = live(compromise(first, 'k1', moment(now), newKey('k3')), now, now + DAY);
  const goneAlone = { ...ofGone, keys: ofGone.keys.slice(0, 1) };
  for (const ring of [without, goneAlone]) {
    expect(() => withReserve(ring, now, newKey('k1'))).toThrow(duplicate);
  }
});
