import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Log } from '../../../src/observability/log.ts';
import { reportAbsences } from '../../../src/server/crash.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date', 'setInterval'] }));
afterEach(() => vi.useRealTimers());

it('says for how long a process was away, once, and nothing of a process that runs', () => {
  const warn = vi.fn();
  reportAbsences({ warn } as unknown as Log);
  vi.advanceTimersByTime(60_000);
  expect(warn).not.toHaveBeenCalled();
  vi.setSystemTime(Date.now() + 11_000);
  vi.advanceTimersByTime(60_000);
  expect(warn).toHaveBeenCalledExactlyOnceWith({ awaySeconds: 12 }, expect.stringContaining('did not run'));
});
