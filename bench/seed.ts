// Live grants and users, written straight into a store before its service starts. The service's own code writes them in their
// real form, without HTTP and in big batches, so that a million takes minutes. A grant is all that a user's sign-in leaves: session,
// grant, access token, refresh token.
import { randomBytes } from 'node:crypto';
import { hash as hashPassword } from '@node-rs/argon2';
import { createStoredUsers } from '../src/users/stored-users.ts';
import type { Config } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load.ts';
import { createAdapter } from '../src/oidc/adapter.ts';
import { openKeys } from '../src/keys/open-keys.ts';
import { createLmdbDocuments } from '../src/store/lmdb/documents.ts';
import { createLmdbIndex } from '../src/store/lmdb/index-entries.ts';
import { createLmdbRecords } from '../src/store/lmdb/records.ts';
import { openFolder } from '../src/store/lmdb/lmdb-store.ts';
import { openStore } from '../src/store/open.ts';
import type { Clock, DocumentStore, IndexStore, RecordStore } from '../src/store/store.ts';
import { createUnitOfWork } from '../src/store/unit-of-work.ts';
import { claimsOf, PASSWORD, personId, personName, RESOURCE, SCOPE } from './names.ts';
import { ENV, FULL_HASH } from './service.ts';

/** Records in one transaction of LMDB: each transaction waits for the disk. */
const AT_ONCE = 4000;
const DAY = 86_400;
const OIDC_SCOPE = 'openid email profile offline_access';

/** Writes grants that were created `ago` milliseconds earlier. */
export async function seedGrants(configFile: string, count: number, ago = 0): Promise<void> {
  const now = () => Date.now() - ago;
  const config = await load(configFile);
  const store = await openStore(config.store);
  const { hash } = await openKeys(config, store);
  await store.close();
  const bulk = await openBulk(config, now);
  const parts = {
    records: createUnitOfWork(bulk, now),
    hash,
    clock: { now, ahead: 0 },
    onDamaged: () => undefined,
    tombstoneSeconds: 90 * DAY,
  };
  const adapters = {
    Session: createAdapter('Session', parts),
    Grant: createAdapter('Grant', parts),
    AccessToken: createAdapter('AccessToken', parts),
    RefreshToken: createAdapter('RefreshToken', parts),
  };
  const save: Save = (model, id, payload, seconds) =>
    adapters[model].upsert(id, { kind: model, jti: id, ...times(now(), seconds), ...payload }, seconds);
  try {
    await inBatches(count, (indexes) =>
      bulk.write(() => indexes.map((index) => seedOne(save, personId(index), now()))),
    );
  } finally {
    await bulk.close();
  }
}

/** Writes users who all have the same password and hash. */
export async function seedPeople(configFile: string, count: number): Promise<void> {
  const bulk = await openBulk(await load(configFile));
  const people = createStoredUsers(bulk);
  const passwordHash = await hashPassword(PASSWORD, FULL_HASH);
  const add = (index: number) =>
    people.add({ id: personId(index), username: personName(index), passwordHash, claims: claimsOf(index) });
  try {
    await inBatches(count, (indexes) => Promise.all(indexes.map(add)));
  } finally {
    await bulk.close();
  }
}

const load = (configFile: string) => loadConfig(configFile, { env: { ...process.env, ...ENV } });

async function inBatches(count: number, write: (indexes: readonly number[]) => Promise<unknown>) {
  for (let start = 0; start < count; start += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - start);
    await write(Array.from({ length: size }, (_, index) => start + index));
  }
}

/** A store for bulk writes: the same records as the service's own store, in fewer transactions. */
type Bulk = {
  readonly records: RecordStore;
  readonly documents: DocumentStore;
  readonly index: IndexStore;
  /** `begin` starts all writes of its records before it returns. */
  write(begin: () => readonly Promise<unknown>[]): Promise<unknown>;
  close(): Promise<unknown>;
};

async function openBulk({ store }: Config, now: Clock = Date.now): Promise<Bulk> {
  if (store.engine !== 'lmdb') throw new TypeError('only lmdb is filled');
  const tables = await openFolder(store.folder);
  return {
    // One transaction for a whole batch, in place of one for each record.
    records: createLmdbRecords({ ...tables, write: async (action) => action() }, now),
    documents: createLmdbDocuments(tables),
    index: createLmdbIndex(tables),
    write: async (begin) => Promise.all(await tables.write(begin)),
    close: () => tables.close(),
  };
}

type Model = 'Session' | 'Grant' | 'AccessToken' | 'RefreshToken';
type Save = (model: Model, id: string, payload: object, seconds: number) => Promise<unknown>;

async function seedOne(save: Save, accountId: string, at: number): Promise<void> {
  const [grantId, session, uid] = [randomId(), randomId(), randomId()];
  const ofUser = { accountId, clientId: 'web', grantId, gty: 'authorization_code', sessionUid: uid };
  const now = Math.floor(at / 1000);
  const scope = `${OIDC_SCOPE} ${SCOPE}`;
  const authorizations = { web: { sid: randomId(), grantId } };
  const granted = { openid: { scope: OIDC_SCOPE }, resources: { [RESOURCE]: SCOPE } };
  const refreshed = { authTime: now, iiat: now, rotations: 0, nonce: randomId() };
  await Promise.all([
    save('Session', session, { uid, accountId, loginTs: now, authorizations }, 14 * DAY),
    save('Grant', grantId, { accountId, clientId: 'web', ...granted }, 14 * DAY),
    // An hour, so that no token expires during the measurement.
    save('AccessToken', randomId(), { ...ofUser, scope, claims: {}, extra: {} }, 3600),
    save('RefreshToken', randomId(), { ...ofUser, scope, ...refreshed }, 14 * DAY),
  ]);
}

function times(now: number, seconds: number) {
  const iat = Math.floor(now / 1000);
  return { iat, exp: iat + seconds };
}

function randomId(): string {
  return randomBytes(32).toString('base64url');
}
