// The pages and their assets of one service, from the same folders. Both are read together, so a page never names an
// asset of another time.
import path from 'node:path';
import type { Branding } from '../config/config.ts';
import { type FileWatch, watchFiles } from '../config/file-watch.ts';
import { createAssets, type Assets } from './assets.ts';
import { createPages, type Pages, type ViewProblem } from './pages.ts';
import { listViewFiles } from './view-files.ts';

/** What a new configuration may change. */
export type ViewsSettings = {
  readonly overrideFolder?: string | undefined;
  readonly branding: Branding;
};

export type ViewsParts = ViewsSettings & {
  readonly builtInFolder: string;
  /** Prefix of the assets' URLs. */
  readonly issuer: string;
  readonly onProblem: (problem: ViewProblem) => void;
  /** The operator's files were read again while running. */
  readonly onReload?: () => void;
};

/** An editor writes a file in several steps, and a copied folder comes file by file. */
const SETTLE_MS = 150;
const FOLDERS = ['.', 'partials', 'locales', 'assets'];

export interface Views {
  readonly pages: Pages;
  readonly assets: Assets;
  /** Follows the operator's folder from now on. */
  watch(): Promise<void>;
  /** Takes over another folder or another branding. */
  configure(settings: ViewsSettings): Promise<void>;
  stop(): Promise<void>;
}

export function createViews({ issuer, onProblem, onReload, ...parts }: ViewsParts): Views {
  let settings: ViewsSettings = parts;
  let watching: FileWatch | undefined;
  let readAt = Date.now();
  const assets = createAssets(parts);
  const pages = createPages({
    ...parts,
    assetUrl: (name) => `${issuer}/${assets.url(name)}`,
    hasAsset: (name) => assets.has(name),
    onProblem,
  });

  function reload(): void {
    readAt = Date.now();
    try {
      assets.reload(settings);
    } catch (cause) {
      reportFailure(cause);
    }
    pages.reload(settings);
    onReload?.();
  }

  function reportFailure(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    onProblem({ file: settings.overrideFolder ?? '', message, cause });
  }

  async function watch(): Promise<void> {
    const folder = settings.overrideFolder;
    if (folder === undefined) return;
    watching = await watchFiles({
      list: async () => ({
        files: filesIn(folder),
        folders: FOLDERS.map((name) => path.join(folder, name)),
      }),
      readAt,
      read: async () => async () => {
        reload();
        return 'changed';
      },
      onError: reportFailure,
      settleMs: SETTLE_MS,
    });
  }

  async function stop(): Promise<void> {
    await watching?.stop();
    watching = undefined;
  }

  return {
    pages,
    assets,
    watch,
    async configure(next) {
      const isWatching = watching !== undefined || settings.overrideFolder === undefined;
      await stop();
      settings = next;
      reload();
      if (isWatching) await watch();
    },
    stop,
  };
}

/** None where the folder can't be read: reading the pages says so. */
function filesIn(folder: string): string[] {
  try {
    return [...listViewFiles(folder).values()];
  } catch {
    return [];
  }
}
