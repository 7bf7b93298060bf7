// Background jobs, stored as documents and run by every process that serves. The kind defines what a job does
// (users/user-events.ts).
import { readDocuments } from './documents.ts';
import { FORM_VERSION, parseForm, type StoredForm, UnreadableForm } from './form.ts';
import { type Clock, type DocumentStore, ifUnavailable, StoreUnavailable } from './store.ts';

const LOOK_EVERY_MS = 1000;
/** Reading 1,000 jobs takes 5 ms of CPU. While none is due, look-ups pause for one second per 1,000 jobs, at most this many. */
const MAX_LEFT_OUT = 4;
/** A job that no process can run is given up after this time. */
const GIVE_UP_AFTER_MS = 24 * 60 * 60 * 1000;
/** Longer than the change that a job announces can take. */
const HOLD_MS = 5000;
/** Per look-up, the longest overdue jobs first. */
const JOBS_AT_ONCE = 200;
/** Runs per target, so that a target that hangs doesn't delay others. */
const AT_ONCE = 4;
/** Hundreds of handshakes at once would delay requests and let each other time out. */
const TARGETS_AT_ONCE = 50;

type Schedule = Readonly<{
  /** Epoch milliseconds, like `notBefore`. No process runs the job before `notBefore`, because a try may be under way. */
  since: number;
  notBefore: number;
  /** Number of tries that have begun. A successful one removes the job. */
  failures: number;
  /** A try is under way, or its process ended during it. */
  isHeld?: boolean;
  /** Code of the reason why the last try failed. */
  lastError?: string;
}>;

type Queued<Job> = Job & Schedule;
type Found<Job> = Readonly<{ id: string; job: Queued<Job>; version: number }>;

export type JobForm<Job> = Readonly<{
  collection: string;
  keyOf: (job: Job) => string;
  isJob: (form: StoredForm) => form is StoredForm & Job;
}>;

/** `reason`: a code. `detail`: for the log. `mayPass`: the job is tried again while it has tries left. */
export type JobFailure = Readonly<{ reason: string; detail?: string; mayPass: boolean }>;

type JobKind<Job> = Readonly<{
  targetOf: (job: Job) => string;
  /** One wait per try: from its start to the next try, longer than a run takes. Until then, one process owns the job. */
  waitsMs: readonly number[];
  /** False: this process runs no jobs at the moment. */
  mayRun?: () => boolean;
  /** False: only another process may be able to run it. After a day it runs all the same, and reports why it fails. */
  canRun?: (job: Job) => boolean;
  /** A run that throws counts as a try. */
  run: (job: Queued<Job>) => Promise<'done' | JobFailure>;
  done?: (job: Job) => void;
  /** `isLast`: the job is given up. The reason is `cut_off` if the process ended during the last try. */
  failed: (job: Queued<Job>, failure: JobFailure, isLast: boolean) => void;
  broke: (error: unknown) => void;
}>;

/** Every function rejects with StoreUnavailable. */
export function createJobs<Job>(
  documents: DocumentStore,
  now: Clock,
  { collection, keyOf, isJob }: JobForm<Job>,
) {
  const write = (id: string, job: Queued<Job>, version: number) =>
    documents.put(collection, id, JSON.stringify({ ...job, v: FORM_VERSION }), version);

  function parse(id: string, value: string, version: number): Found<Job> {
    const job = parseForm(value, collection);
    if (!isScheduled(job) || !isJob(job)) throw new UnreadableForm(collection);
    return { id, job, version };
  }

  return {
    /** Resolves once the jobs are stored. A job whose key exists already stays unchanged. */
    async add(jobs: readonly Job[]): Promise<void> {
      const since = now();
      await Promise.all(
        jobs.map((job) => write(keyOf(job), { ...job, since, notBefore: since, failures: 0 }, 0)),
      );
    },
    /**
     * Stores the job, runs the `work` that it is about, then makes the job due. If the process or the store fails in between, it becomes
     * due all the same: its run checks whether there is something to do.
     */
    async around<T>(job: Job, work: () => Promise<T>): Promise<T> {
      const since = now();
      const held = { ...job, since, notBefore: since + HOLD_MS, failures: 0 };
      await write(keyOf(job), held, 0);
      const result = await work();
      await write(keyOf(job), { ...held, notBefore: since }, 1).catch(ifUnavailable);
      return result;
    },
    /** Skips damaged jobs, and those in a form that only a newer version knows. */
    list: async () => [...readDocuments(await documents.list(collection), parse).values()],
    /** Resolves with undefined if another process was first. */
    async change({ id, job, version }: Found<Job>, to: Partial<Schedule>): Promise<Found<Job> | undefined> {
      const changed = { ...job, ...to };
      return (await write(id, changed, version)) ? { id, job: changed, version: version + 1 } : undefined;
    },
    remove: ({ id, version }: Found<Job>) => documents.remove(collection, id, version),
  };
}

const isScheduled = (form: StoredForm): form is StoredForm & Schedule =>
  [form['since'], form['notBefore'], form['failures']].every(Number.isFinite);

/** Ignores an outage: the watch on the store reports it, and no job is lost. */
async function attempt(work: () => Promise<void>, broke: (error: unknown) => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) broke(error);
  }
}

/** Runs the jobs of a kind in this process, from `start` to `stop`. `now`: the clock of the store. */
export function createOutbox<Job>(jobs: ReturnType<typeof createJobs<Job>>, now: Clock, kind: JobKind<Job>) {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  const running = new Map<string, Promise<void>>();
  let leftOut = 0;

  /** Also true for a job that would wait longer than any does: the clock was set back. */
  const isDue = ({ notBefore }: Schedule) =>
    notBefore <= now() || notBefore > now() + Math.max(...kind.waitsMs);

  const isRunnable = (job: Queued<Job>) =>
    kind.mayRun?.() !== false && (kind.canRun?.(job) !== false || now() - job.since >= GIVE_UP_AFTER_MS);

  async function look(): Promise<void> {
    const waiting = await jobs.list();
    const due = waiting
      .filter(({ job }) => isDue(job) && !running.has(kind.targetOf(job)) && isRunnable(job))
      .toSorted((one, other) => one.job.notBefore - other.job.notBefore)
      .slice(0, JOBS_AT_ONCE);
    leftOut = due.length + running.size > 0 ? 0 : Math.min(MAX_LEFT_OUT, Math.trunc(waiting.length / 1000));
    for (const [target, ofTarget] of Map.groupBy(due, ({ job }) => kind.targetOf(job))) {
      if (running.size >= TARGETS_AT_ONCE) return;
      const all = runAll(ofTarget).finally(() => running.delete(target));
      running.set(target, all);
    }
  }

  async function runAll(found: readonly Found<Job>[]): Promise<void> {
    const left = found.values();
    const lane = async () => {
      for (const one of left) if (timer !== undefined) await attempt(() => run(one), kind.broke);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }

  async function run(found: Found<Job>): Promise<void> {
    const { job } = found;
    if (!isRunnable(job)) return;
    const wait = kind.waitsMs[job.failures];
    if (wait === undefined) return fail(found, { reason: 'cut_off', mayPass: false });
    // Counted before the run, so that a job that crashes the process has no more tries than any other.
    const failures = job.failures + 1;
    const claimed = await jobs.change(found, { notBefore: now() + wait, failures, isHeld: true });
    if (claimed === undefined) return;
    const result = await kind.run(claimed.job);
    if (result !== 'done') return fail(claimed, result);
    await jobs.remove(claimed);
    kind.done?.(claimed.job);
  }

  async function fail(found: Found<Job>, failure: JobFailure): Promise<void> {
    const isLast = !failure.mayPass || found.job.failures >= kind.waitsMs.length;
    if (
      await (isLast ? jobs.remove(found) : jobs.change(found, { isHeld: false, lastError: failure.reason }))
    )
      kind.failed(found.job, failure, isLast);
  }

  return {
    start(): void {
      clearInterval(timer);
      timer = setInterval(() => {
        if ((leftOut -= 1) < 0) looking ??= attempt(look, kind.broke).finally(() => (looking = undefined));
      }, LOOK_EVERY_MS).unref();
    },
    /** Starts no further run. Resolves when no run is under way. */
    async stop(): Promise<void> {
      clearInterval(timer);
      timer = undefined;
      await looking;
      await Promise.all(running.values());
    },
  };
}
