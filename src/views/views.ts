// The pages of a service and the assets they name, read from the same folders at the same time.
import { createAssets, type Assets } from './assets.ts';
import { createPages, type Pages, type ViewProblem } from './pages.ts';
import type { ViewsSettings } from './view-files.ts';

type ViewsParts = ViewsSettings & {
  /** Prefix of the assets' URLs. */
  readonly issuer: string;
  readonly onProblem: (problem: ViewProblem) => void;
};

export type Views = Readonly<{
  pages: Pages;
  assets: Assets;
  /** How many faults of the operator's files were found. */
  faultCount: () => number;
  /** The views as the files are now. Throws when an asset can't be read. */
  reloaded: (settings: ViewsSettings) => Views;
}>;

/** Reads everything now. Throws when the built-in views aren't whole. */
export function createViews({ issuer, onProblem, ...settings }: ViewsParts): Views {
  let faultCount = 0;
  const assets = createAssets(settings);
  const pages = createPages({
    ...settings,
    assetUrl: (name) => `${issuer}/${assets.url(name)}`,
    hasAsset: (name) => assets.has(name),
    onProblem(problem) {
      faultCount += 1;
      onProblem(problem);
    },
  });
  const reloaded = (changed: ViewsSettings) => createViews({ ...changed, issuer, onProblem });
  return { pages, assets, faultCount: () => faultCount, reloaded };
}
