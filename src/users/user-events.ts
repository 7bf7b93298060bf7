// Events that notify apps and lists when something ends for a user. An event is stored before the act (acts.ts) and delivered from the
// outbox: no listener is forgotten, and a listener that fails undoes nothing.
import { randomUUID } from 'node:crypto';
import type { Log } from '../observability/log.ts';
import { createJobs, createOutbox, type JobForm } from '../store/outbox.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import type { Place } from './user-index.ts';

export type UserEvent = Readonly<{
  id: string;
  accountId: string;
  /** `ended`: sessions and tokens. `left`: apps no longer let the user in. `deleted`: the user is gone. `noted`: only `note`. */
  what: 'ended' | 'left' | 'deleted' | 'noted';
  /** The apps of `left`. */
  clientIds: readonly string[];
  note?: Note;
}>;

/** A notification for the user. `at`: epoch seconds. */
export type Note = Readonly<{ what: string; at: number; place?: Place | undefined }>;

/** Checks what is left to do, and does it: an event may arrive twice, or without its act. */
export type OnUserEvent = (event: UserEvent) => Promise<void>;

const FORM: JobForm<UserEvent> = {
  collection: 'user-events',
  keyOf: ({ id }) => id,
  isJob: (form): form is typeof form & UserEvent =>
    [form['id'], form['accountId'], form['what']].every((member) => typeof member === 'string') &&
    Array.isArray(form['clientIds']),
};
/** The last try starts about an hour after the first. */
const WAITS_MS = [5000, 25_000, 60_000, 600_000, 3_000_000, 5000] as const;

export const newUserEvent = (
  accountId: string,
  what: UserEvent['what'],
  clientIds: readonly string[] = [],
) => ({ id: randomUUID(), accountId, what, clientIds });

export type UserEvents = ReturnType<typeof createUserEvents>;

export const createUserEvents = (documents: DocumentStore, now: Clock) => createJobs(documents, now, FORM);

type DeliveryParts = Readonly<{
  userEvents: UserEvents;
  storeNow: Clock;
  log: Log;
  onUserEvent: OnUserEvent;
}>;

/** Delivers to one application. */
export const createUserEventDelivery = ({ userEvents, storeNow, log, onUserEvent }: DeliveryParts) =>
  createOutbox(userEvents, storeNow, {
    targetOf: ({ accountId }) => accountId,
    waitsMs: WAITS_MS,
    async run(event) {
      await onUserEvent(event);
      return 'done';
    },
    failed: ({ accountId, what }, { reason }) =>
      log.error({ accountId, what, reason }, "gave up notifying apps of a user's ended sessions"),
    broke: (error) =>
      log.error({ err: error }, "could not notify apps of a user's ended sessions, will retry"),
  });
