// The pages and their assets of one service, from the same folders, and what keeps them as the folders are. Owns that
// both are read together: a page never names an asset of another time.
import type { Branding } from '../config/config.ts';
import { createAssets, type Assets } from './assets.ts';
import { createPages, type Pages, type ViewProblem } from './pages.ts';
import { watchViews, type ViewWatch } from './view-watch.ts';

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
  let watching: ViewWatch | undefined;
  const assets = createAssets(parts);
  const pages = createPages({
    ...parts,
    assetUrl: (name) => `${issuer}/${assets.url(name)}`,
    hasAsset: (name) => assets.has(name),
    onProblem,
  });

  function reload(): void {
    try {
      assets.reload(settings);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      onProblem({ file: settings.overrideFolder ?? '', message, cause });
    }
    pages.reload(settings);
    onReload?.();
  }

  async function watch(): Promise<void> {
    if (settings.overrideFolder !== undefined) watching = await watchViews(settings.overrideFolder, reload);
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
