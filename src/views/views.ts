// The pages of a service and the assets they name, read from the same folders at the same time.
import { createAssets, type Assets } from './assets.ts';
import { createPages, type Pages, type ViewProblem } from './pages.ts';
import type { ViewsSettings } from './view-files.ts';

type ViewsParts = ViewsSettings & {
  /** Prefix of the assets' URLs. */
  readonly issuer: string;
  readonly onProblem: (problem: ViewProblem) => void;
};

export type Views = {
  /** When their files were read, in epoch milliseconds. */
  readonly readAt: number;
  readonly pages: Pages;
  readonly assets: Assets;
  /** How many faults of the operator's files were found since they were last read. */
  readonly faultCount: () => number;
  /** The views as the files are now. What is broken keeps its last good form, and is reported. */
  readonly reloaded: (settings: ViewsSettings) => Views;
};

/** Reads everything now. Throws when the built-in views aren't whole. */
export function createViews({ issuer, onProblem, ...options }: ViewsParts): Views {
  let faultCount = 0;
  function report(problem: ViewProblem): void {
    faultCount += 1;
    onProblem(problem);
  }

  function assetsFor(assets: Assets) {
    return {
      assetUrl: (name: string) => `${issuer}/${assets.url(name)}`,
      hasAsset: (name: string) => assets.has(name),
    };
  }

  function viewsOf(readAt: number, pages: Pages, assets: Assets): Views {
    return {
      readAt,
      pages,
      assets,
      faultCount: () => faultCount,
      reloaded(settings) {
        const now = Date.now();
        faultCount = 0;
        const next = reloadAssets(assets, settings);
        return viewsOf(now, pages.reloaded({ ...settings, ...assetsFor(next) }), next);
      },
    };
  }

  function reloadAssets(assets: Assets, settings: ViewsSettings): Assets {
    try {
      return assets.reloaded(settings);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      report({ file: settings.overrideFolder ?? '', message, cause });
      return assets;
    }
  }

  const readAt = Date.now();
  const assets = createAssets(options);
  return viewsOf(readAt, createPages({ ...options, ...assetsFor(assets), onProblem: report }), assets);
}
