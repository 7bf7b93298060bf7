// The outbox of email: which email to send to which user, never a link or a text. An email is composed when it is due.
import { randomUUID } from 'node:crypto';
import { createJobs, type JobForm } from '../../store/outbox.ts';
import type { Store } from '../../store/store.ts';
import type { Note } from '../../users/user-events.ts';
import type { MailLink } from './links.ts';
import type { NOTICES } from './models.ts';

export type MailJob = Readonly<{
  id: string;
  /** forgot, sign-up: what was typed isn't looked up yet. link: a reset, or an invitation for users without a password. */
  what: 'forgot' | 'sign-up' | 'link' | 'exists' | MailLink['purpose'] | (typeof NOTICES)[number];
  typed?: string | undefined;
  accountId?: string | undefined;
  link?: MailLink | undefined;
  locale?: string | undefined;
  note?: Note | undefined;
  /** Requested by someone who isn't signed in. */
  isAsked?: boolean;
}>;

const FORM: JobForm<MailJob> = {
  collection: 'mail',
  keyOf: ({ id }) => id,
  isJob: (form): form is typeof form & MailJob =>
    [form['id'], form['what']].every((member) => typeof member === 'string'),
};

export type MailJobs = ReturnType<typeof createMailJobs>;

export const createMailJobs = ({ documents, clock }: Pick<Store, 'documents' | 'clock'>) =>
  createJobs(documents, clock.now, FORM);

/** What was typed isn't in the job, but in a record by its ID. The store deletes it, even if email is off. */
export const TYPED = { kind: 'MailTyped', ttlSeconds: 1800, isAwaited: true };

export const newJob = (job: Omit<MailJob, 'id'>): MailJob => ({ id: randomUUID(), ...job });
