// form_post, while it is on: the page that sends the answer, for clients that may use it.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { App } from '../../oidc/app.ts';
import { toClientModel } from '../../oidc/client-model.ts';
import { type Answer, redirectWith, sendPage } from '../../oidc/send-page.ts';
import type { LanguageWishes } from '../../views/locale.ts';
import type { Parts } from '../parts.ts';

export function open({ config, issuer, pages, clients }: App): Parts {
  /** OAuth 2.0 Form Post Response Mode §2. */
  async function postAnswer(ctx: KoaContextWithOIDC, redirectUri: string, answer: Answer): Promise<void> {
    const client = await clients.load(ctx.oidc.client?.clientId);
    // Only an error gets here: the engine would send it in the response mode that is rejected.
    if (client?.responseModes.includes('form_post') !== true) {
      redirectWith(ctx, redirectUri, answer);
      return;
    }
    ctx.status = 'error' in answer ? 400 : 200;
    ctx.set('Referrer-Policy', 'no-referrer');
    const fields = Object.entries(answer).map(([name, value]) => ({ name, value }));
    const model = { client: toClientModel(client, issuer), action: redirectUri, fields };
    const uiLocales = ctx.oidc.params?.['ui_locales'] as string | undefined;
    const locale = pages.localeFor({ ...(ctx.state['language'] as LanguageWishes), uiLocales });
    // Without links to other languages, because the page can't be requested again.
    sendPage(ctx, pages.render('form-post', model, { locale }));
  }

  return {
    guard: { isPlain: () => true },
    seam: (provider) => provider.offerResponseMode('form_post', postAnswer),
    clientMetadata: ({ responseModes }) => ({ response_modes: [...responseModes] }),
    discovery: { response_modes_supported: config.features.responseModes },
  };
}
