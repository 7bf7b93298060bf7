// The outbox of email: what is to be sent to whom, never a link or a text. An email is composed when it is due.
import { randomUUID } from 'node:crypto';
import { createJobs, type JobForm } from '../../store/outbox.ts';
import type { Store } from '../../store/store.ts';
import type { Note } from '../../users/user-events.ts';
import type { NOTICES } from './models.ts';

export type MailJob = Readonly<{
  id: string;
  /** forgot: the email is still to be found out. link: a reset or an invitation, as the user has a password or not. */
  what: 'forgot' | 'link' | (typeof NOTICES)[number];
  typed?: string;
  accountId?: string | undefined;
  locale?: string | undefined;
  note?: Note | undefined;
  /** By someone who proved nothing. */
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

export const newJob = (job: Omit<MailJob, 'id'>): MailJob => ({ id: randomUUID(), ...job });
