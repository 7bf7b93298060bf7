// What the page where people help themselves is made of, for one application.
import type { Config } from '../config/config.ts';
import { createToAccountModel } from '../interaction/account-model.ts';
import { type ChangePasswordParts, createChangePassword } from '../interaction/change-password.ts';
import { createTell } from '../interaction/tell.ts';
import { createDeviceCookie } from '../interaction/trusted-browser-cookie.ts';
import { createPersonGrants } from '../oidc/person-grants.ts';
import type { Engine } from '../oidc/provider.ts';
import type { Clock } from '../store/store.ts';
import type { Pages } from '../views/pages.ts';
import type { personListsOf } from './person-lists.ts';

type AccountPageParts = Omit<ChangePasswordParts, 'config' | 'cookie'> & {
  readonly now: Clock;
  readonly config: Config;
  readonly lists: ReturnType<typeof personListsOf>;
  readonly engine: Engine;
  readonly pages: Pages;
};

/** Undefined while there is none. */
export function accountPageOf(parts: AccountPageParts) {
  const { config, engine, pages, lists, now } = parts;
  if (!config.account || lists === undefined) return undefined;
  const { index, sessions: personSessions } = lists;
  const grants = createPersonGrants({ ...lists.parts, consents: engine.consents });
  const { findClient } = engine;
  return {
    personSessions,
    grants,
    tell: createTell(index),
    toModel: createToAccountModel({ config, findClient, personSessions, grants, index, pages, now }),
    changePassword: createChangePassword({ ...parts, cookie: createDeviceCookie(config.issuer) }),
  };
}
