// Cases that no request can cause.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdapterParts, createAdapter } from '../../../src/oidc/adapter.ts';
import { recordKey } from '../../../src/oidc/record-payload.ts';
import { createSessionAdapter } from '../../../src/oidc/session-records.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import type { NewRecord, RecordStore, Store } from '../../../src/store/store.ts';
import { createUnitOfWork } from '../../../src/store/unit-of-work.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const hash = createKeyedHash(Buffer.alloc(32, 3));
const newId = () => randomBytes(32).toString('base64url');
const folder = tempFolder();
let store: Store;
let parts: AdapterParts;

beforeAll(async () => {
  store = await openLmdb({ folder, now: () => Date.now() });
  const records = createUnitOfWork(store, Date.now);
  const onDamaged = () => undefined;
  parts = { records, hash, clock: store.clock, tombstoneSeconds: 3600, onDamaged };
});
afterAll(() => store.close());

describe('a stored record', () => {
  it('may hold words that look like the mark of its own id, and members of a later version', async () => {
    const id = newId();
    const adapter = createAdapter('Interaction', parts);
    const params = { state: '"\\u0001 \\\\u007f \u0001 \u007F \\\u007F \\" é' };
    const payload = {
      jti: id,
      iat: 1,
      exp: 61,
      prompt: { name: 'login', reasons: [], details: {} },
      params,
      returnTo: `https://id.example/${id}`,
      later: { x: [1, null] },
    };
    await adapter.upsert(id, payload, 60);
    expect(await adapter.find(id)).toEqual(payload);
    const place = { kind: 'Interaction', key: recordKey(hash, 'Interaction', id) };
    const stored = (await store.records.find(place.kind, place.key))?.payload ?? '';
    expect(JSON.stringify(JSON.parse(stored))).not.toContain(id);
    // The form of an earlier version.
    const old = JSON.stringify({ ...payload, v: 1 }).replaceAll(id, '\u0001');
    await store.records.save({ ...place, payload: old, ttlSeconds: 60 });
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

it('a session that ended stays ended, no matter who saves it later, and a replica is asked for it', async () => {
  const saved: NewRecord[] = [];
  const save: RecordStore['save'] = (record) => {
    saved.push(record);
    return store.records.save(record);
  };
  const records = createUnitOfWork({ ...store, records: { ...store.records, save } }, Date.now);
  const sessions = createSessionAdapter({ ...parts, records });
  const [id, uid] = [newId(), newId()];
  await sessions.upsert(id, { jti: id, uid, accountId: 'usr_1' }, 60);
  await records.run(async () => {
    await sessions.destroy(id);
    expect(await sessions.find(id)).toBeUndefined();
  });
  expect(saved.at(-1)).toMatchObject({ kind: 'Session', isConsumed: true, isConfirmed: true });
  // A request in flight saves it at its end.
  await sessions.upsert(id, { jti: id, uid, accountId: 'usr_1' }, 60);
  expect(await sessions.find(id)).toBeUndefined();
  expect(await sessions.findByUid(uid)).toBeUndefined();
});
