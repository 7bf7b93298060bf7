// Answers whose record could then not be stored: they aren't sent, and no audit record claims that it happened.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NewRecord, type Store, StoreUnavailable } from '../../src/store/store.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { authorize, exchange, signIn } from '../world/app.ts';
import { begin, finishPages, newBrowser } from '../world/person.ts';
import { post } from '../world/requests.ts';
import { basic, refresh } from '../world/token-endpoint.ts';
import { type OpenWorld, PASSWORDS, startWorld } from '../world/world.ts';
import { eachStore, useWorld } from '../world/each-store.ts';

/** Kinds of records that can't be saved. */
let unsaved: readonly string[] = [];

function handStoreWithout(store: Store): Store {
  const { records } = store;
  const { exchange: use } = records;
  const orFail = <T>(saved: readonly NewRecord[], write: () => Promise<T>) =>
    saved.some(({ kind }) => unsaved.includes(kind)) ? Promise.reject(new StoreUnavailable()) : write();
  const failing = {
    ...records,
    save: (record: NewRecord) => orFail([record], () => records.save(record)),
    ...(use && {
      exchange: (...[kind, key, saved, more]: Parameters<typeof use>) =>
        orFail(saved, () => use(kind, key, saved, more)),
    }),
  };
  return Object.assign(store, { records: failing });
}

const onLmdb = useWorld({ handStore: handStoreWithout });
let onRedis: OpenWorld | undefined;
const world = () => onRedis ?? onLmdb();

async function withoutSaving<T>(kinds: readonly string[], act: () => Promise<T>): Promise<T> {
  unsaved = kinds;
  try {
    return await act();
  } finally {
    unsaved = [];
  }
}

async function eventsOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const before = world().recorded.audit().length;
  await act();
  return world()
    .recorded.audit()
    .slice(before)
    .map(({ event, outcome }) => `${event} ${outcome}`);
}

describe("RD-10: where something can't be stored", () => {
  it.each(['AuthorizationCode', 'Session'])('sends no code or session unless %s is stored', async (kind) => {
    const { browser, page } = await begin(world());
    const last = await withoutSaving([kind], () => finishPages(browser, page, 'alice'));
    expect(last.status).toBe(503);
    expect(last.headers.get('retry-after')).toBe('2');
    expect(last.headers.get('location')).toBeNull();
    expect(last.headers.getSetCookie().filter((one) => one.includes('postern_session'))).toEqual([]);
  });

  it('a revocation that could not be written is not recorded as one', async () => {
    const { tokens } = await signIn(world());
    const { records } = world().openedStore;
    const revokeGrant = records.revokeGrant.bind(records);
    const revoke = () =>
      post(world(), '/oauth/revoke', { token: tokens.access_token }, { authorization: basic('web') });
    records.revokeGrant = () => Promise.reject(new StoreUnavailable());
    const refused = await eventsOf(async () => expect((await revoke()).status).toBe(503));
    records.revokeGrant = revokeGrant;
    expect(refused).not.toContain('token_revoked success');
    const done = await eventsOf(async () => expect((await revoke()).status).toBe(200));
    expect(done).toContain('token_revoked success');
  });
});

/** On Redis; on lmdb the use and its results are one transaction, see store-disk.test.ts. */
describe("RD-16: where something can't be stored on Redis", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
    onRedis = await startWorld({ store: redis.url, handStore: handStoreWithout });
  });
  afterAll(async () => {
    await onRedis?.stop();
    onRedis = undefined;
    await redis.stop();
  });

  it.each(['AccessToken', 'RefreshToken'])('sends and audits no token unless %s is stored', async (kind) => {
    const authorized = await authorize(world());
    const events = await eventsOf(async () => {
      await withoutSaving([kind], () => expect(exchange(authorized)).rejects.toThrow());
    });
    expect(events).not.toContain('token_issued success');
  });

  it('a refresh answers 503, and the old token can be used again', async () => {
    const { tokens } = await signIn(world());
    const token = String(tokens.refresh_token);
    const events = await eventsOf(async () => {
      const answer = await withoutSaving(['RefreshToken'], () => refresh(world(), token));
      expect(answer.status).toBe(503);
    });
    expect(events).not.toContain('token_issued success');
    expect((await refresh(world(), token)).status).toBe(200);
  });
});

describe('what an answer speaks of', () => {
  const [begun, unfinished] = [new Set<string>(), new Set<string>()];
  let discovery = '';

  /** Delays the write. An answer that doesn't wait for the write arrives before it. */
  async function slowly<T>(kinds: readonly string[], write: () => Promise<T>): Promise<T> {
    if (discovery === '') return write();
    for (const kind of kinds) {
      begun.add(kind);
      unfinished.add(kind);
    }
    expect((await fetch(discovery)).status).toBe(200);
    const result = await write();
    for (const kind of kinds) unfinished.delete(kind);
    return result;
  }

  function handStore(store: Store): Store {
    const { records } = store;
    const { exchange: use } = records;
    const slow = {
      ...records,
      // The service writes its mark into the store now and then, independent of any answer.
      save: (record: NewRecord) =>
        record.kind === 'Mark' ? records.save(record) : slowly([record.kind], () => records.save(record)),
      ...(use && {
        exchange: (...[kind, key, saved, more]: Parameters<typeof use>) =>
          slowly([kind, ...saved.map((one) => one.kind)], () => use(kind, key, saved, more)),
      }),
    };
    return { ...store, records: slow, ping: () => store.ping(), close: () => store.close() };
  }

  eachStore('while writes are slow', { handStore }, (running) => {
    it('is durable before it leaves, at every step of a sign-in, an exchange and a refresh', async () => {
      discovery = `${running().base}/.well-known/openid-configuration`;
      begun.clear();
      const browser = newBrowser(running());
      const request = browser.request.bind(browser);
      browser.request = async (...asked) => {
        const page = await request(...asked);
        expect([...unfinished], page.url).toEqual([]);
        return page;
      };
      const { tokens } = await exchange(await authorize(running(), { browser }));
      expect([...unfinished]).toEqual([]);
      expect((await refresh(running(), tokens.refresh_token)).status).toBe(200);
      expect([...unfinished]).toEqual([]);
      for (const kind of ['Interaction', 'Session', 'Grant', 'AuthorizationCode', 'RefreshToken']) {
        expect([...begun]).toContain(kind);
      }
      discovery = '';
    });
  });
});

it('LG-11: a consent whose session ends while it is being given is a sign-in that is over, and no fault', async () => {
  const { browser, page } = await begin(world());
  const consent = await browser.submit(page, '/login', { username: 'alice', password: PASSWORDS.alice });
  // Without the session's cookie the service finds the session only by its alias, each time that it needs it.
  const cookie = browser.cookies.find(({ name }) => name === 'postern_session');
  if (cookie === undefined) throw new Error('nobody is signed in');
  browser.setCookie({ ...cookie, value: 'x'.repeat(21) });
  const { records } = world().openedStore;
  const findByAlias = records.findByAlias.bind(records);
  let asked = 0;
  // The session is there when the interaction is opened, and gone when it is finished.
  records.findByAlias = async (...name) => ((asked += 1) > 2 ? undefined : findByAlias(...name));
  const answer = await browser.submit(consent, '/consent');
  Object.assign(records, { findByAlias });
  expect(asked).toBe(3);
  expect(answer.url).toContain('/consent');
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('has expired');
});
