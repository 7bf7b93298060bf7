// Which pages a user has of their own: those of the features that are on, and the one for second factors.
import type { Config } from '../config/config.ts';
import { FACTORS_PATH } from '../config/endpoint-rows.ts';
import { DEVICE_PATH } from '../config/endpoints.ts';
import type { PageParts } from '../features/page-parts.ts';
import { factorsPage } from './factors-routes.ts';
import type { Host } from './host.ts';
import { callbackOf, type Route } from './own-page.ts';

/** Where the own client comes back to; none where there are no such pages. */
export function ownCallbacksOf(config: Pick<Config, 'signIn' | 'features'>): readonly string[] {
  const { signIn, features } = config;
  const pages = [signIn && FACTORS_PATH, features.deviceFlow && DEVICE_PATH];
  return pages.filter((path) => typeof path === 'string').map(callbackOf);
}

export function ownPages(host: Host, features: readonly PageParts[]): readonly Route[] {
  const sections = features.flatMap((one) => one.sections?.(host) ?? []);
  const { second, config } = host;
  if (second !== undefined)
    sections.push({ fields: async () => ({ factorsUrl: `${config.issuer}${FACTORS_PATH}` }) });
  const routes = features.flatMap((one) => one.routes?.(host, sections) ?? []);
  return second === undefined ? routes : [...routes, factorsPage(host, second)];
}
