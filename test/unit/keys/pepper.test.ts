import { describe, expect, it } from 'vitest';
import { rewrapPepper } from '../../../src/keys/installation.ts';
import { Vault, toKekId } from '../../../src/keys/vault.ts';
import { createWorld, kek, type World } from './keys.fixture.ts';

async function pepperOf(world: World, keks?: readonly Buffer[]): Promise<Buffer> {
  const keyStore = world.process(keks && { vault: new Vault(keks) });
  await keyStore.ensure();
  return keyStore.pepper;
}

describe('the pepper', () => {
  it('is 32 bytes, made once, the same for everybody who starts at once', async () => {
    const world = createWorld();
    const peppers = await Promise.all([1, 2, 3].map(() => pepperOf(world)));
    const later = await pepperOf(world);
    expect(later).toHaveLength(32);
    for (const pepper of peppers) expect(pepper.equals(later)).toBe(true);
  });

  it('KY-18: is not in the store in the clear', async () => {
    const world = createWorld();
    const pepper = await pepperOf(world);
    const value = world.documents.peek('keys', 'pepper')?.value ?? '';
    expect(value).not.toContain(pepper.toString('base64url'));
    expect(value).not.toContain(pepper.toString('hex'));
  });

  it("KY-15: is never made anew because it can't be opened", async () => {
    const [lost, fresh] = [kek(), kek()];
    const world = createWorld([lost]);
    await pepperOf(world);
    const { value = '' } = world.documents.peek('keys', 'pepper') ?? {};
    world.documents.force('keys', 'pepper', value.replace(toKekId(lost), toKekId(fresh)), 1);
    await expect(pepperOf(world)).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining(toKekId(fresh)),
    });
    world.documents.force('keys', 'pepper', '', 1);
    await expect(pepperOf(world)).rejects.toMatchObject({ code: 'tampered' });
    expect(world.documents.peek('keys', 'pepper')?.value).toBe('');
  });

  it('KY-17: stays the same under a new encryption key', async () => {
    const [old, fresh] = [kek(), kek()];
    const world = createWorld([old]);
    const pepper = await pepperOf(world);
    const both = new Vault([fresh, old]);
    expect(await rewrapPepper(world.documents, both)).toBe(true);
    expect(await rewrapPepper(world.documents, both)).toBe(false);
    expect((await pepperOf(world, [fresh, old])).equals(pepper)).toBe(true);
  });
});
