// A file that answers late, and one that never does.
import { stat } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { mayHang, statInTime } from '../../../src/config/regular-file.ts';

vi.mock(import('node:fs/promises'), async (original) => ({ ...(await original()), stat: vi.fn() }));

it('F1-28: what answered in the end holds up no end of the process', async () => {
  const answer = Promise.withResolvers<never>();
  vi.mocked(stat).mockReturnValue(answer.promise);
  await expect(statInTime('/slow/file')).rejects.toThrow('did not answer within a second');
  expect(mayHang()).toBe(true);
  answer.reject(new Error('ENOENT'));
  await expect.poll(mayHang).toBe(false);
});
