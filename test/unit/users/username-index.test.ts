// The users in the store in order: what happens to entries and documents without their counterpart, and how a store from before the index
// gets one, by several processes of which one is killed.
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { fold } from '../../../src/features/index.ts';
import type { StoreConfig } from '../../../src/config/config.ts';
import { openStore } from '../../../src/store/open.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { createStoredUsers, type NewUser } from '../../../src/users/stored-users.ts';
import {
  createUsernameIndexing,
  ensureUsernameIndex,
  USERNAMES,
  usernameSort,
} from '../../../src/users/username-index.ts';
import { createClock } from '../../store/conformance.ts';
import { type ServiceProcess, startProcess } from '../../world/process.ts';
import { startRedis } from '../../world/servers.ts';
import { listen } from '../../world/recorded-telemetry.ts';
import { tempFolder, testFolder } from '../../world/temp-folder.ts';
import { writeWorldConfig } from '../../world/world.ts';
import { useStarted } from '../../world/started.ts';

const MANY = 20_000;
const MACHINE_MS = 10_000;
const HOUR_MS = 3_600_000;
const person = (username: string, more: Partial<NewUser> = {}): NewUser => ({
  id: `usr_${Buffer.from(username).toString('hex').slice(0, 60)}`,
  username,
  passwordHash: 'x',
  claims: {},
  ...more,
});

describe.each(['lmdb', 'redis'] as const)('the users of the store by name, on %s', (engine) => {
  const clock = createClock();
  const folder = path.join(tempFolder(), 'data');
  const redis = useStarted(async () => (engine === 'redis' ? startRedis() : undefined));
  const location = (): StoreConfig => {
    const server = redis();
    return server ? { engine: 'redis', url: server.url } : { engine: 'lmdb', folder };
  };
  const store = useStarted(() => openStore(location(), clock.now));

  async function names({ after = '', atOnce = 200 } = {}, of = store()) {
    const found: string[] = [];
    for await (const page of createStoredUsers(of).byName({ after, atOnce }, () => {}))
      found.push(...page.map(({ username }) => username));
    return found;
  }
  const entries = async () =>
    (await store().index.page(USERNAMES, { limit: 2 * MANY })).map(({ sort }) => sort);
  const HOSTILE = [
    '#',
    "'; --",
    '<b>',
    'Ａｎｎ',
    'Émile',
    'a'.repeat(200),
    '\ufdfa'.repeat(200),
    '한글',
    '\u{1f600}',
  ];

  it('are in order, in pages of any size and from any name on, whatever they are called', async () => {
    for (const username of ['bob', ...HOSTILE, 'Anna'])
      await createStoredUsers(store()).add(person(username));
    const inOrder = ['#', "'; --", '<b>', 'a'.repeat(200), 'Ａｎｎ', 'Anna', 'bob', 'Émile'];
    expect((await names()).slice(0, 8)).toEqual(inOrder);
    expect(await names({ atOnce: 1 })).toEqual(await names());
    expect(await names({ after: ' ANN', atOnce: 2 })).toEqual((await names()).slice(5));
    expect(await names()).toHaveLength(HOSTILE.length + 2);
    expect(await createStoredUsers(store()).add(person('BOB', { id: 'usr_other' }))).toBe(false);
    expect(await entries()).toHaveLength(HOSTILE.length + 2);
  });

  it('are those of documents: an entry alone is skipped, and removed where its user was deleted', async () => {
    const before = await names();
    const [late, people] = [person('late'), createStoredUsers(store())];
    await people.remove(person('bob').id);
    const isLeft = async (sort: string) => (await entries()).includes(sort);
    expect(await isLeft('bob')).toBe(false);
    // As after a kill between the two writes of each operation.
    await store().index.put(USERNAMES, 'bob', person('bob').id);
    await store().index.put(USERNAMES, 'late', late.id);
    await store().index.put(USERNAMES, 'annie', person('Anna').id);
    const others = before.filter((name) => name !== 'bob');
    expect(await names()).toEqual(others);
    expect([await isLeft('bob'), await isLeft('late')]).toEqual([false, true]);
    await people.add(late);
    expect(await names()).toEqual([...others, 'late'].toSorted(byName));
    const stuck = { ...store().index, remove: () => Promise.reject(new StoreUnavailable()) };
    await store().index.put(USERNAMES, 'bob', person('bob').id);
    expect(await names({}, { ...store(), index: stuck })).toHaveLength(before.length);
  });

  it('are found again within a day where an entry is missing, as those of an older version are', async () => {
    await store().index.remove(USERNAMES, 'anna', person('Anna').id);
    const anna = person('Anna');
    // The index of email addresses, if it is shipped.
    const indexed = 'mail-addresses' in fold('userIndexes') ? [anna.id] : [];
    const byAddress = async () =>
      (await createStoredUsers(store()).findBySort('mail-addresses', 'anna@acme.example', 5)).map(
        ({ id }) => id,
      );
    await createStoredUsers(store()).setGranted(anna.id, (user) => ({
      ...user,
      claims: { email: 'Anna@acme.example' },
    }));
    await store().index.remove('mail-addresses', 'anna@acme.example', anna.id);
    expect(await byAddress()).toEqual([]);
    // The mark of a version before the index of addresses.
    const mark = { v: 1, filledAt: clock.now() };
    await store().documents.put('index-marks', USERNAMES, JSON.stringify(mark), 0);
    // A damaged document gets no entry, and doesn't stop the others.
    await store().documents.put(USERNAMES, 'damaged', 'x'.repeat(3000), 0);
    const { telemetry, log } = listen();
    const indexing = createUsernameIndexing(store(), telemetry.log, {
      lookEveryMs: 5,
      leaseMs: 5000,
      pauseMs: 0,
    });
    indexing.start();
    await vi.waitFor(async () => expect(await names()).toContain('Anna'), MACHINE_MS);
    await vi.waitFor(async () => expect(await byAddress()).toEqual(indexed), MACHINE_MS);
    await store().index.remove(USERNAMES, 'anna', person('Anna').id);
    clock.forward(23 * HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await names()).not.toContain('Anna');
    clock.forward(2 * HOUR_MS);
    await vi.waitFor(async () => expect(await names()).toContain('Anna'), MACHINE_MS);
    // The line is logged after the last entry.
    const lines = () => log.filter((line) => line.includes('index of usernames'));
    await vi.waitFor(() => expect(lines()).toHaveLength(2), MACHINE_MS);
    await indexing.stop();
    expect(lines()).toHaveLength(2);
  });

  it('are indexed once even if a process is killed meanwhile', { timeout: 120_000 }, async () => {
    const all = Array.from({ length: MANY }, (_, number) => person(`person${number}`));
    for (let start = 0; start < MANY; start += 500) {
      const part = all.slice(start, start + 500);
      await store().documents.putAll(
        USERNAMES,
        part.map(({ id, username: name }) => ({ id: name, value: id, expectedVersion: 0 })),
      );
    }
    const mark = await store().documents.get('index-marks', USERNAMES);
    await store().documents.remove('index-marks', USERNAMES, mark?.version ?? 0);
    // By the clock of this test, which is ahead.
    await store().counters.remove('index:usernames');
    const before = (await entries()).length;
    const services: ServiceProcess[] = [];
    const place = redis()?.url ?? `lmdb:${folder}`;
    const start = async () => {
      const world = await writeWorldConfig(testFolder(), { store: place, issuer: 'https://id.example' });
      services.push(await startProcess(world.configFile));
    };
    await start();
    await vi.waitFor(
      async () => expect(await store().index.page(USERNAMES, { prefix: 'person', limit: 1 })).toHaveLength(1),
      { timeout: 30_000, interval: 5 },
    );
    await services[0]?.end('SIGKILL');
    expect((await entries()).length).toBeLessThan(MANY);
    await Promise.all([start(), start()]);
    await vi.waitFor(async () => expect((await entries()).length).toBe(before + MANY), {
      timeout: 60_000,
      interval: 200,
    });
    await vi.waitFor(() => expect(completed()).toBe(1), { timeout: 20_000 });
    await Promise.all(services.slice(1).map((service) => service.end()));
    expect(completed()).toBe(1);
    function completed() {
      return services.filter((one) =>
        `${one.stdout()}${one.stderr()}`.includes('index of usernames is complete'),
      ).length;
    }
  });

  it('have it before a list, where no service was started since', async () => {
    const mark = await store().documents.get('index-marks', USERNAMES);
    await store().documents.remove('index-marks', USERNAMES, mark?.version ?? 0);
    await store().index.remove(USERNAMES, 'anna', person('Anna').id);
    await ensureUsernameIndex(store());
    expect(await entries()).toContain('anna');
    await store().index.remove(USERNAMES, 'anna', person('Anna').id);
    await ensureUsernameIndex(store());
    expect(await entries()).not.toContain('anna');
  });
});

const byName = (one: string, other: string) =>
  Buffer.compare(Buffer.from(usernameSort(one)), Buffer.from(usernameSort(other)));

it('a name is in order by its beginning, where it is longer than a key may be', () => {
  expect(usernameSort(`${'x'.repeat(249)}\u{1f600}`)).toBe(`${'x'.repeat(249)}\ufffd`);
});
