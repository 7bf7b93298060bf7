import { expect, it } from 'vitest';
import { toKekId } from '../../../src/keys/vault.ts';
import { createWorld, kek } from './keys.fixture.ts';

it("KY-15: the pepper is never made anew because it can't be opened", async () => {
  const [lost, fresh] = [kek(), kek()];
  const world = createWorld([lost]);
  await world.process().ensure();
  const { value = '' } = world.documents.peek('keys', 'pepper') ?? {};
  world.documents.force('keys', 'pepper', value.replace(toKekId(lost), toKekId(fresh)), 1);
  await expect(world.process().ensure()).rejects.toMatchObject({
    code: 'unreadable',
    message: expect.stringContaining(toKekId(fresh)),
  });
  world.documents.force('keys', 'pepper', '', 1);
  await expect(world.process().ensure()).rejects.toMatchObject({ code: 'tampered' });
  expect(world.documents.peek('keys', 'pepper')?.value).toBe('');
});
