// The pages between an authorization request and its answer: sign in, choose an account, consent, cancel. Owns routes and
// form handling; what an answer means is the engine's business, and how a page looks is pages/'s.
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import { PasswordQueueFull } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { Interactions, OpenInteraction, Prompt } from '../engine/interactions.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { Refusal } from '../pages/refusal.ts';
import type { Csrf } from './csrf.ts';
import { expired } from './expired.ts';
import { readForm, type Form } from './form.ts';
import { OTHER_ACCOUNT, type Show } from './show.ts';

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
    const uid = String(ctx['params'].uid);
    const interaction = await interactions.find(ctx, uid);
    if (interaction === undefined) throw expired(ctx, interactions.appOf(ctx, uid));
    return interaction;
  }

  /** A form of ours, sent from its own page, for a step that is open. `step` names it where it isn't the prompt. */
  async function openByForm(ctx: Context, prompts: readonly Prompt[], step?: string) {
    const form = await readForm(ctx, issuer);
    const interaction = await open(ctx);
    const { uid, prompt, client } = interaction;
    if (!prompts.includes(prompt)) throw expired(ctx, client);
    if (!csrf.matches(form.field('csrf'), uid, step ?? prompt)) {
      throw new Refusal(403, 'forbidden', 'the form is not from this sign-in, please go back and try again', client);
    }
    return { form, interaction };
  }

  /** RFC 9700 §4.12: 303, so that no browser repeats the password to the next address. */
  function goOn(ctx: Context, { client }: OpenInteraction, destination: string | undefined): void {
    if (destination === undefined) throw expired(ctx, client);
    ctx.redirect(destination);
    ctx.status = 303;
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
    const wantsOther = ctx.query[OTHER_ACCOUNT.name] === OTHER_ACCOUNT.value;
    if (interaction.prompt === 'consent' && !wantsOther) return show.consent(ctx, interaction);
    if (interaction.prompt === 'select_account' && !wantsOther) {
      if ((await show.selectAccount(ctx, interaction)) === 'shown') return undefined;
    }
    const username = wantsOther ? '' : await usernameFor(interaction);
    return show.login(ctx, interaction, { username: username.slice(0, MAX_USERNAME_LENGTH) });
  });

  /** Who the app means, or who is asked to prove that it is still them. */
  async function usernameFor(interaction: OpenInteraction): Promise<string> {
    if (interaction.loginHint !== undefined) return interaction.loginHint;
    return interaction.isConfirmation ? ((await show.signedIn(interaction))?.username ?? '') : '';
  }

  async function signInFrom(ctx: Context, { form, interaction }: Awaited<ReturnType<typeof openByForm>>) {
    const accountId = await attempt(ctx, interaction, form);
    if (accountId === undefined) return;
    goOn(ctx, interaction, await interactions.finishLogin(ctx, interaction, accountId));
  }

  router.post('/:uid/login', async (ctx) => signInFrom(ctx, await openByForm(ctx, ['login', 'select_account'])));

  router.post('/:uid/switch', async (ctx) => signInFrom(ctx, await openByForm(ctx, ['consent'], 'switch')));

  router.post('/:uid/continue', async (ctx) => {
    const { interaction } = await openByForm(ctx, ['select_account']);
    // Who was disabled meanwhile is asked to sign in, on the page that this one leads back to.
    if ((await show.signedIn(interaction)) === undefined) throw expired(ctx, interaction.client);
    goOn(ctx, interaction, await interactions.finishSelection(ctx, interaction));
  });

  router.post('/:uid/consent', async (ctx) => {
    const { interaction } = await openByForm(ctx, ['consent']);
    goOn(ctx, interaction, await interactions.finishConsent(ctx, interaction));
  });

  router.post('/:uid/cancel', async (ctx) => {
    const { interaction } = await openByForm(ctx, ['login', 'select_account', 'consent']);
    goOn(ctx, interaction, await interactions.deny(ctx, interaction));
  });

  return router.routes() as unknown as Middleware;
}
