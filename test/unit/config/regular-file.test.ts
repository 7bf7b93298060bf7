// A file that answers late.
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';
import { mayHang, statInTime } from '../../../src/config/regular-file.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('F1-28: what answered in the end holds up no end of the process', async () => {
  const answer = Promise.withResolvers<never>();
  vi.spyOn(promises, 'stat').mockReturnValueOnce(answer.promise);
  syncBuiltinESMExports();
  await expect(statInTime('/slow/file')).rejects.toThrow('could not be read within a second');
  expect(mayHang()).toBe(true);
  answer.reject(new Error('ENOENT'));
  await expect.poll(mayHang).toBe(false);
});
