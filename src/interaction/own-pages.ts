// Which pages a user has of their own: /account, and the one for second factors below it.
import type { Middleware } from 'koa';
import Router from 'koa-router';
import type { Config } from '../config/config.ts';
import { ACCOUNT_PATH, DEVICE_PATH, FACTORS_PATH } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';
import { addAccountPage } from './account-routes.ts';
import { addFactorsPage } from './factors-routes.ts';
import type { Host } from './host.ts';
import { callbackOf } from './own-page.ts';

/** Where the own client comes back to; none where there are no such pages. */
export function ownCallbacksOf(config: Pick<Config, 'account' | 'signIn' | 'features'>): readonly string[] {
  const { account, signIn, features } = config;
  const pages = [account && ACCOUNT_PATH, signIn && FACTORS_PATH, features.deviceFlow && DEVICE_PATH];
  return pages.filter((path) => typeof path === 'string').map(callbackOf);
}

export function ownPages(host: Host): Middleware {
  const router = new Router();
  if (host.account !== undefined) addAccountPage(router, host, host.account);
  if (host.second !== undefined) addFactorsPage(router, host, host.second);
  const routes = router.routes() as unknown as Middleware;
  return (ctx) =>
    routes(ctx, () => {
      throw new Refusal(404, 'not_found');
    });
}
