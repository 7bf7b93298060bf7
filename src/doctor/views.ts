// The result of `postern views check`.
import type { Config } from '../config/config.ts';
import { BUILT_IN_FOLDER } from '../views/view-files.ts';
import { checkViews } from '../views/view-check.ts';
import type { ReportFault } from './check.ts';

/** The service goes on with the last good form of what is broken, so nobody else says it. */
export async function checkOwnViews({ viewsFolder, branding }: Config, report: ReportFault) {
  if (viewsFolder === undefined) return undefined;
  const settings = { builtInFolder: BUILT_IN_FOLDER, overrideFolder: viewsFolder, branding };
  for (const { file, line, message, severity } of checkViews(settings)) {
    const place = line === undefined ? file : `${file}:${line}`;
    report('views-broken', `${place}: ${message}`, severity === 'error' ? 'problem' : 'warning');
  }
  return `${viewsFolder} is in order`;
}
