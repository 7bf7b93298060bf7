// Notices that something in the operator's folder of views has changed. Owns when to look; what is read then is up to
// whoever is told.
import { statSync } from 'node:fs';
import { createFolderEvents } from '../config/folder-events.ts';
import { listViewFiles } from './view-files.ts';

export interface ViewWatch {
  /** Resolves when nothing is running any more. */
  stop(): Promise<void>;
}

/** An editor writes a file in several steps, and a copied folder comes file by file. */
const SETTLE_MS = 150;
/** File systems that tell nothing are looked at. */
const LOOK_EVERY_MS = 2000;
const FOLDERS = ['', 'partials/', 'locales/', 'assets/'];

/** Calls `onChange` after each change below `folder`, which need not exist yet. It must not throw. */
export async function watchViews(folder: string, onChange: () => void): Promise<ViewWatch> {
  let seen = signatureOf(folder);
  let settling: NodeJS.Timeout | undefined;

  function look(): void {
    if (settling !== undefined || signatureOf(folder) === seen) return;
    settling = setTimeout(settle, SETTLE_MS, signatureOf(folder)).unref();
  }

  function settle(before: string): void {
    settling = undefined;
    const now = signatureOf(folder);
    if (now !== before) return look();
    seen = now;
    onChange();
    void follow();
  }

  const events = createFolderEvents(look);
  // A pattern for each folder that can hold views: the events know files and patterns only.
  async function follow(): Promise<void> {
    await events.follow({ files: [], patterns: FOLDERS.map((name) => `${folder}/${name}*`) });
  }

  await follow();
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  // What changed before anybody listened.
  look();
  return {
    async stop() {
      clearInterval(timer);
      clearTimeout(settling);
      await events.close();
    },
  };
}

/** Equal for equal files, as far as their names, times and sizes tell. */
function signatureOf(folder: string): string {
  try {
    return [...listViewFiles(folder)]
      .map(([name, file]) => {
        const stat = statSync(file, { throwIfNoEntry: false });
        return stat === undefined ? name : `${name} ${stat.ino} ${stat.size} ${stat.mtimeMs}`;
      })
      .join('\n');
  } catch {
    return 'unreadable';
  }
}
