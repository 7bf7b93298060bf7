// Browsers that a user has signed in from, as a signed value that the browser keeps (OWASP's "device cookie"). It grants
// nothing: failures from such a browser are only counted separately from those of unknown browsers.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';

/** The lifetime of an entry, which each sign-in renews. */
export const DEVICE_DAYS = 90;
/** Maximum number of users who share a browser. */
const MAX_USERS = 5;
const ENTRY = /^([\w-]{22})\.(\d{1,12})\.([\w-]{43})$/;

type Entry = Readonly<{ name: string; endsAt: number; proof: string }>;

export type TrustedBrowsers = ReturnType<typeof createTrustedBrowsers>;

export function createTrustedBrowsers(hash: KeyedHash, now: Clock) {
  // The account is in the proof and not in the value, so that a stolen cookie doesn't reveal who used the browser.
  const proofOf = (name: string, endsAt: number, accountId: string) =>
    hash(`device:${name}:${endsAt}:${accountId}`);

  const isOf = ({ name, endsAt, proof }: Entry, accountId: string): boolean =>
    timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(name, endsAt, accountId)));

  const isLive = ({ endsAt }: Entry) => now() < endsAt * 1000;

  /** Derives a name that proves that we issued it, for any user. */
  const nameOf = (start: string, endsAt: number) => start + hash(`browser:${start}:${endsAt}`).slice(0, 11);

  return {
    /** The name of a browser that any user has signed in from. */
    findAny: (value: string): string | undefined =>
      parse(value).find((one) => isLive(one) && one.name === nameOf(one.name.slice(0, 11), one.endsAt))?.name,
    /** The name of this browser for the user, or undefined if `value` doesn't prove that the user has signed in from it. */
    find(value: string, accountId: string): string | undefined {
      // Checks all entries, so that the work is the same for every user.
      const own = parse(value).filter((entry) => isOf(entry, accountId));
      return own.find(isLive)?.name;
    },
    /** Returns `value` with a new entry for the user. It replaces the old one, so that a planted entry is worth nothing. */
    renew(value: string, accountId: string): string {
      const others = parse(value).filter((entry) => isLive(entry) && !isOf(entry, accountId));
      const endsAt = Math.floor(now() / 1000) + DEVICE_DAYS * 24 * 60 * 60;
      const name = nameOf(randomBytes(8).toString('base64url'), endsAt);
      const fresh = { name, endsAt, proof: proofOf(name, endsAt, accountId) };
      return [fresh, ...others.slice(0, MAX_USERS - 1)]
        .map((entry) => `${entry.name}.${entry.endsAt}.${entry.proof}`)
        .join('~');
    },
  };
}

function parse(value: string): readonly Entry[] {
  return value
    .split('~', MAX_USERS)
    .map((text) => ENTRY.exec(text))
    .filter((match) => match !== null)
    .map(([, name = '', endsAt = '', proof = '']) => ({ name, endsAt: Number(endsAt), proof }));
}
