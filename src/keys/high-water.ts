// The highest generation of the key ring that this machine has seen, on its own disk. Owns that one number: an old backup
// of the store is genuine in every byte, and only something outside the store can tell that it is old.
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface HighWater {
  /** Undefined when nothing was seen yet. */
  read(): Promise<number | undefined>;
  /** Resolves when it is durable. */
  write(generation: number): Promise<void>;
}

/** Keeps the number in the file at `path`, whose folder exists. Throws when the file holds anything but a number. */
export function createFileHighWater(path: string): HighWater {
  return {
    async read() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw error;
      }
      if (!/^\d{1,15}\n$/.test(text)) throw new Error(`${path} does not hold a generation number`);
      return Number(text);
    },
    async write(generation) {
      // A unique name: the workers of one machine share this file.
      const draft = `${path}.${process.pid}`;
      const file = await open(draft, 'w', 0o600);
      try {
        await file.writeFile(`${generation}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
      const folder = await open(dirname(path), 'r');
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    },
  };
}
