// Which pages a user has of their own: those of the features that are on, and the one for second factors.
import type { Config } from '../config/config.ts';
import { ACCOUNT_PATH, FACTORS_PATH } from '../config/endpoint-rows.ts';
import { DEVICE_PATH } from '../config/endpoints.ts';
import type { PageParts } from '../features/page-parts.ts';
import { accountPage } from './account-routes.ts';
import { factorsPage } from './factors-routes.ts';
import type { Host } from './host.ts';
import { callbackOf, type Route } from './own-page.ts';

/** Where the own client comes back to; none where there are no such pages. */
export function ownCallbacksOf(config: Pick<Config, 'account' | 'signIn' | 'features'>): readonly string[] {
  const { account, signIn, features } = config;
  const pages = [account && ACCOUNT_PATH, signIn && FACTORS_PATH, features.deviceFlow && DEVICE_PATH];
  return pages.filter((path) => typeof path === 'string').map(callbackOf);
}

export function ownPages(host: Host, features: readonly PageParts[]): readonly Route[] {
  const sections = features.flatMap((one) => one.sections?.(host) ?? []);
  const routes = features.flatMap((one) => one.routes?.(host, sections) ?? []);
  const factors = host.second && factorsPage(host, host.second);
  const account = host.account && accountPage(host, host.account);
  return [...routes, account, factors].filter((one) => one !== undefined);
}
