// Passkeys and second factors, if the file has sign_in.
import { FACTORS_PATH } from '../../config/endpoint-rows.ts';
import type { App } from '../../oidc/app.ts';
import type { PageParts } from '../page-parts.ts';
import { factorsPage } from './factors-routes.ts';
import { firstFactor } from './first-factor.ts';
import { methodsSection } from './methods-section.ts';
import { secondFactorsOf } from './second-factors.ts';
import { passkeyWay } from './passkey-sign-in.ts';
import { addSecondStepRoutes } from './second-step-routes.ts';
import { createSignInPolicy } from './sign-in-level.ts';

export function open(app: App): PageParts {
  const { config, levels } = app;
  const { signIn } = config;
  // Neither is undefined while the feature is on.
  if (signIn === undefined || levels === undefined) return { guard: { isPlain: () => true } };
  const second = secondFactorsOf(app, signIn);
  return {
    ...createSignInPolicy({ ...app, signIn, levels }),
    ways: (host) => passkeyWay(host, second.passkeys),
    firstFactor: (host) => firstFactor(host, second),
    pending: (host, pages) => addSecondStepRoutes(host, second, pages),
    sections: () => [methodsSection(signIn, `${app.issuer}${FACTORS_PATH}`)],
    routes: (host) => [factorsPage(host, second)],
  };
}
