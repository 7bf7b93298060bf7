// The indexes of the store's users: by name, and by the values that features look them up by. An entry is written with its user
// (stored-users.ts). Entries that an older version didn't write, or that a failover lost, are added by a look through all names, by one
// process, at first and once a day.
import { setTimeout as delay } from 'node:timers/promises';
import { isRecord, parseJsonObject } from '../config/parse-fields.ts';
import { canonicalUsername } from '../config/text.ts';
import type { Declaration, IndexedUser } from '../features/feature.ts';
import { fold } from '../features/index.ts';
import type { Log } from '../observability/log.ts';
import { changeDocument } from '../store/documents.ts';
import {
  type DocumentPage,
  type IndexEntry,
  type Store,
  type StoredDocument,
  StoreUnavailable,
} from '../store/store.ts';

/** The name of the index, and of the collection of documents that lead from a username to an id. */
export const USERNAMES = 'usernames';
/** The collection of users, by id. Its stored name is from an earlier version. */
export const USERS = 'people';
const MARK = { collection: 'index-marks', id: USERNAMES, what: 'the mark of the index of usernames' };
const DAY_MS = 24 * 60 * 60 * 1000;
/** `leaseMs`: after this time, another process takes over. `pauseMs`: a pause after each page, because requests go first. */
const TIMES = { lookEveryMs: 5000, leaseMs: 5000, pauseMs: 20 };
const REPORT_EVERY = 20_000;

/** A canonical name may be longer than a key of the store. If two names begin alike, the id decides their order. */
export const usernameSort = (typed: string) => canonicalUsername(typed).slice(0, 250).toWellFormed();

const SORTS: NonNullable<Declaration['userIndexes']> = {
  [USERNAMES]: ({ username }) => usernameSort(username),
  ...fold('userIndexes'),
};
const ALL = Object.keys(SORTS).join(' ');

export type UserEntries = readonly (IndexEntry & { readonly index: string })[];

/** At most one entry in each index. */
export const indexEntriesOf = (id: string, user: IndexedUser): UserEntries =>
  Object.entries(SORTS)
    .map(([index, sortOf]) => ({ index, sort: sortOf(user), id }))
    .filter((entry): entry is UserEntries[number] => entry.sort !== undefined);

type Parts = Pick<Store, 'documents' | 'index' | 'counters' | 'clock'>;

async function isFilled({ documents, clock }: Parts, withinMs = Infinity): Promise<boolean> {
  const mark = await documents.get(MARK.collection, MARK.id);
  const { indexes, filledAt } = parseJsonObject(mark?.value ?? '') ?? {};
  // The clock may have been set back since then.
  return indexes === ALL && Math.abs(clock.now() - Number(filledAt)) < withinMs;
}

/** The entries for the document of a user. A damaged document has none. */
function storedEntries(document: StoredDocument | undefined): UserEntries {
  const { username, claims } = parseJsonObject(document?.value ?? '') ?? {};
  if (document === undefined || typeof username !== 'string' || !isRecord(claims)) return [];
  return indexEntriesOf(document.id, { username, claims });
}

/** Adds missing entries. Existing ones only cost a read, so an interrupted run starts anew. `goesOn` is called after each page. */
async function fill({ documents, index, clock }: Parts, goesOn: (users: number) => Promise<boolean>) {
  const sum = { users: 0, added: 0 };
  let page: DocumentPage | undefined;
  do {
    page = await documents.page(USERNAMES, page?.next);
    const names = page.documents.filter(({ value }) => /^[\w.-]{1,200}$/.test(value));
    const ids = names.map(({ value }) => value);
    const entries = names.map(({ id, value }) => ({ index: USERNAMES, sort: usernameSort(id), id: value }));
    const own = (await documents.getAll(USERS, ids)).flatMap(storedEntries);
    const others = own.filter((one) => one.index !== USERNAMES);
    for (const [name, some] of Map.groupBy([...entries, ...others], (one) => one.index))
      sum.added += await index.putAll(name, some);
    sum.users += ids.length;
    if (!(await goesOn(sum.users))) return undefined;
  } while (page.next !== undefined);
  await changeDocument(documents, MARK, () => ({ indexes: ALL, filledAt: clock.now() }));
  return sum;
}

/** Fills the indexes before a list of all users, if no service that knows them has been started yet. */
export async function ensureUsernameIndex(parts: Parts): Promise<void> {
  if (!(await isFilled(parts))) await fill(parts, async () => true);
}

export function createUsernameIndexing(parts: Parts, log: Log, { lookEveryMs, leaseMs, pauseMs } = TIMES) {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<unknown> | undefined;
  const lease = (renew: boolean) => parts.counters.increment('index:usernames', 1, leaseMs, renew);

  async function look(): Promise<void> {
    if ((await isFilled(parts, DAY_MS)) || (await lease(false)).count > 1) return;
    let reported = 0;
    const sum = await fill(parts, async (users) => {
      if (users - reported >= REPORT_EVERY)
        log.info({ users: (reported = users) }, 'building the index of usernames');
      await delay(pauseMs);
      await lease(true);
      return timer !== undefined;
    });
    if (sum !== undefined && sum.added > 0) log.info(sum, 'the index of usernames is complete');
  }

  async function lookOnce(): Promise<void> {
    await (looking ??= look().finally(() => (looking = undefined))).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable))
        log.error({ err: error }, 'could not build the index of usernames, will retry');
    });
  }

  return {
    start(): void {
      timer = setInterval(() => void lookOnce(), lookEveryMs).unref();
      void lookOnce();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      timer = undefined;
      await looking?.catch(() => undefined);
    },
  };
}
