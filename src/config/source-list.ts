// Collects which files a configuration was read from, for watch.ts.
import { resolve } from 'node:path';
import type { ConfigSources } from './config.ts';

export class SourceList {
  readonly #files = new Set<string>();
  readonly #patterns = new Set<string>();

  /** A file that was read or looked for. */
  addFile(file: string): void {
    this.#files.add(resolve(file));
  }

  /** A pattern whose matches were looked for. */
  addPattern(pattern: string): void {
    this.#patterns.add(resolve(pattern));
  }

  list(): ConfigSources {
    return { files: [...this.#files], patterns: [...this.#patterns] };
  }
}
