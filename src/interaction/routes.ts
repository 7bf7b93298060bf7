// The routes between an authorization request and its answer: sign in, choose an account, consent, cancel.
import type { Middleware } from 'koa';
import Router from 'koa-router';
import type { PageParts } from '../features/page-parts.ts';
import { type OpenInteraction, PROMPTS } from '../oidc/open-interaction.ts';
import { createAttempt, MAX_USERNAME_LENGTH } from './attempt.ts';
import { continueTo } from './continue-to.ts';
import type { Host } from './host.ts';
import { addLinkRoutes } from './link-routes.ts';
import { createOpen } from './open.ts';
import { createShow, OTHER_ACCOUNT } from './show.ts';

export function interactionRoutes(host: Host, features: readonly PageParts[]): Middleware {
  const { interactions } = host;
  const open = createOpen(host);
  const show = createShow(
    host,
    features.flatMap(({ ways }) => ways?.(host) ?? []),
  );

  /** The user whom the app names, or who must confirm their identity. */
  async function usernameFor(interaction: OpenInteraction): Promise<string> {
    if (interaction.loginHint !== undefined) return interaction.loginHint;
    return interaction.isConfirmation ? ((await show.signedIn(interaction))?.username ?? '') : '';
  }

  const router = new Router({ prefix: '/interaction' });

  const [firstFactor] = features.flatMap((one) => one.firstFactor?.(host) ?? []);
  const newLinkUrl = features.find((one) => one.newLinkUrl)?.newLinkUrl;
  addLinkRoutes(router, host, { firstFactor, newLinkUrl });
  const [pending] = features.flatMap((one) => one.pending?.(host, { router, open, show }) ?? []);
  const attempt = createAttempt(host, show, pending);

  router.get('/:uid', async (ctx) => {
    const interaction = await open.byLink(ctx);
    const wantsOther = ctx.query[OTHER_ACCOUNT.name] === OTHER_ACCOUNT.value;
    if (wantsOther) return show.login(ctx, interaction, { username: '' });
    if ((await pending?.show(ctx, interaction)) === true) return undefined;
    const { prompt } = interaction;
    if (prompt === 'consent') return show.consent(ctx, interaction);
    if (prompt === 'access') return show.noAccess(ctx, interaction);
    if (prompt === 'select_account' && (await show.selectAccount(ctx, interaction))) return undefined;
    const username = await usernameFor(interaction);
    return show.login(ctx, interaction, { username: username.slice(0, MAX_USERNAME_LENGTH) });
  });

  router.post('/:uid/login', async (ctx) =>
    attempt(ctx, await open.byForm(ctx, ['login', 'select_account'])),
  );

  router.post('/:uid/switch', async (ctx) =>
    attempt(ctx, await open.byForm(ctx, ['second_factor', 'notice', 'access', 'consent'], 'switch')),
  );

  router.post('/:uid/continue', async (ctx) => {
    const { interaction } = await open.byForm(ctx, ['select_account']);
    // A user who was disabled meanwhile must sign in, on the page that this one redirects to.
    await show.mustBeSignedIn(ctx, interaction);
    continueTo(ctx, interaction, await interactions.finishSelection(ctx, interaction));
  });

  router.post('/:uid/consent', async (ctx) => {
    const { interaction } = await open.byForm(ctx, ['consent']);
    continueTo(ctx, interaction, await interactions.finishConsent(ctx, interaction));
  });

  router.post('/:uid/cancel', async (ctx) => {
    const { interaction } = await open.byForm(ctx, PROMPTS);
    continueTo(ctx, interaction, await interactions.decline(ctx, interaction));
  });

  return router.routes() as unknown as Middleware;
}
