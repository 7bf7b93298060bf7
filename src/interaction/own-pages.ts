// Which pages a person has of their own: /account, and the one for second factors, which is below it where both are on.
import type { Middleware } from 'koa';
import type { Config } from '../config/config.ts';
import { ACCOUNT_FACTORS_PATH, ACCOUNT_PATH, FACTORS_PATH } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';
import { accountRoutes, type AccountRoutesParts } from './account-routes.ts';
import { factorsRoutes, type FactorsRoutesParts } from './factors-routes.ts';
import { seeOther } from './go-on.ts';
import { callbackOf } from './own-page.ts';

type On = Pick<Config, 'account' | 'signIn'>;

const factorsPathOf = ({ account }: On) => (account ? ACCOUNT_FACTORS_PATH : FACTORS_PATH);

/** Where the own client comes back to; none where there are no such pages. */
export function ownCallbacksOf(config: On): readonly string[] {
  const paths = [
    ...(config.account ? [ACCOUNT_PATH] : []),
    ...(config.signIn ? [factorsPathOf(config)] : []),
  ];
  return paths.map(callbackOf);
}

/** Each of them undefined where it is off. */
export type OwnPagesParts = {
  readonly config: On & Pick<Config, 'issuer'>;
  readonly account: AccountRoutesParts | undefined;
  readonly factors: FactorsRoutesParts | undefined;
};

export function ownPages({ config, account, factors }: OwnPagesParts): Middleware {
  const factorsPath = factorsPathOf(config);
  const ofFactors = factors && factorsRoutes(factors, factorsPath);
  const ofAccount = account && accountRoutes(account);

  return (ctx, next) => {
    if (ofFactors !== undefined && ctx.path.startsWith(factorsPath)) return ofFactors(ctx, next);
    // Links and pages from before it moved.
    if (ofFactors !== undefined && ctx.path.startsWith(FACTORS_PATH)) {
      return seeOther(ctx, `${config.issuer}${factorsPath}`);
    }
    const isAccount = ctx.path.startsWith(ACCOUNT_PATH) && !ctx.path.startsWith(ACCOUNT_FACTORS_PATH);
    if (ofAccount === undefined || !isAccount) throw new Refusal(404, 'not_found');
    return ofAccount(ctx, next);
  };
}
