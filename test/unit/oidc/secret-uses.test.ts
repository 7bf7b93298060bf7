import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Client, ClientSecret } from '../../../src/config/config.ts';
import { secretId } from '../../../src/config/secret-strength.ts';
import { createSecretUses, readSecretUses } from '../../../src/oidc/secret-uses.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { testFolder } from '../../world/temp-folder.ts';

const client = { clientId: 'web' } as Client;
const secret: ClientSecret = { digest: Buffer.alloc(32, 1) };

describe('the last use of a client secret', () => {
  let folder: string;
  let store: Store;
  let at: number;
  beforeEach(async () => {
    folder = testFolder();
    at = 1_800_000_000_000;
    store = await openLmdb({ folder, now: () => at });
  });
  afterEach(() => store.close());

  it('is written in the background and read by those who list clients', async () => {
    const uses = createSecretUses(store.documents, () => at);
    uses.note(client, secret);
    expect((await readSecretUses(store.documents))('web', secretId(secret))).toBeUndefined();
    await uses.flush();
    expect((await readSecretUses(store.documents))('web', secretId(secret))).toBe(1_800_000_000);
    await uses.stop();
  });

  it('is written anew when it is ten minutes old, or the process ends', async () => {
    const uses = createSecretUses(store.documents, () => at);
    const written = async () => (await readSecretUses(store.documents))('web', secretId(secret));
    for (const [seconds, expected] of [
      [0, 1_800_000_000],
      [599, 1_800_000_000],
      [1, 1_800_000_600],
      [30, 1_800_000_600],
    ] as const) {
      at += seconds * 1000;
      uses.note(client, secret);
      await uses.flush();
      expect(await written()).toBe(expected);
    }
    await uses.stop();
    expect(await written()).toBe(1_800_000_630);
  });

  it('never goes back, whichever process writes last', async () => {
    const [behind, ahead] = [
      createSecretUses(store.documents, () => at),
      createSecretUses(store.documents, () => at),
    ];
    behind.note(client, secret);
    at += 90_000;
    ahead.note(client, secret);
    await ahead.stop();
    await behind.stop();
    expect((await readSecretUses(store.documents))('web', secretId(secret))).toBe(1_800_000_090);
  });

  it('is kept for the next turn when the store is away', async () => {
    let away = true;
    const documents = {
      ...store.documents,
      get: (...args: Parameters<typeof store.documents.get>) =>
        away ? Promise.reject(new Error('away')) : store.documents.get(...args),
    };
    const uses = createSecretUses(documents, () => at);
    uses.note(client, secret);
    await uses.flush();
    away = false;
    await uses.stop();
    expect((await readSecretUses(store.documents))('web', secretId(secret))).toBe(1_800_000_000);
  });
});
