// Shows an open interaction as a page: its model and its language. routes.ts decides which page is shown, and when.
import type { Context } from 'koa';
import type { User } from '../users/user.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import type { LanguageWishes } from '../views/locale.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages } from '../views/pages.ts';
import { toDocumentModel } from './document-model.ts';
import { expired } from './continue-to.ts';
import type { Host } from './host.ts';
import { toScopeModels } from '../oidc/scope-words.ts';
import { sendPage } from '../oidc/send-page.ts';

/** What a way to sign in adds to the sign-in page. */
export type Way = (interaction: OpenInteraction, shown: Shown) => Partial<PageModels['login']>;

/** The initial values of the sign-in form. */
export type Shown = Pick<PageModels['login'], 'username' | 'error'> & {
  /** There is no other page to go back to. */
  readonly isOnlyWay?: boolean;
};

export type Show = ReturnType<typeof createShow>;

/** Sign-in as another user, from any page of the interaction. */
export const OTHER_ACCOUNT = { name: 'account', value: 'other' } as const;

export const otherAccountUrl = ({ pageUrl }: OpenInteraction) =>
  `${pageUrl}?${OTHER_ACCOUNT.name}=${OTHER_ACCOUNT.value}`;

/** Whether the sign-in page is an alternative to a page for the signed-in user. */
function isBesideAnother({ prompt, accountId }: OpenInteraction, { isOnlyWay = false }: Shown): boolean {
  return prompt !== 'login' && (prompt !== 'select_account' || accountId !== undefined) && !isOnlyWay;
}

export const modelOfUser = (interaction: OpenInteraction, username: string) => ({
  client: interaction.client,
  cancelAction: `${interaction.pageUrl}/cancel`,
  username,
  otherAccountUrl: otherAccountUrl(interaction),
});

const passwordWay =
  ({ csrf }: Host): Way =>
  ({ uid, prompt, pageUrl }, { username, error }) => {
    // Continuing as another user, who may consent or has access, is a separate step with its own token.
    const isSwitch = prompt !== 'login' && prompt !== 'select_account';
    return {
      action: `${pageUrl}/${isSwitch ? 'switch' : 'login'}`,
      csrf: csrf.token(uid, isSwitch ? 'switch' : prompt),
      username,
      error,
    };
  };

export function createShow(host: Host, others: readonly Way[]) {
  const { config, accounts, pages, csrf } = host;
  const ways = [passwordWay(host), ...others];
  const { html, localeOf } = createRender(pages);

  const signedInModel = (interaction: OpenInteraction, { username }: User) => ({
    ...modelOfUser(interaction, username),
    csrf: csrf.token(interaction.uid, interaction.prompt),
  });

  /** The signed-in user of an interaction, if they still may be. */
  async function signedIn({ accountId, issued }: OpenInteraction): Promise<User | undefined> {
    if (accountId === undefined || issued === undefined) return undefined;
    return accounts.findLive(accountId, issued);
  }

  /** Throws Refusal when the user is not available any more. */
  async function mustBeSignedIn(ctx: Context, interaction: OpenInteraction): Promise<User> {
    const account = await signedIn(interaction);
    if (account === undefined) throw expired(ctx, interaction.client);
    return account;
  }

  /** For a user who must sign in, or wants to sign in as another user. */
  function showLogin(ctx: Context, interaction: OpenInteraction, shown: Shown): void {
    const { uid, prompt, client, pageUrl } = interaction;
    const isOther = isBesideAnother(interaction, shown);
    const model = {
      client,
      cancelAction: `${pageUrl}/cancel`,
      cancelCsrf: csrf.token(uid, prompt),
      backUrl: isOther ? pageUrl : undefined,
      ...Object.assign({}, ...ways.map((way) => way(interaction, shown))),
    };
    html(ctx, interaction, ['login', model, isOther ? otherAccountUrl(interaction) : pageUrl]);
  }

  return {
    login: showLogin,

    /** Asks whether to continue as the signed-in user. False when the session is gone: show the sign-in page. */
    async selectAccount(ctx: Context, interaction: OpenInteraction): Promise<boolean> {
      const account = await signedIn(interaction);
      if (account === undefined) return false;
      const { name } = account.claims;
      const model = {
        ...signedInModel(interaction, account),
        action: `${interaction.pageUrl}/continue`,
        displayName: typeof name === 'string' ? name : undefined,
      };
      html(ctx, interaction, ['select-account', model]);
      return true;
    },

    async consent(ctx: Context, interaction: OpenInteraction): Promise<void> {
      const account = await mustBeSignedIn(ctx, interaction);
      const model = {
        ...signedInModel(interaction, account),
        action: `${interaction.pageUrl}/consent`,
        document: toDocumentModel(interaction),
        ...toScopeModels(interaction, config, (key) => pages.text(localeOf(ctx, interaction), key)),
      };
      html(ctx, interaction, ['consent', model]);
    },

    /** Status 403. */
    async noAccess(ctx: Context, interaction: OpenInteraction): Promise<void> {
      const account = await mustBeSignedIn(ctx, interaction);
      html(ctx, interaction, ['no-access', signedInModel(interaction, account)]);
      ctx.status = 403;
    },

    signedIn,
    mustBeSignedIn,
    html,
  };
}

/** Renders a page in the language of its sign-in. */
function createRender(pages: Pages) {
  const localeOf = (ctx: Context, { uiLocales }: OpenInteraction): string =>
    pages.localeFor({ ...(ctx.state['language'] as LanguageWishes), uiLocales });

  /** `again`: the URL that shows this page again, if it isn't the page of the interaction. */
  function html<N extends keyof PageModels>(
    ctx: Context,
    interaction: OpenInteraction,
    [name, model, again = interaction.pageUrl]: readonly [N, PageModels[N], string?],
  ): void {
    const separator = again.includes('?') ? '&' : '?';
    const languageUrl = (locale: string) => `${again}${separator}lang=${locale}`;
    sendPage(ctx, pages.render(name, model, { locale: localeOf(ctx, interaction), languageUrl }));
  }

  return { html, localeOf };
}
