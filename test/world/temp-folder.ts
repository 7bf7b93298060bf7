// Folders that tests write to.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new one, removed after all tests of a block and all that their hooks do. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The same for the test that runs, or that is about to: it is removed after what follows each test. */
export function testFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
