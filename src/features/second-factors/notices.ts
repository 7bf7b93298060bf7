// What a user reads of their factors on the next page, and who may take it away by reading it.
import type { Notice } from '../../users/factors.ts';

/** More than there are kinds. */
const MAX_NOTICES = 10;
const NOTICE_SECONDS = 3 * 24 * 60 * 60;

/** Until a session from before it reads it; where others did, for three days: who has just signed in takes none from the user. */
const isLive = ({ at, readBy }: Notice, now: number) => readBy === undefined || now < at + NOTICE_SECONDS;

/** What the session has still to show, or any, at `now` (epoch seconds). A session isn't told of its own changes. */
export const noticesFor = (notices: readonly Notice[], session: string | undefined, now: number) =>
  notices.filter((one) => {
    const isKnown = session !== undefined && (one.by === session || one.readBy?.includes(session) === true);
    return isLive(one, now) && !isKnown;
  });

/** `session` has read those up to `until`; `provedAt`: when it last proved who is there. */
type Reading = { readonly session: string; readonly provedAt: number; readonly until: number };

export const afterReading = (notices: readonly Notice[], { session, provedAt, until }: Reading) =>
  notices
    .filter(({ at, by }) => at > until || provedAt >= at || by === session)
    .map((one) => {
      // It wasn't shown where it came from.
      const wasShown = one.at <= until && one.by !== session;
      return wasShown ? { ...one, readBy: [...(one.readBy ?? []), session].slice(-20) } : one;
    });

/** Of too many, one of those that there are most of goes, and never the first of its kind: nobody pushes out another one. */
export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  const all = [...notices.filter((one) => isLive(one, notice.at)), notice];
  const kinds = [...Map.groupBy(all, ({ what, method }) => `${what} ${method}`).values()];
  const [most] = kinds.toSorted((a, b) => b.length - a.length);
  return all.length > MAX_NOTICES ? all.filter((one) => one !== most?.[1]) : all;
}
