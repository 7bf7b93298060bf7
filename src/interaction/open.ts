// Finds the interaction of a request. Refuses the request if it comes from another browser, if the interaction is over or at
// another step, or if the form isn't from its own page.
import type { Context } from 'koa';
import type { OpenInteraction, Prompt } from '../oidc/open-interaction.ts';
import { FormRefusal } from '../views/refusal.ts';
import { expired } from './continue-to.ts';
import { readFormBody, type Form } from './form.ts';
import type { Host } from './host.ts';

export type Opened = Readonly<{
  form: Form;
  interaction: OpenInteraction;
  /** The step that the form is for. */
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
    /** Accepts only a form from its own page, for an open step. `steps`: the possible steps, if not the prompt. Throws Refusal. */
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
