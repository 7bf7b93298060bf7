// The cost of one sign-in attempt, the same for every username, and the user that a refusal names. Real store, real hashes; each
// verification is recorded.
import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccounts, openUsers } from '../../../src/users/accounts.ts';
import { COSTS_KNOWN_MS, createImportedCosts } from '../../../src/users/imported-costs.ts';
import { createTrustedBrowsers } from '../../../src/users/trusted-browsers.ts';
import { costOf, createPasswords, hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { createSignIn, type CountAttempt } from '../../../src/users/sign-in.ts';
import { TooManyRequests } from '../../../src/limits/limits.ts';
import { removeDocument } from '../../../src/store/documents.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const PASSWORD = 'river otter jazz 47';
const FILE_PASSWORD = 'quiet lantern moss 12';
/** A cheap cost that differs from the policy's. */
const OTHER = { memoryCost: 8192, timeCost: 1, parallelism: 1 } as const;
const IDS = {
  file: 'usr_file00000000000000001',
  store: 'usr_store0000000000000001',
  invited: 'usr_invited00000000000001',
};
const POLICY = costOf();
const COUNTED: CountAttempt = () =>
  Promise.resolve({
    failures: 0,
    succeed: () => Promise.resolve(),
    keepPending: () => undefined,
    takeBack: () => undefined,
  });

const folder = tempFolder();
let store: Store;
beforeAll(async () => {
  store = await openLmdb({ folder, now: Date.now });
  const passwordHash = await hashPassword(PASSWORD);
  const stored = { id: IDS.store, username: 'stored', passwordHash, claims: {} };
  const invited = { ...stored, id: IDS.invited, username: 'invited', passwordHash: undefined };
  for (const user of [stored, invited]) await createStoredUsers(store).add(user);
});
afterAll(() => store.close());

type Setting = {
  /** Hashes of the users in the file; the first belongs to `filed`. */
  readonly ofFile?: readonly string[];
  readonly countAttempt?: CountAttempt;
  readonly passwords?: ReturnType<typeof createPasswords>;
};

function setUp({ ofFile = [], countAttempt = COUNTED, passwords = createPasswords(2, 10) }: Setting) {
  const users = ofFile.map((passwordHash, index) => ({
    id: index === 0 ? IDS.file : `usr_other000000000000000${index}`,
    username: index === 0 ? 'filed' : `other${index}`,
    passwordHash,
    disabled: false,
    groups: [],
    claims: {},
  }));
  const costs: string[] = [];
  const stored = openUsers(store, createKeyedHash(Buffer.alloc(32, 1)));
  const config = { users, signIn: undefined };
  const signIn = createSignIn({
    accounts: createAccounts({ config, ...stored }),
    storedUsers: stored.storedUsers,
    passwords: {
      ...passwords,
      verify(passwordHash, password) {
        costs.push(costOf(passwordHash));
        return passwords.verify(passwordHash, password);
      },
    },
    trustedBrowsers: createTrustedBrowsers(createKeyedHash(Buffer.alloc(32, 1)), Date.now),
    countAttempt,
    beside: (write) => write(),
    now: Date.now,
  });
  return async (username: string, password: string) => {
    costs.length = 0;
    const result = await signIn({ username, password, address: '192.0.2.1', device: '' });
    return { result, costs: [...costs] };
  };
}

describe('LG-19: what an attempt verifies', () => {
  it.each([
    ['a usual password', PASSWORD],
    ['one that is too long', 'x'.repeat(5000)],
    ['one with several forms', 'Café au lait 12'],
  ])('has both costs for everybody when those of file and policy differ: %s', async (_what, password) => {
    const attempt = setUp({ ofFile: [await hash(FILE_PASSWORD, OTHER)] });
    const { costs } = await attempt('nobody', password);
    expect(new Set(costs)).toEqual(new Set([costOf(await hash('x', OTHER)), POLICY]));
    expect((await attempt('filed', password)).costs).toEqual(costs);
    expect((await attempt('stored', password)).costs).toEqual(costs);
    expect((await attempt('invited', password)).costs).toEqual(costs);
  });

  it('is one hash when they are the same, and when the file has nobody', async () => {
    for (const ofFile of [[], [await hashPassword(FILE_PASSWORD)]]) {
      const attempt = setUp({ ofFile });
      for (const username of ['filed', 'stored', 'invited', 'nobody']) {
        expect((await attempt(username, 'wrong password 1')).costs, username).toEqual([POLICY]);
      }
    }
  });

  it('is as many hashes for who has a cost of their own', async () => {
    const [cheap, ...others] = await Promise.all([
      hash(FILE_PASSWORD, { memoryCost: 8192, timeCost: 2, parallelism: 1 }),
      hash('x', OTHER),
      hash('y', OTHER),
    ]);
    const attempt = setUp({ ofFile: [cheap, ...others] });
    const { costs } = await attempt('filed', 'wrong password 1');
    expect(costs.toSorted()).toEqual([costOf(others[0]), costOf(cheap), POLICY].toSorted());
    for (const username of ['other1', 'stored', 'invited', 'nobody'])
      expect((await attempt(username, 'wrong password 1')).costs, `F1-18: ${username}`).toEqual(costs);
    expect((await attempt('filed', FILE_PASSWORD)).result.user?.id).toBe(IDS.file);
  });

  it('is never the hash of another user: one that is damaged breaks no other sign-in', async () => {
    const attempt = setUp({ ofFile: [(await hash(FILE_PASSWORD, OTHER)).slice(0, -1)] });
    await expect(attempt('filed', FILE_PASSWORD)).rejects.toThrow('Decoding failed');
    expect((await attempt('stored', PASSWORD)).result.user?.id).toBe(IDS.store);
    expect((await attempt('nobody', PASSWORD)).result.user).toBeUndefined();
  });

  it('F1-18: is three hashes at most, and has the cost of a person of the store', async () => {
    const old = await hash(PASSWORD, OTHER);
    const person = { id: 'usr_early0000000000000001', username: 'early', passwordHash: old, claims: {} };
    await createStoredUsers(store).add(person);
    const attempt = setUp({});
    for (const username of ['early', 'stored', 'nobody'])
      expect((await attempt(username, 'wrong password 1')).costs, username).toEqual([costOf(old), POLICY]);
    const four = [1024, 2048, 4096, 8192].map((memoryCost) => hash('x', { ...OTHER, memoryCost }));
    const many = setUp({ ofFile: await Promise.all(four) });
    for (const username of ['filed', 'other1', 'other2', 'other3', 'stored', 'nobody'])
      expect((await many(username, 'wrong password 1')).costs, username).toHaveLength(3);
  });

  it('AD-24: has the costs of imported hashes for everybody, in each process and from the first attempt on', async () => {
    const imported = await hash(PASSWORD, { memoryCost: 8192, timeCost: 3, parallelism: 2 });
    const users = createStoredUsers(store);
    await createImportedCosts(store.documents, Date.now).add([costOf(imported), POLICY], () => undefined);
    await users.add({
      id: 'usr_moved000000000000001',
      username: 'moved',
      passwordHash: imported,
      claims: {},
    });
    for (const username of ['nobody', 'moved', 'stored', 'invited'])
      expect((await setUp({})(username, 'wrong password 1')).costs, username).toEqual([
        costOf(imported),
        POLICY,
      ]);
    expect((await setUp({})('moved', PASSWORD)).result.user?.id).toBe('usr_moved000000000000001');
    const { costs } = await setUp({ ofFile: [await hash(FILE_PASSWORD, OTHER)] })(
      'nobody',
      'wrong password 1',
    );
    expect(costs.toSorted()).toEqual([costOf(imported), costOf(await hash('x', OTHER)), POLICY].toSorted());
    await removeDocument(store.documents, 'password-costs', 'imported');
  });

  it('AD-24: reads the costs of imported hashes once a second, and again where the store could not be asked', async () => {
    let [reads, isThere, time] = [0, true, 0];
    const { documents } = store;
    const get: typeof documents.get = async (...of) => {
      reads += 1;
      return isThere ? documents.get(...of) : Promise.reject(new StoreUnavailable());
    };
    const { get: costs, add } = createImportedCosts({ ...documents, get }, () => time);
    await Promise.all(Array.from({ length: 20 }, () => costs()));
    expect(reads).toBe(1);
    await add(['other'], () => undefined);
    expect(await costs()).toEqual([]);
    time = COSTS_KNOWN_MS;
    expect(await costs()).toEqual(['other']);
    [time, isThere] = [0, false];
    for (let turn = 0; turn < 2; turn += 1) await expect(costs()).rejects.toThrow(StoreUnavailable);
    isThere = true;
    expect(await costs()).toEqual(['other']);
    await removeDocument(store.documents, 'password-costs', 'imported');
  });

  it('lets in by the own password alone, and never by the one of a decoy', async () => {
    const attempt = setUp({ ofFile: [await hash(FILE_PASSWORD, OTHER)] });
    expect((await attempt('filed', FILE_PASSWORD)).result.user?.id).toBe(IDS.file);
    expect((await attempt('stored', PASSWORD)).result.user?.id).toBe(IDS.store);
    expect((await attempt('stored', FILE_PASSWORD)).result).toMatchObject({ reason: 'wrong_password' });
    expect((await attempt('filed', PASSWORD)).result).toMatchObject({ reason: 'wrong_password' });
    expect((await attempt('nobody', FILE_PASSWORD)).result).toMatchObject({ reason: 'unknown' });
  });
});

it.each([
  ['too_many_attempts', { countAttempt: () => Promise.reject(new TooManyRequests(7)) }],
  ['unavailable', { countAttempt: () => Promise.reject(new StoreUnavailable()) }],
  ['busy', { passwords: createPasswords(0, 0) }],
] as const)('CF-15: an attempt that was not decided names who was meant: %s', async (reason, setting) => {
  const attempt = setUp(setting);
  const { result } = await attempt('stored', PASSWORD);
  expect(result).toMatchObject({ user: undefined, reason, meant: { id: IDS.store } });
  expect((await attempt('nobody', PASSWORD)).result).toMatchObject({ reason, meant: undefined });
});
