// An open interaction as a page. Owns the page models; routes.ts decides which page and when.
import type { Context } from 'koa';
import type { Accounts } from '../accounts/accounts.ts';
import type { Config } from '../config/config.ts';
import type { OpenInteraction } from '../engine/interactions.ts';
import type { LoginModel } from '../pages/models.ts';
import type { Pages } from '../pages/pages.ts';
import type { Clock } from '../store/store.ts';
import type { Csrf } from './csrf.ts';
import { expired } from './expired.ts';
import { toScopeModels } from './scope-words.ts';

export type ShowParts = {
  readonly config: Config;
  readonly accounts: Accounts;
  readonly pages: Pages;
  readonly csrf: Csrf;
  readonly now: Clock;
};

export interface Show {
  login(ctx: Context, interaction: OpenInteraction, shown: Pick<LoginModel, 'username' | 'error'>): void;
  /** Throws Refusal when the person is not available any more. */
  consent(ctx: Context, interaction: OpenInteraction): Promise<void>;
}

const LOCALE = { locale: 'en' };

export function createShow({ config, accounts, pages, csrf, now }: ShowParts): Show {
  function formModel({ uid, client, prompt }: OpenInteraction) {
    const base = `${config.issuer}/interaction/${uid}`;
    return {
      client,
      csrf: csrf.token(uid, prompt),
      action: `${base}/${prompt}`,
      cancelAction: `${base}/cancel`,
    };
  }

  return {
    login(ctx, interaction, shown) {
      html(ctx, pages.render('login', { ...formModel(interaction), ...shown }, LOCALE));
    },

    async consent(ctx, interaction) {
      const { accountId, missing } = interaction;
      const account =
        accountId === undefined ? undefined : await accounts.findLive(accountId, Math.floor(now() / 1000));
      if (account === undefined) throw expired();
      const requested = toScopeModels(missing, config.resources);
      const model = { ...formModel(interaction), ...requested, username: account.username };
      html(ctx, pages.render('consent', model, LOCALE));
    },
  };
}

function html(ctx: Context, body: string): void {
  ctx.type = 'html';
  ctx.body = body;
}
