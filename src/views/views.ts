// The pages of a service and the assets that they use, read from the same folders at the same time.
import { createAssets } from './assets.ts';
import { createPages, type ViewProblem } from './pages.ts';
import type { ViewsSettings } from './view-files.ts';

type ViewsParts = ViewsSettings & {
  /** Prefix of the assets' URLs. */
  readonly issuer: string;
  readonly onProblem: (problem: ViewProblem) => void;
};

export type Views = ReturnType<typeof createViews>;

/** Reads everything now. Throws when a built-in view is broken or an asset can't be read. */
export function createViews({ issuer, onProblem, ...settings }: ViewsParts) {
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
  return {
    pages,
    assets,
    /** Number of faults found in the administrator's files. */
    faultCount: () => faultCount,
  };
}
