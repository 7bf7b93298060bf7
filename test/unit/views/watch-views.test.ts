import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MACHINE_MS } from '../../world/clock.ts';
import { createViewsWatch } from '../../../src/views/watch-views.ts';

it('views that changed after they were read and before they are watched are read again, once', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-views-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const readAt = Date.now();
  mkdirSync(path.join(folder, 'locales'));
  writeFileSync(path.join(folder, 'locales/en.json'), '{"login.title": "Welcome"}\n');
  // Longer than a tick of the file system's clock.
  await delay(200);
  const onChange = vi.fn(async () => undefined);
  const watch = createViewsWatch({ onChange, onError: (error) => expect.fail(String(error)) });
  onTestFinished(() => watch.stop());
  await watch.follow(folder, readAt);
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledOnce(), 4000 + MACHINE_MS);
  await delay(1000);
  expect(onChange).toHaveBeenCalledOnce();
});
