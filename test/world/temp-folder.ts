// Folders that tests write to.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new folder, removed after all tests of a block and their hooks. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file and creates its folders. */
export function putFile(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A folder for configuration files; the store is beside it unless a file names another one. */
export function configFolder() {
  const folder = path.join(tempFolder(), 'config');
  mkdirSync(folder);
  return {
    folder,
    /** Writes a file, and returns its path. */
    file: (name: string, content: string): string => {
      writeFileSync(path.join(folder, name), content);
      return path.join(folder, name);
    },
  };
}

/** A new folder for the current or next test, removed after that test and its hooks. */
export function testFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
