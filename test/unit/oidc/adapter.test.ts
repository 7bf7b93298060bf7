import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { errors } from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdapterParts, createAdapter } from '../../../src/oidc/adapter.ts';
import { recordKey } from '../../../src/oidc/record-key.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import type { NewRecord, RecordStore, Store } from '../../../src/store/store.ts';
import { createUnitOfWork } from '../../../src/store/unit-of-work.ts';

const hash = createKeyedHash(Buffer.alloc(32, 3));
const newId = () => randomBytes(32).toString('base64url');
let folder: string;
let store: Store;
let parts: AdapterParts;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-adapter-'));
  store = await openLmdb({ folder, now: () => Date.now() });
  const records = createUnitOfWork(store, Date.now);
  parts = {
    records,
    hash,
    accounts: { findLive: () => Promise.resolve(undefined) },
    clock: store.clock,
    tombstoneSeconds: 3600,
    onDamaged: () => undefined,
  };
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const stored = async (model: string, id: string) =>
  (await store.records.find(model, recordKey(hash, model, id)))?.payload ?? '';

describe('a stored record', () => {
  it.each([
    ['AccessToken', (id: string) => ({ jti: id, grantId: 'g', clientId: 'web', kind: 'AccessToken' })],
    ['AuthorizationCode', (id: string) => ({ jti: id, grantId: 'g', codeChallenge: 'c' })],
    ['RefreshToken', (id: string) => ({ jti: id, grantId: 'g', rotations: 1 })],
    ['Session', (id: string) => ({ jti: id, uid: `uid-${id.slice(0, 4)}`, accountId: 'usr_1' })],
    [
      'Interaction',
      (id: string) => ({
        jti: id,
        returnTo: `https://id.example/oauth/authorize/${id}`,
        session: { cookie: `cookie-of-the-browser-${id.slice(0, 8)}`, uid: 'u', accountId: 'usr_1' },
        params: { client_id: 'web' },
      }),
    ],
    ['Grant', (id: string) => ({ jti: id, accountId: 'usr_1', openid: { scope: 'openid' } })],
  ] as const)(
    'of %s holds no bearer value, and gives all of it back to who knows the id',
    async (model, make) => {
      const adapter = createAdapter(model, parts);
      const id = newId();
      const payload = make(id);
      await adapter.upsert(id, payload, 60);

      const text = await stored(model, id);
      expect(text).toMatch(/^\{"v":1,/);
      expect(text).not.toContain(id);
      expect(text).not.toContain('cookie-of-the-browser');

      const { session, ...rest } = payload as typeof payload & { session?: object };
      expect(await adapter.find(id)).toEqual({
        ...rest,
        ...(session && { session: { uid: 'u', accountId: 'usr_1' } }),
      });
      expect(await adapter.find(newId())).toBeUndefined();
    },
  );

  it('is under a name that is not its id', async () => {
    const id = newId();
    await createAdapter('RefreshToken', parts).upsert(id, { jti: id }, 60);
    expect(await store.records.find('RefreshToken', id)).toBeUndefined();
    expect(recordKey(hash, 'RefreshToken', id)).toMatch(/^[\w-]{43}$/);
    expect(recordKey(hash, 'RefreshToken', id)).not.toBe(recordKey(hash, 'AccessToken', id));
  });

  it('may hold words that look like the mark of its own id, and members of a later version', async () => {
    const id = newId();
    const adapter = createAdapter('Interaction', parts);
    const payload = { jti: id, params: { state: '"\\u0001 \\" é' }, later: { x: [1, null] } };
    await adapter.upsert(id, payload, 60);
    expect(await adapter.find(id)).toEqual(payload);
  });

  it('needs an end: without one it is not stored, and one in its last second is gone', async () => {
    const adapter = createAdapter('Interaction', parts);
    const id = newId();
    await expect(
      adapter.upsert(id, { jti: id, accountId: 'usr_1' }, undefined as unknown as number),
    ).rejects.toThrow(TypeError);
    await adapter.upsert(id, { jti: id, uid: 'u', accountId: 'usr_1' }, 60);
    await adapter.upsert(id, { jti: id, uid: 'u', accountId: 'usr_1' }, 0);
    expect(await adapter.find(id)).toBeUndefined();
  });
});

describe('a session', () => {
  it('is found by its uid, without its id', async () => {
    const adapter = createAdapter('Session', parts);
    const id = newId();
    await adapter.upsert(id, { jti: id, uid: 'uid-1', accountId: 'usr_1' }, 60);
    expect(await adapter.findByUid('uid-1')).toEqual({ uid: 'uid-1', accountId: 'usr_1' });
    expect(await adapter.findByUid('uid-2')).toBeUndefined();
    await adapter.destroy(id);
    expect(await adapter.findByUid('uid-1')).toBeUndefined();
  });
});

describe('a code', () => {
  it('is consumed by one of many, and the others end its grant', async () => {
    const [codes, tokens] = [createAdapter('AuthorizationCode', parts), createAdapter('RefreshToken', parts)];
    const [code, token, grantId] = [newId(), newId(), newId()];
    await codes.upsert(code, { jti: code, grantId }, 60);
    await tokens.upsert(token, { jti: token, grantId }, 60);
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => codes.consume(code)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const rejected = results.filter((result) => result.status === 'rejected');
    expect(rejected).toHaveLength(9);
    for (const { reason } of rejected) expect(reason).toBeInstanceOf(errors.InvalidGrant);
    expect(await tokens.find(token)).toBeUndefined();
    expect(await codes.find(code)).toBeUndefined();
  });

  it('that was consumed says when', async () => {
    const codes = createAdapter('AuthorizationCode', parts);
    const id = newId();
    await codes.upsert(id, { jti: id, grantId: newId() }, 60);
    await codes.consume(id);
    expect((await codes.find(id))?.consumed).toBeTypeOf('number');
  });

  it("that does not exist can't be consumed", async () => {
    await expect(createAdapter('AuthorizationCode', parts).consume(newId())).rejects.toThrow(
      errors.InvalidGrant,
    );
  });
});

describe('a grant', () => {
  it('takes with it what belongs to it, and what is saved for it later', async () => {
    const grantId = newId();
    const models = ['AccessToken', 'AuthorizationCode', 'RefreshToken'] as const;
    const ids = new Map(models.map((model) => [model, newId()]));
    const grants = createAdapter('Grant', parts);
    await grants.upsert(grantId, { jti: grantId, accountId: 'usr_1' }, 60);
    for (const [model, id] of ids) await createAdapter(model, parts).upsert(id, { jti: id, grantId }, 60);
    for (const [model, id] of ids)
      expect(await createAdapter(model, parts).find(id)).toMatchObject({ jti: id });

    await createAdapter('RefreshToken', parts).revokeByGrantId(grantId);
    for (const [model, id] of ids) expect(await createAdapter(model, parts).find(id)).toBeUndefined();
    expect(await grants.find(grantId)).toBeUndefined();

    const late = newId();
    await createAdapter('AccessToken', parts).upsert(late, { jti: late, grantId }, 60);
    expect(await createAdapter('AccessToken', parts).find(late)).toBeUndefined();
  });

  it('that is destroyed is revoked', async () => {
    const [grantId, token] = [newId(), newId()];
    await createAdapter('AccessToken', parts).upsert(token, { jti: token, grantId }, 60);
    await createAdapter('Grant', parts).destroy(grantId);
    expect(await createAdapter('AccessToken', parts).find(token)).toBeUndefined();
  });
});

describe('a session', () => {
  it('that ended stays ended, no matter who saves it later, and a replica is asked for it', async () => {
    const saved: NewRecord[] = [];
    const save: RecordStore['save'] = (record) => {
      saved.push(record);
      return store.records.save(record);
    };
    const records = createUnitOfWork({ ...store, records: { ...store.records, save } }, Date.now);
    const sessions = createAdapter('Session', { ...parts, records });
    const [id, uid] = [newId(), newId()];
    await sessions.upsert(id, { jti: id, uid, accountId: 'usr_1' }, 60);
    await records.run(async () => {
      await sessions.destroy(id);
      expect(await sessions.find(id)).toBeUndefined();
    });
    expect(saved.at(-1)).toMatchObject({ kind: 'Session', isConsumed: true, isConfirmed: true });
    // A request that was in flight saves it at its end.
    await sessions.upsert(id, { jti: id, uid, accountId: 'usr_1' }, 60);
    expect(await sessions.find(id)).toBeUndefined();
    expect(await sessions.findByUid(uid)).toBeUndefined();
  });
});
