// The routes between an authorization request and its answer: sign in, choose an account, consent, cancel.
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import type { SignIn } from '../users/sign-in.ts';
import type { Interactions } from '../oidc/interactions.ts';
import { type OpenInteraction, PROMPTS } from '../oidc/open-interaction.ts';
import { createAttempt, MAX_USERNAME_LENGTH } from './attempt.ts';
import { createDeviceCookie } from './trusted-browser-cookie.ts';
import { expired, goOn } from './go-on.ts';
import { addLinkRoutes, type LinkParts } from './link-routes.ts';
import { createOpen, type Opened } from './open.ts';
import type { PagesParts } from './parts.ts';
import { addSecondStepRoutes, type SecondFactorParts } from './second-step-routes.ts';
import { OTHER_ACCOUNT, type Show } from './show.ts';

type InteractionParts = Pick<PagesParts, 'config' | 'accounts' | 'csrf' | 'audit'> & {
  readonly interactions: Interactions;
  readonly signIn: SignIn;
  readonly show: Show;
  readonly link: Omit<LinkParts, 'cookie' | 'csrf' | 'audit'>;
  /** Undefined where the file says nothing of them. */
  readonly secondFactors?: SecondFactorParts | undefined;
};

export function interactionRoutes(parts: InteractionParts): Middleware {
  const { config, interactions, signIn, csrf, show, audit } = parts;
  const open = createOpen(parts);
  const cookie = createDeviceCookie(config.issuer);
  const { secondFactors } = parts;
  const { tell } = parts.link;
  const attempt = createAttempt({ interactions, signIn, show, audit, cookie, secondFactors, tell });

  /** Who the app means, or who is asked to prove that it is still them. */
  async function usernameFor(interaction: OpenInteraction): Promise<string> {
    if (interaction.loginHint !== undefined) return interaction.loginHint;
    return interaction.isConfirmation ? ((await show.signedIn(interaction))?.username ?? '') : '';
  }

  async function signInFrom(ctx: Context, { form, interaction }: Opened): Promise<void> {
    const attempted = await attempt(ctx, interaction, form);
    if (attempted !== 'shown again') goOn(ctx, interaction, attempted.destination);
  }

  const router = new Router({ prefix: '/interaction' });

  addLinkRoutes(router, { ...parts.link, cookie, csrf, audit });

  const showPending =
    secondFactors &&
    addSecondStepRoutes(router, { ...secondFactors, interactions, show, csrf, audit, cookie, open });

  router.get('/:uid', async (ctx) => {
    const interaction = await open.byLink(ctx);
    const wantsOther = ctx.query[OTHER_ACCOUNT.name] === OTHER_ACCOUNT.value;
    if (!wantsOther && (await showPending?.(ctx, interaction)) === true) return undefined;
    if (interaction.prompt === 'consent' && !wantsOther) return show.consent(ctx, interaction);
    if (interaction.prompt === 'access' && !wantsOther) return show.noAccess(ctx, interaction);
    if (interaction.prompt === 'select_account' && !wantsOther) {
      if ((await show.selectAccount(ctx, interaction)) === 'shown') return undefined;
    }
    const username = wantsOther ? '' : await usernameFor(interaction);
    return show.login(ctx, interaction, { username: username.slice(0, MAX_USERNAME_LENGTH) });
  });

  router.post('/:uid/login', async (ctx) =>
    signInFrom(ctx, await open.byForm(ctx, ['login', 'select_account'])),
  );

  router.post('/:uid/switch', async (ctx) =>
    signInFrom(ctx, await open.byForm(ctx, ['second_factor', 'notice', 'access', 'consent'], 'switch')),
  );

  router.post('/:uid/continue', async (ctx) => {
    const { interaction } = await open.byForm(ctx, ['select_account']);
    // Who was disabled meanwhile is asked to sign in, on the page that this one leads back to.
    if ((await show.signedIn(interaction)) === undefined) throw expired(ctx, interaction.client);
    goOn(ctx, interaction, await interactions.finishSelection(ctx, interaction));
  });

  router.post('/:uid/consent', async (ctx) => {
    const { interaction } = await open.byForm(ctx, ['consent']);
    goOn(ctx, interaction, await interactions.finishConsent(ctx, interaction));
  });

  router.post('/:uid/cancel', async (ctx) => {
    const { interaction } = await open.byForm(ctx, PROMPTS);
    goOn(ctx, interaction, await interactions.decline(ctx, interaction));
  });

  return router.routes() as unknown as Middleware;
}
