// The pages between an authorization request and its answer: sign in, consent, cancel. Owns routes and form handling;
// what an answer means is the engine's business, and how a page looks is pages/'s.
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import { PasswordQueueFull } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { Interactions, OpenInteraction } from '../engine/interactions.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { Refusal } from '../pages/refusal.ts';
import type { Csrf } from './csrf.ts';
import { expired } from './expired.ts';
import { readForm, type Form } from './form.ts';
import type { Show } from './show.ts';

export type InteractionParts = {
  readonly issuer: string;
  readonly interactions: Interactions;
  readonly signIn: SignIn;
  readonly csrf: Csrf;
  readonly show: Show;
};

/** What a person typed is shown again, within reason. */
const MAX_USERNAME_LENGTH = 256;

export function interactionRoutes({
  issuer,
  interactions,
  signIn,
  csrf,
  show,
}: InteractionParts): Middleware {
  async function open(ctx: Context): Promise<OpenInteraction> {
    ctx.set('Cache-Control', 'no-store');
    const interaction = await interactions.find(ctx, String(ctx['params'].uid));
    if (interaction === undefined) throw expired();
    return interaction;
  }

  /** A form of ours, sent from its own page, for the step that is open. */
  async function openByForm(ctx: Context, step?: OpenInteraction['prompt']) {
    const form = await readForm(ctx, issuer);
    const interaction = await open(ctx);
    if (step !== undefined && interaction.prompt !== step) throw expired();
    if (!csrf.matches(form.field('csrf'), interaction.uid, interaction.prompt)) {
      throw new Refusal(403, 'forbidden', 'the form is not from this sign-in, please go back and try again');
    }
    return { form, interaction };
  }

  /** A failed attempt is shown on the page where it happened, with the status that says why. */
  async function attempt(
    ctx: Context,
    interaction: OpenInteraction,
    form: Form,
  ): Promise<string | undefined> {
    const username = form.field('username').slice(0, MAX_USERNAME_LENGTH);
    try {
      const user = await signIn(username, form.field('password'), String(ctx.state['clientAddress']));
      if (user !== undefined) return user.id;
      show.login(ctx, interaction, { username, error: 'invalid_credentials' });
      ctx.status = 401;
    } catch (error) {
      if (!(error instanceof TooManyRequests || error instanceof PasswordQueueFull)) throw error;
      const busy = error instanceof PasswordQueueFull;
      ctx.set('Retry-After', String(error.retryAfterSeconds));
      show.login(ctx, interaction, { username, error: busy ? 'busy' : 'too_many_attempts' });
      ctx.status = busy ? 503 : 429;
    }
    return undefined;
  }

  const router = new Router({ prefix: '/interaction' });

  router.get('/:uid', async (ctx) => {
    const interaction = await open(ctx);
    if (interaction.prompt === 'consent') await show.consent(ctx, interaction);
    else
      show.login(ctx, interaction, { username: (interaction.loginHint ?? '').slice(0, MAX_USERNAME_LENGTH) });
  });

  router.post('/:uid/login', async (ctx) => {
    const { form, interaction } = await openByForm(ctx, 'login');
    const accountId = await attempt(ctx, interaction, form);
    if (accountId !== undefined) goOn(ctx, await interactions.finishLogin(ctx, interaction, accountId));
  });

  router.post('/:uid/consent', async (ctx) => {
    const { interaction } = await openByForm(ctx, 'consent');
    goOn(ctx, await interactions.finishConsent(ctx, interaction));
  });

  router.post('/:uid/cancel', async (ctx) => {
    const { interaction } = await openByForm(ctx);
    goOn(ctx, await interactions.deny(ctx, interaction));
  });

  return router.routes() as unknown as Middleware;
}

/** RFC 9700 §4.12: 303, so that no browser repeats the password to the next address. */
function goOn(ctx: Context, destination: string | undefined): void {
  if (destination === undefined) throw expired();
  ctx.redirect(destination);
  ctx.status = 303;
}
