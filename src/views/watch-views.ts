// Follows the operator's folder of views.
import { type FileWatch, watchFiles } from '../config/file-watch.ts';
import { listViewFiles } from './view-files.ts';

type ViewsWatchParts = Readonly<{
  /** Not awaited, because it may itself close the watch. */
  onChange: () => Promise<void>;
  onError: (error: unknown) => void;
}>;

/** An editor writes a file in several steps, and a copied folder comes file by file. */
const SETTLE_MS = 150;

export function createViewsWatch({ onChange, onError }: ViewsWatchParts) {
  let followed: string | undefined;
  let watch: FileWatch | undefined;

  const begin = (folder: string, readAt: number) =>
    watchFiles({
      list: async () => filesIn(folder),
      readAt,
      read: async () => async () => {
        onChange().catch(onError);
        return 'changed';
      },
      onError,
      settleMs: SETTLE_MS,
    });

  return {
    /** From now on this folder, which need not exist yet. `readAt`: when its files were read, in epoch milliseconds. */
    async follow(folder: string | undefined, readAt: number) {
      if (folder === followed) return;
      await watch?.stop();
      watch = folder === undefined ? undefined : await begin(folder, readAt);
      followed = folder;
    },
    async stop() {
      await watch?.stop();
    },
  };
}

/** Undefined if the folder can't be read, which loading the pages reports. */
function filesIn(folder: string): string[] {
  try {
    return [...listViewFiles(folder).values()];
  } catch {
    return [];
  }
}
