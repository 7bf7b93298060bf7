// Sends the emails in the outbox. Users, limits, links and texts are looked up here, and not when an email is requested, so that the
// response to a request is the same for every name and takes the same time.
import { randomBytes } from 'node:crypto';
import { TooManyRequests } from '../../limits/limits.ts';
import { createThrottle } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import type { Job } from '../../oidc/job.ts';
import { createKeyedHash, type KeyedHash } from '../../store/keyed-hash.ts';
import { createOutbox, type JobFailure } from '../../store/outbox.ts';
import { ifUnavailable } from '../../store/store.ts';
import type { AddressLinks } from './address.ts';
import { mailAddress, mailboxOf, type MailSettings } from './feature.ts';
import { type MailJob, type MailJobs, TYPED } from './jobs.ts';
import { composeLetter, kindOf, toModel } from './letter.ts';
import { canSignUp, findByAddress, isBarred, newcomer, newcomerId } from './sign-up.ts';
import type { MailState, MailStates } from './state.ts';
import { CURES, sendMessage, toFailure } from './transport.ts';

const MINUTE_MS = 60_000;
/** Between the starts of tries: one minute, two, four, up to a quarter of an hour. A try takes less than the first wait. */
const WAITS_MS = Array.from({ length: 110 }, (_, tries) => MINUTE_MS * Math.min(15, 2 ** tries));
const LIFE_MS = { others: 24 * 60 * MINUTE_MS, asked: 30 * MINUTE_MS };

const DELAYED = { reason: 'delayed', mayPass: true };

/** How long an unresponsive mail server may delay a shutdown. */
const STOPS_WITHIN_MS = 3000;

type LimitName = 'sent' | 'asked' | 'sign_ups' | 'recipient' | 'notices';

/** Counts an email. Resolves false if that exceeds a limit. Throws StoreUnavailable. */
function take({ limits }: App, subject: string, names: readonly LimitName[]): Promise<boolean> {
  const quotas = names.map((name) => limits.quotaOf(`mail.${name}`, subject));
  return limits.takeInStore({}, quotas).then(
    () => true,
    (error: unknown) => (error instanceof TooManyRequests ? false : Promise.reject(error)),
  );
}

type SenderParts = Readonly<{ app: App; settings: MailSettings; jobs: MailJobs; addresses: AddressLinks }> &
  Readonly<{ states: MailStates }>;
type Parts = SenderParts &
  Readonly<{ ends: AbortSignal[]; timesToSay: ReturnType<typeof createThrottle>; tokenOf: KeyedHash }>;

function record({ app, timesToSay }: Parts, kind: string, accountId?: string, reason?: string): void {
  app.metrics.count('mail', { kind, outcome: reason ?? 'sent' });
  const outcome = reason === undefined ? 'success' : 'failure';
  // Anyone can exceed a mailbox's limit repeatedly, so this is recorded only once in a while.
  const times = reason === 'limited' ? (timesToSay(`limited ${accountId}`) ?? 0) : undefined;
  if (times !== 0) app.audit.record('mail', outcome, { account_id: accountId, action: kind, reason, times });
}

/** The emails that a request asks for, by username, else by address. After a crash, they have the same ids. */
async function lettersFor({ app, settings }: Parts, { id, what, typed = '' }: MailJob): Promise<MailJob[]> {
  const address = mailAddress(typed.trim()) ?? '';
  const isSignUp = what === 'sign-up';
  if (isSignUp && !canSignUp(settings, address)) return [];
  const named = isSignUp ? undefined : await app.accounts.lookUp(typed);
  const users = named ? [named] : await findByAddress(app, address);
  if (isSignUp && users.length === 0) {
    const link = { purpose: 'new_user', accountId: await newcomerId(app, address), address, id } as const;
    return (await isBarred(app, address)) ? [] : [{ id: `${id}.new`, what: link.purpose, link }];
  }
  const kind = isSignUp ? 'exists' : 'link';
  return users.map((user) => ({ id: `${id}.${user.id}`, what: kind, accountId: user.id }));
}

/** Adds a job for each email, unless its mailbox has had too many. */
async function addLetters(parts: Parts, job: MailJob & { since: number }): Promise<void> {
  for (const { link, ...letter } of await lettersFor(parts, job)) {
    const reader = await findReader(parts, { ...letter, link });
    if (reader === undefined) continue;
    // Sign-up emails must not use up the limit of password resets.
    const subject = `${job.what} ${mailboxOf(reader.address)}`;
    const mayHave = await take(parts.app, subject, ['recipient']);
    const ttlSeconds = Math.max(1, Math.ceil((job.since + LIFE_MS.asked - parts.app.storeNow()) / 1000));
    const typed = { ...TYPED, ttlSeconds, key: letter.id, payload: JSON.stringify({ link }) };
    if (mayHave && link) await parts.app.store.records.save(typed);
    if (mayHave) await parts.jobs.add([{ ...letter, locale: job.locale, isAsked: true }]);
    else record(parts, letter.what, letter.accountId, 'limited');
  }
}

/** Undefined if the email is no longer needed. */
async function findReader({ app: { accounts }, addresses }: Parts, job: MailJob) {
  const { what, link, accountId = '' } = job;
  if (link?.purpose === 'new_user') return { user: newcomer(link), address: link.address };
  // A disabled user gets only the notice of that. The id is compared, because a username may look like an id.
  const user = await (what === 'disabled' ? accounts.lookUp(accountId) : accounts.findLiveNow(accountId));
  const address = user?.id === accountId ? await addresses.recipientOf(job, user) : undefined;
  return user && address ? { user, address } : undefined;
}

async function sendLetter(parts: Parts, job: MailJob & { failures: number }): Promise<JobFailure | 'done'> {
  const { app, settings, ends, tokenOf } = parts;
  const { id, accountId = '', note, failures } = job;
  const reader = await findReader(parts, job);
  if (reader === undefined) return 'done';
  const { user, address: to } = reader;
  const kind = await kindOf(app, job, user);
  // Counted at the first try only: retries during an outage must not use up the user's limit. Each kind has its own, because strangers
  // cause some of them.
  if (note !== undefined && failures === 1 && !(await take(app, `${kind} ${accountId}`, ['notices']))) {
    record(parts, kind, accountId, 'limited');
    return 'done';
  }
  if (!(await take(app, '', sharesOf(job)))) return DELAYED;
  const locale = app.pages.localeFor({ chosen: job.locale ?? String(user.claims['locale']) });
  const content = composeLetter(app, await toModel(app, { ...job, token: tokenOf(id) }, kind, user), locale);
  const failure = await sendMessage(settings, { id, to, ends, ...content }).then(() => undefined, toFailure);
  if (failure === undefined) record(parts, kind, accountId);
  await keepRefusal(parts, job, to, failure);
  return failure ?? 'done';
}

/** Stores a refusal for administrators. The email was sent or refused already, so an outage here mustn't repeat it. */
async function keepRefusal({ app, states }: Parts, job: MailJob, address: string, failure?: JobFailure) {
  const { accountId = '', link } = job;
  if (link !== undefined) return;
  const isRefused = failure?.reason === 'refused';
  const refused = isRefused ? { address, at: app.storeNow() } : undefined;
  const to = (before: MailState) =>
    isRefused === (before.refused?.address === address) ? undefined : { refused };
  await states.update(accountId, to).catch(ifUnavailable);
}

/** Sign-ups leave room for password resets. */
function sharesOf({ what, isAsked = false }: MailJob): readonly LimitName[] {
  if (!isAsked) return ['sent'];
  return what === 'new_user' || what === 'exists' ? ['sent', 'asked', 'sign_ups'] : ['sent', 'asked'];
}

/** Requests by strangers don't delay other emails. */
const laneOf = ({ isAsked = false }: MailJob) => (isAsked ? 'asked' : 'others');

export function createSender(given: SenderParts): Job {
  const { app, jobs } = given;
  const { log, storeNow: now } = app;
  const timesToSay = createThrottle(now);
  const ending = new AbortController();
  // The token of a job's link, the same for all its tries. The key is never stored.
  const tokenOf = createKeyedHash(randomBytes(32));
  const parts = { ...given, timesToSay, tokenOf, ends: [ending.signal] };

  const outbox = createOutbox(jobs, now, {
    targetOf: laneOf,
    waitsMs: WAITS_MS,
    async run(stored) {
      const typed = stored.isAsked && (await app.store.records.find(TYPED.kind, stored.id));
      const job = { ...stored, ...(typed && (JSON.parse(typed.payload) as object)) };
      if (now() - job.since > LIFE_MS[laneOf(job)]) return { reason: 'expired', mayPass: false };
      if (job.what !== 'forgot' && job.what !== 'sign-up') return sendLetter(parts, job);
      await addLetters(parts, job);
      return 'done';
    },
    failed({ what, accountId, failures }, { reason, detail = reason }, isLast) {
      if (isLast) record(parts, what, accountId, reason);
      const times = reason === DELAYED.reason ? undefined : timesToSay(`${reason}${isLast}`);
      if (times === undefined) return;
      const advice = CURES[reason];
      const fields = { email: what, accountId, tries: failures, reason, detail, advice, times };
      if (isLast) log.warn(fields, 'gave up sending an email');
      else log.warn(fields, 'could not send an email, will retry');
    },
    broke: (error) => log.error({ err: error }, 'an email could not be composed'),
  });
  return {
    ...outbox,
    async stop() {
      const timer = setTimeout(() => ending.abort(), STOPS_WITHIN_MS).unref();
      await outbox.stop();
      clearTimeout(timer);
    },
    /** Resolves no values while the store is unavailable. */
    async snapshot() {
      const waiting = await jobs.list().catch(() => undefined);
      if (waiting === undefined) return [];
      const oldest = waiting.reduce((since, { job }) => Math.min(since, job.since), now());
      return [
        ['mail_waiting', waiting.length],
        ['mail_oldest_seconds', (now() - oldest) / 1000],
      ];
    },
  };
}
