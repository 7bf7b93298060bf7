// Hears that something happened in the folders of a configuration. Owns the library that listens; events are hints
// only, because no file system reports everything (network drives report nothing): snapshot.ts decides what changed.
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { watch } from 'chokidar';
import type { ConfigSources } from './config.ts';

export interface FolderEvents {
  /** Listens in the folders of these sources, and in no other. */
  follow(sources: ConfigSources): Promise<void>;
  close(): Promise<void>;
}

export function createFolderEvents(onEvent: () => void): FolderEvents {
  /** Folder -> which folder it is, so that a new one of the same name is listened to afresh. */
  const followed = new Map<string, string>();
  // Only the folders: an event of a folder tells of the files in it, and thousands of files need no handle each.
  const watcher = watch([], { depth: 0, ignoreInitial: true, ignored: (path) => !followed.has(path) });
  watcher.on('raw', onEvent);
  watcher.on('all', onEvent);
  // A folder that can't be listened to is still looked at from time to time.
  watcher.on('error', onEvent);

  return {
    async follow(sources) {
      const wanted = await foldersOf(sources);
      for (const [folder, identity] of followed) {
        if (wanted.get(folder) === identity) continue;
        followed.delete(folder);
        watcher.unwatch(folder);
      }
      for (const [folder, identity] of wanted) {
        if (followed.has(folder)) continue;
        followed.set(folder, identity);
        watcher.add(folder);
      }
    },
    async close() {
      await watcher.close();
    },
  };
}

/** Where a name may change its meaning: the folder of each file, that of each file's target, and those of patterns. */
async function foldersOf({ files, patterns }: ConfigSources): Promise<Map<string, string>> {
  const names = new Set(patterns.map(fixedPart));
  await Promise.all(
    files.map(async (file) => {
      names.add(dirname(file));
      const target = await realpath(file).catch(() => file);
      names.add(dirname(target));
    }),
  );
  const folders = new Map<string, string>();
  for (const name of names) {
    const found = await stat(name).catch(() => undefined);
    if (found?.isDirectory()) folders.set(name, `${found.dev} ${found.ino}`);
  }
  return folders;
}

/** `/etc/postern/clients.d` of `/etc/postern/clients.d/*.yaml`. */
function fixedPart(pattern: string): string {
  const before = pattern.slice(0, pattern.search(/[*?[{]/));
  return before.endsWith('/') ? before.slice(0, -1) || '/' : dirname(before);
}
