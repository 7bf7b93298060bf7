// Who of the store is shadowed by the file, and what it costs to find out: a start must not read everybody.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { warnOfShadowed } from '../../../src/users/warnings.ts';
import { createPeople } from '../../../src/users/people.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import type { Store } from '../../../src/store/store.ts';

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-warnings-'));
  store = await openLmdb({ folder, now: Date.now });
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const person = (id: string, username: string) => ({
  id,
  username,
  passwordHash: '',
  disabled: false,
  groups: [],
  claims: {},
});

it('a person of the store is found by the name or id of one of the file, without a list of everybody', async () => {
  const calls: string[] = [];
  const people = createPeople({
    ...store.documents,
    get: (collection, id) => (calls.push('get'), store.documents.get(collection, id)),
    list: (collection) => (calls.push('list'), store.documents.list(collection)),
    put: (...document) => store.documents.put(...document),
  });
  for (let index = 0; index < 50; index += 1) await people.add(person(`s${index}`, `Person${index}`));
  calls.length = 0;
  const warned: unknown[] = [];
  const users = [
    person('f1', 'person7'),
    person('s8', 'other'),
    person('s9', 'PERSON9'),
    person('f4', 'new'),
  ];
  await warnOfShadowed(users, people, { warn: (ids: unknown) => void warned.push(ids) });
  expect(warned).toEqual([
    { fileId: 'f1', storeId: 's7' },
    { fileId: 's8', storeId: 's8' },
    { fileId: 's9', storeId: 's9' },
  ]);
  expect(calls).not.toContain('list');
  expect(calls.length).toBeLessThanOrEqual(users.length * 3);
});
