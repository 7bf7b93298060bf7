import { describe, expect, it } from 'vitest';
import { ensurePepper, rewrapPepper } from '../../../src/keys/pepper.ts';
import { createVault, toKekId } from '../../../src/keys/vault.ts';
import { kek } from './keys.fixture.ts';
import { MemoryDocuments } from './memory-documents.fixture.ts';

describe('the pepper', () => {
  it('is 32 bytes, made once, the same for everybody who starts at once', async () => {
    const documents = new MemoryDocuments();
    const vault = createVault([kek()]);
    const peppers = await Promise.all([1, 2, 3].map(() => ensurePepper(documents, vault)));
    const later = await ensurePepper(documents, vault);
    expect(later).toHaveLength(32);
    for (const pepper of peppers) expect(pepper.equals(later)).toBe(true);
  });

  it('KY-18: is not in the store in the clear', async () => {
    const documents = new MemoryDocuments();
    const pepper = await ensurePepper(documents, createVault([kek()]));
    const value = documents.peek('keys', 'pepper')?.value ?? '';
    expect(value).not.toContain(pepper.toString('base64url'));
    expect(value).not.toContain(pepper.toString('hex'));
  });

  it('KY-15: is never made anew because it can not be opened', async () => {
    const documents = new MemoryDocuments();
    const lost = kek();
    await ensurePepper(documents, createVault([lost]));
    const before = documents.peek('keys', 'pepper');
    await expect(ensurePepper(documents, createVault([kek()]))).rejects.toMatchObject({
      name: 'KeyStoreError',
      code: 'unreadable',
      kekId: toKekId(lost),
    });
    documents.force('keys', 'pepper', '', 1);
    await expect(ensurePepper(documents, createVault([lost]))).rejects.toMatchObject({ code: 'tampered' });
    expect(documents.peek('keys', 'pepper')?.value).toBe('');
    expect(before).toBeDefined();
  });

  it('KY-17: stays the same under a new encryption key', async () => {
    const documents = new MemoryDocuments();
    const [old, fresh] = [kek(), kek()];
    const pepper = await ensurePepper(documents, createVault([old]));
    const both = createVault([fresh, old]);
    expect(await rewrapPepper(documents, both)).toBe(true);
    expect(await rewrapPepper(documents, both)).toBe(false);
    expect((await ensurePepper(documents, createVault([fresh]))).equals(pepper)).toBe(true);
  });
});
