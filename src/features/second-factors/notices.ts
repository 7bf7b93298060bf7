// Notices about a user's factors on their next page, and which sessions remove them by reading them.
import type { Notice } from '../../users/factors.ts';

/** More than there are kinds of notices. */
const MAX_NOTICES = 10;
const NOTICE_SECONDS = 3 * 24 * 60 * 60;

/** Notices last until an older session reads them, or three days if only newer ones did: an attacker's sign-in can't hide them. */
const isLive = ({ at, readBy }: Notice, now: number) => readBy === undefined || now < at + NOTICE_SECONDS;

/** Notices that the session, or any, must still show at `now` (epoch seconds). A session doesn't show its own changes. */
export const noticesFor = (notices: readonly Notice[], session: string | undefined, now: number) =>
  notices.filter((one) => {
    const isKnown = session !== undefined && (one.by === session || one.readBy?.includes(session) === true);
    return isLive(one, now) && !isKnown;
  });

/** `session` has read the notices up to `until`. `provedAt`: when it last authenticated the user. */
type Reading = Readonly<{ session: string; provedAt: number; until: number }>;

export const afterReading = (notices: readonly Notice[], { session, provedAt, until }: Reading) =>
  notices
    .filter(({ at, by }) => at > until || provedAt >= at || by === session)
    .map((one) => {
      // The session that caused the notice wasn't shown it.
      const wasShown = one.at <= until && one.by !== session;
      return wasShown ? { ...one, readBy: [...(one.readBy ?? []), session].slice(-20) } : one;
    });

/** Above the maximum, drops the second notice of the most frequent kind, so that one kind can't push out another. */
export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  const all = [...notices.filter((one) => isLive(one, notice.at)), notice];
  const kinds = [...Map.groupBy(all, ({ what, method }) => `${what} ${method}`).values()];
  const [most] = kinds.toSorted((a, b) => b.length - a.length);
  return all.length > MAX_NOTICES ? all.filter((one) => one !== most?.[1]) : all;
}
