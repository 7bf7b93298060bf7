// The second factors of a user in a real store: concurrent writes lose nothing, no user can claim another user's credential, and
// a code that several callers use at once has one winner.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TOTP, Secret } from 'otpauth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Vault } from '../../../src/keys/vault.ts';
import { DocumentChanged, untilUnchanged } from '../../../src/store/documents.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { openRedis } from '../../../src/store/redis/redis-store.ts';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { createFactorStore, type FactorStore, NO_FACTORS, type Passkey } from '../../../src/users/factors.ts';
import { createOneTimeCodes } from '../../../src/features/second-factors/one-time-codes.ts';
import { sealedFor } from '../../../src/users/factors.ts';
import { newRecoveryCode, recoveryCodeHash } from '../../../src/features/second-factors/recovery-codes.ts';
import { createProveCode, type TypedCode } from '../../../src/features/second-factors/prove-code.ts';
import { startRedis } from '../../world/servers.ts';

const [ALICE, BOB] = ['usr_alice', 'usr_bob'];
const NOW = 1_700_000_000_000;
const STEP = Math.floor(NOW / 30_000);
const hash = createKeyedHash(randomBytes(32));
const vault = new Vault([randomBytes(32)]);
const codes = createOneTimeCodes({ vault, issuer: 'Example' });

const passkey = (id: string): Passkey => ({
  id,
  publicKey: 'AA',
  counter: 0,
  transports: [],
  synced: false,
  verifiesUser: true,
  aaguid: '',
  name: id,
  createdAt: 0,
});

describe.each(['lmdb', 'redis'])('the factors of people, on %s', (kind) => {
  let store: Store;
  let factors: FactorStore;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    if (kind === 'redis') {
      const server = await startRedis();
      store = await openRedis({ url: server.url, now: Date.now });
      stop = () => server.stop();
    } else {
      const folder = await mkdtemp(path.join(tmpdir(), 'postern-factors-'));
      store = await openLmdb({ folder, now: Date.now });
      stop = () => rm(folder, { recursive: true, force: true });
    }
    factors = createFactorStore(store.documents, hash);
  });
  afterAll(async () => {
    await store.close();
    await stop();
  });

  const own = (id: string) => factors.get(id);

  it('lose nothing of forty who write at once', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `key${index}`);
    const add = async (name: string) =>
      factors.change(ALICE, ({ passkeys, sessionsSince }) => ({
        passkeys: [...passkeys, passkey(name)],
        sessionsSince: sessionsSince + 1,
      }));
    await Promise.all(names.map(add));
    const { passkeys, sessionsSince } = await own(ALICE);
    expect(passkeys.map(({ id }) => id).toSorted()).toEqual(names.toSorted());
    expect(sessionsSince).toBe(40);
    expect(await own(BOB)).toEqual(NO_FACTORS);
    expect(await factors.change(ALICE, () => undefined)).toBeUndefined();
    await factors.remove(ALICE);
  });

  it('MF-14: leave a credential and a handle with the first who claims it', async () => {
    for (const claim of ['claimCredential', 'claimHandle'] as const) {
      const won = await Promise.all([ALICE, BOB].map(async (id) => factors[claim]('one', id)));
      expect(won.filter(Boolean)).toHaveLength(1);
      // Repeats the claim, as after a lost answer.
      expect(await Promise.all([ALICE, BOB].map(async (id) => factors[claim]('one', id)))).toEqual(won);
    }
    expect([ALICE, BOB]).toContain(await factors.ownerOfHandle('one'));
    expect(await factors.ownerOfHandle('other')).toBeUndefined();
    await factors.releaseCredential('one');
    expect(await factors.claimCredential('one', 'usr_carol')).toBe(true);
  });

  it('are gone with all that led to them, and those of others are not', async () => {
    const before = await store.documents.list('factor-owners');
    for (const id of [ALICE, BOB]) {
      await factors.claimHandle(`handle of ${id}`, id);
      await factors.claimCredential(`key of ${id}`, id);
      await factors.change(id, () => ({ handle: `handle of ${id}`, passkeys: [passkey(`key of ${id}`)] }));
    }
    expect([...(await factors.list()).keys()].toSorted()).toEqual([ALICE, BOB]);
    await factors.remove(ALICE);
    expect([...(await factors.list()).keys()]).toEqual([BOB]);
    expect(await factors.ownerOfHandle(`handle of ${ALICE}`)).toBeUndefined();
    expect(await factors.ownerOfHandle(`handle of ${BOB}`)).toBe(BOB);
    await factors.remove(BOB);
    expect(await store.documents.list('factor-owners')).toHaveLength(before.length);
    expect(await store.documents.list('factors')).toEqual([]);
  });

  it('RD-33: keep what a newer version added, and are not read in a form that only it knows', async () => {
    await store.documents.put('factors', ALICE, JSON.stringify({ v: 1, newer: ['member'] }), 0);
    await factors.change(ALICE, () => ({ graceFrom: 7 }));
    const kept = await store.documents.get('factors', ALICE);
    expect(JSON.parse(kept?.value ?? '')).toMatchObject({ v: 1, newer: ['member'], graceFrom: 7 });
    for (const value of ['{"v":2}', 'no JSON']) {
      const version = (await store.documents.get('factors', ALICE))?.version ?? 0;
      await store.documents.put('factors', ALICE, value, version);
      await expect(own(ALICE)).rejects.toThrow(StoreUnavailable);
      await expect(factors.change(ALICE, () => NO_FACTORS)).rejects.toThrow(StoreUnavailable);
      expect((await store.documents.get('factors', ALICE))?.value).toBe(value);
    }
    const { version = 0 } = (await store.documents.get('factors', ALICE)) ?? {};
    await store.documents.remove('factors', ALICE, version);
  });

  describe('a code', () => {
    const isOn = { oneTimeCodes: true, recoveryCodes: true };
    /** Proves a code, with the write that uses it up. */
    const prove = (code: TypedCode, now = () => NOW) =>
      untilUnchanged(async () => {
        const proved = await createProveCode({ factors, codes, hash, now, isOn })(code);
        if (proved === undefined || !('spends' in proved)) return proved;
        const { collection, id, value, expectedVersion } = proved.spends;
        if (!(await store.documents.put(collection, id, value, expectedVersion))) throw new DocumentChanged();
        return proved;
      });
    const enrol = async (recovery: readonly string[] = []) => {
      const secret = randomBytes(20);
      const totp = new TOTP({ secret: new Secret({ buffer: new Uint8Array(secret).buffer }) });
      await factors.remove(ALICE);
      await factors.change(ALICE, () => ({
        oneTimeCode: { sealed: vault.seal(secret, sealedFor(ALICE)), lastStep: 0, createdAt: 0 },
        recoveryCodes: recovery.map((code) => recoveryCodeHash(hash, ALICE, code)),
      }));
      return (step: number) => totp.generate({ timestamp: (STEP + step) * 30_000 });
    };
    const oneTime = (typed: string) => ({ accountId: ALICE, method: 'one_time_code', typed }) as const;
    const recovery = (typed: string) => ({ accountId: ALICE, method: 'recovery_code', typed }) as const;

    it('F1-07: works after a clock was ahead by hours and is right, and none that was used works again', async () => {
      const codeAt = await enrol();
      let at = NOW;
      const use = (step: number) => prove(oneTime(codeAt(step)), () => at);
      const stepsOf = 30_000;
      expect(await use(0)).toBeDefined();
      at = NOW + 400 * stepsOf;
      for (const step of [400, 401]) expect(await use(step)).toBeDefined();
      at = NOW;
      expect(await use(0)).toBeUndefined();
      expect(await use(1)).toBeDefined();
      at = NOW + 400 * stepsOf;
      expect(await use(400)).toBeUndefined();
      expect(await use(399)).toBeUndefined();
      at += 2 * stepsOf;
      expect(await use(401)).toBeUndefined();
      expect(await use(402)).toBeDefined();
    });

    it('F1-13: is looked at no more after 80 wrong ones in a row, or 100 in a trusted browser, until a recovery code', async () => {
      const [code, trusted] = [newRecoveryCode(), { isTrusted: true }];
      const codeAt = await enrol([code]);
      const guess = (more = {}) => prove({ ...oneTime('12'), ...more });
      const told = async (tries: number, more = {}) =>
        (await Promise.all(Array.from({ length: tries }, () => guess(more)))).filter(
          (failed) => failed !== undefined && 'isNews' in failed && failed.isNews,
        );
      expect(await told(90)).toMatchObject([
        { failures: 5, isLocked: false },
        { failures: 25, isLocked: false },
        { failures: 80, isLocked: true },
      ]);
      const locked = { failures: 80, isLocked: true, isNews: false };
      expect(await prove(oneTime(codeAt(0)))).toEqual(locked);
      expect((await own(ALICE)).oneTimeCode).toMatchObject({ failures: 80, lastStep: 0 });
      expect((await own(ALICE)).notices.map(({ what }) => what)).toEqual(['codes_failed', 'codes_failed']);
      expect(await told(15, trusted)).toEqual([]);
      expect(await prove({ ...oneTime(codeAt(0)), ...trusted })).toMatchObject({ proof: 'one_time_code' });
      expect(await guess()).toBeUndefined();
      await factors.change(ALICE, ({ oneTimeCode }) => ({
        oneTimeCode: oneTimeCode && { ...oneTimeCode, failures: 99 },
      }));
      expect(await told(2, trusted)).toMatchObject([{ failures: 100, isLocked: true }]);
      expect(await prove({ ...oneTime(codeAt(1)), ...trusted })).toMatchObject({ isLocked: true });
      expect(await prove(recovery(code))).toMatchObject({ proof: 'recovery_code' });
      expect(await prove(oneTime(codeAt(1)))).toMatchObject({ proof: 'one_time_code' });
    });

    it('is wrong where its method is off or the person has none', async () => {
      const code = newRecoveryCode();
      const codeAt = await enrol([code]);
      const off = createProveCode({
        factors,
        codes,
        hash,
        now: () => NOW,
        isOn: { oneTimeCodes: false, recoveryCodes: false },
      });
      for (const typed of [oneTime(codeAt(0)), recovery(code)]) expect(await off(typed)).toBeUndefined();
      expect(await prove({ ...oneTime(codeAt(0)), accountId: BOB })).toBeUndefined();
      expect(await prove(recovery(code))).toBeDefined();
    });
  });
});
