// How often a request calls the store for records and documents: counted, so that no change adds calls. Fewer is fine.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentStore, RecordStore, Store } from '../../src/store/store.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { authorize, exchange } from '../world/app.ts';
import type { Browser, Page } from '../world/browser.ts';
import { begin, codeOf, finishPages, signInAs } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { giveOneTimeCodes, givePasskey } from '../world/second-factors.ts';
import { clientCredentials, refresh } from '../world/token-endpoint.ts';
import { useWorld } from '../world/each-store.ts';
import { type OpenWorld, startWorld, type World } from '../world/world.ts';

/** Consents are remembered, as they are by default. */
const CONFIG = { lifetimes: { consent: '30d' } };

type Counts = Readonly<Record<string, number>>;
type Count = (act: () => Promise<unknown>) => Promise<number>;

/** Counts each action separately, the second time: the first time warms everything up. */
async function countAll(world: World, count: Count): Promise<Counts> {
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < 2; turn += 1) {
    let [machine, person, renewed] = ['', '', ''];
    counts['machine token'] = await count(async () => {
      machine = String((await clientCredentials(world, { scope: 'reports.read' })).body['access_token']);
    });
    counts['introspection, machine'] = await count(() => introspect(world, machine, 'rs1'));
    counts['code flow with sign-in and consent'] = await count(async () => {
      const { tokens } = await exchange(await authorize(world));
      [person, renewed] = [tokens.access_token, String(tokens.refresh_token)];
    });
    counts['introspection, person'] = await count(() => introspect(world, person, 'rs1'));
    counts['userinfo'] = await count(() => userinfo(world, person));
    counts['refresh'] = await count(() => refresh(world, renewed));
  }
  return counts;
}

function expectAtMost(counts: Counts, limits: Counts): void {
  for (const [action, limit] of Object.entries(limits)) {
    expect.soft(counts[action], action).toBeLessThanOrEqual(limit);
  }
}

describe('on Redis, commands', () => {
  let redis: RedisServer;
  let world: OpenWorld;
  let [monitor, raw]: (Redis | undefined)[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    raw = new Redis(redis.url);
    // Started before any command: one that is sent while this starts would be read as its answer.
    monitor = await raw.monitor();
    world = await startWorld({ store: redis.url, config: CONFIG });
  });
  afterAll(async () => {
    monitor?.disconnect();
    raw?.disconnect();
    await world.stop();
    await redis.stop();
  });

  /** Excludes the process's own calls: its keys, its mark, the uses of secrets, the probe of the store. */
  const isCounted = (words: readonly string[]) =>
    words.some((word) =>
      /^postern:(record|alias|documents:(people|usernames|account-state)|\{grant)/.test(word),
    ) && !words.some((word) => /(^|:)(Mark|Probe):/.test(word));

  const count: Count = async (act) => {
    let commands = 0;
    const marker = `counted ${performance.now()}`;
    const counted = new Promise<void>((resolve) => {
      monitor?.on('monitor', (_time: string, words: string[], source: string) => {
        if (words.includes(marker)) resolve();
        else if (source !== 'lua' && isCounted(words)) commands += 1;
      });
    });
    await act();
    await raw?.echo(marker);
    await counted;
    monitor?.removeAllListeners('monitor');
    return commands;
  };

  it('are no more than these', async () => {
    expectAtMost(await countAll(world, count), {
      'machine token': 0,
      'introspection, machine': 2,
      'code flow with sign-in and consent': 62,
      'introspection, person': 5,
      userinfo: 5,
      refresh: 10,
    });
  });
});

describe('on lmdb', () => {
  const counts = { reads: 0, writes: 0 };
  const READS = new Set(['find', 'findByAlias', 'get', 'list']);
  /** The process's own calls. */
  const OWN = /^\w+ (keys|Mark|secret-uses)$|^list (logouts|user-events)$/;

  /** Wraps a part of the store and counts its calls. */
  function counting<T extends RecordStore | DocumentStore>(part: T): T {
    const counted = Object.entries(part).map(([name, call]: [string, (...args: unknown[]) => unknown]) => [
      name,
      (...args: unknown[]) => {
        if (!OWN.test(`${name} ${String(args[0])}`)) counts[READS.has(name) ? 'reads' : 'writes'] += 1;
        return call(...args);
      },
    ]);
    return Object.fromEntries(counted) as T;
  }

  const handStore = (store: Store): Store => ({
    ...store,
    records: counting(store.records),
    documents: counting(store.documents),
    ping: () => store.ping(),
    close: () => store.close(),
  });

  const world = useWorld({ handStore, config: CONFIG });

  it('transactions that write are no more than these', async () => {
    const count: Count = async (act) => {
      counts.writes = 0;
      await act();
      return counts.writes;
    };
    expectAtMost(await countAll(world(), count), {
      'machine token': 0,
      'introspection, machine': 0,
      'code flow with sign-in and consent': 12,
      'introspection, person': 0,
      userinfo: 0,
      refresh: 1,
    });
  });

  it('reads are no more than these', async () => {
    const count: Count = async (act) => {
      counts.reads = 0;
      await act();
      return counts.reads;
    };
    expectAtMost(await countAll(world(), count), {
      'machine token': 0,
      'introspection, machine': 1,
      'code flow with sign-in and consent': 30,
      'introspection, person': 3,
      userinfo: 3,
      refresh: 3,
    });
  });
});

describe('of second factors', () => {
  const asked: string[] = [];

  const handStore = (store: Store): Store => ({
    ...store,
    documents: {
      ...store.documents,
      get(collection, id) {
        if (collection.startsWith('factor')) asked.push(collection);
        return store.documents.get(collection, id);
      },
    },
    ping: () => store.ping(),
    close: () => store.close(),
  });

  const sign_in = { passkeys: true, one_time_codes: true };
  const world = useWorld({ handStore, issuer: 'https://id.example', config: { ...CONFIG, sign_in } });

  /** The number of calls of each page and form of a sign-in, until the app has its code. */
  async function askedBy(show: (browser: Browser, page: Page) => Promise<Page>): Promise<number> {
    const { browser, page } = await begin(world());
    asked.length = 0;
    expect(codeOf(await finishPages(browser, await show(browser, page), 'alice'))).toBeDefined();
    return asked.length;
  }

  it('documents are looked up by their key, a few times in a whole sign-in, however many users have them', async () => {
    const app = await giveOneTimeCodes(world());
    const byCode = await askedBy(async (browser, page) => {
      const step = await signInAs(browser, page, 'alice');
      return browser.submit(step, '/code', { code: app.code() });
    });
    const key = await givePasskey(world());
    const byPasskey = await askedBy((browser, page) =>
      browser.submit(page, '/passkey', { response: key.assert(world(), page) }),
    );
    // A request reads the document once, and once more if it writes it or names a session; a passkey also reads its owner.
    expectAtMost({ byCode, byPasskey }, { byCode: 8, byPasskey: 5 });
  });
});
