// Finds the interaction that a request is about, and refuses every request that it can't be about: of another browser,
// over, for another step, or with a form that isn't from its own page.
import type { Context } from 'koa';
import type { OpenInteraction, Prompt } from '../oidc/open-interaction.ts';
import { FormRefusal } from '../views/refusal.ts';
import { expired } from './go-on.ts';
import { readFormBody, type Form } from './form.ts';
import type { Host } from './host.ts';

export type Opened = Readonly<{
  form: Form;
  interaction: OpenInteraction;
  /** Which of those that it could be. */
  step: string;
}>;

export type Open = ReturnType<typeof createOpen>;

export function createOpen({ interactions, csrf }: Host) {
  async function byLink(ctx: Context): Promise<OpenInteraction> {
    ctx.set('Cache-Control', 'no-store');
    const uid = String(ctx['params'].uid);
    const interaction = await interactions.find(ctx, uid);
    if (interaction === undefined) throw expired(ctx);
    return interaction;
  }

  return {
    byLink,
    /** A form of ours, sent from its own page, for a step that is open. `steps` name it where it isn't the prompt. */
    async byForm(ctx: Context, prompts: readonly Prompt[], ...steps: readonly string[]): Promise<Opened> {
      const form = await readFormBody(ctx);
      const interaction = await byLink(ctx);
      const { uid, prompt, client } = interaction;
      if (!prompts.includes(prompt)) throw expired(ctx, client);
      const own = steps.length === 0 ? [prompt] : steps;
      const step = own.find((one) => csrf.matches(form, uid, one));
      if (step !== undefined) return { form, interaction, step };
      const text = 'the form is not from this sign-in, please go back and try again';
      throw new FormRefusal('csrf', text, client);
    },
  };
}
