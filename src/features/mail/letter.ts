// An email in the language of its reader: HTML by views/letter.ejs, and the same sentences as text.
import type { Config } from '../../config/config.ts';
import type { Pages } from '../../views/pages.ts';
import type { LetterModel } from './models.ts';

type Parts = { readonly pages: Pages; readonly config: Pick<Config, 'branding' | 'issuer'> };

export function composeLetter({ pages, config }: Parts, model: LetterModel, locale: string) {
  const { t, time, browserName } = pages.words(locale);
  const { name } = config.branding;
  const say = (part: string) => t(`mail.${model.kind}.${part}`, { name, username: model.username });
  const link = 'link' in model ? model.link : undefined;
  const [details, label, end] =
    'at' in model
      ? ([
          [time(model.at), browserName(model.browser), model.network],
          'mail.account',
          'mail.not_you',
        ] as const)
      : ([[], `mail.${model.kind}.button`, `mail.${model.kind}.after`] as const);
  const paragraphs = [
    say('lead'),
    details.filter(Boolean).join('\n'),
    link === undefined ? '' : `${t(label)}:\n${link}`,
    t(end),
    `-- \n${t('mail.sender', { name })}\n${config.issuer}`,
  ];
  const html = pages.render('letter', model, { locale });
  return {
    subject: say('subject'),
    text: `${paragraphs.filter(Boolean).join('\n\n')}\n`,
    // An operator's template that lost the link would leave its reader without it.
    html: link === undefined || html.includes(link) ? html : undefined,
  };
}
