// The clock that all machines on one Redis share: the server's clock, where the machine's own is off.
import type { ServerReport } from './connection.ts';
import type { Clock } from '../store.ts';

/** Smaller differences are ignored, because a response can take that long. */
const SAME_MS = 2000;

/** Uses `own` until `follow` is called. */
export function createServerClock(own: Clock) {
  let ahead = 0;
  return {
    now: () => own() + ahead * 1000,
    get ahead() {
      return ahead;
    },
    /** Adopts the time of the server, which was asked at `askedAt` by the machine's own clock. True if the difference has changed. */
    follow(reports: readonly ServerReport[], askedAt: number): boolean {
      const server = serverTime(reports);
      const answeredAt = own();
      const away = answeredAt - askedAt;
      // The machine was suspended in between, or its clock was set.
      if (server === undefined || away < 0 || away >= SAME_MS) return false;
      const measured = server - askedAt - away / 2;
      if (Math.abs(measured - ahead * 1000) < SAME_MS) return false;
      ahead = Math.abs(measured) < SAME_MS ? 0 : Math.round(measured / 1000);
      return true;
    },
  };
}

/** Returns epoch milliseconds. With several servers, all machines use the same one. */
function serverTime(reports: readonly ServerReport[]): number | undefined {
  const [first] = reports.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const microseconds = Number(first?.info.get('server_time_usec'));
  return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds / 1000 : undefined;
}
