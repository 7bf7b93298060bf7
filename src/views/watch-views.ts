// Notices a change in the operator's folder of views.
import path from 'node:path';
import { type FileWatch, watchFiles } from '../config/file-watch.ts';
import { listViewFiles } from './view-files.ts';

export type ViewsWatchParts = {
  /** Need not exist yet. */
  readonly folder: string;
  /** When the views that serve were read, in epoch milliseconds. */
  readonly readAt: number;
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
};

/** An editor writes a file in several steps, and a copied folder comes file by file. */
const SETTLE_MS = 150;
const FOLDERS = ['.', 'partials', 'locales', 'assets'];

export function watchViews({ folder, readAt, onChange, onError }: ViewsWatchParts): Promise<FileWatch> {
  return watchFiles({
    list: async () => ({
      files: filesIn(folder),
      folders: FOLDERS.map((name) => path.join(folder, name)),
    }),
    readAt,
    read: async () => async () => {
      onChange();
      return 'changed';
    },
    onError,
    settleMs: SETTLE_MS,
  });
}

/** None where the folder can't be read: reading the pages says so. */
function filesIn(folder: string): string[] {
  try {
    return [...listViewFiles(folder).values()];
  } catch {
    return [];
  }
}
