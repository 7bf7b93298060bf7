// The content of an email. It is composed when the email is sent, from its job and the user's current state.
import type { Config } from '../../config/config.ts';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { DAY, MINUTE } from '../../config/notation.ts';
import type { App } from '../../oidc/app.ts';
import { hasSecondFactor } from '../../users/factors.ts';
import { oneTimeLinkUrl } from '../../users/one-time-links.ts';
import type { User } from '../../users/user.ts';
import type { Pages } from '../../views/pages.ts';
import { FORGOT_PATH } from './feature.ts';
import type { MailJob } from './jobs.ts';
import { createMailLinks, type MailLink } from './links.ts';
import type { LetterModel } from './models.ts';

type Purpose = 'reset' | 'invite';
type Kind = Exclude<LetterModel['kind'], MailLink['purpose']>;

const LINK_SECONDS = { reset: 30 * MINUTE, invite: 7 * DAY, address: DAY, undo: 7 * DAY, new_user: DAY };

/** Depends on how the user signs in. For a user without a password, a link would bypass their passkey. */
export async function kindOf({ factors }: App, { what }: MailJob, user: User): Promise<Kind> {
  const { id, canSetPassword, hasPassword } = user;
  if (what !== 'link') return what as Kind;
  if (!canSetPassword) return 'elsewhere';
  if (hasPassword) return 'reset';
  return hasSecondFactor(await factors.get(id)) ? 'elsewhere' : 'invite';
}

/** `token`: for the link in the email. */
type Tried = MailJob & { readonly token: string };

export async function toModel(app: App, job: Tried, kind: Kind, user: User): Promise<LetterModel> {
  const { username } = user;
  const { link: mailed, note, token } = job;
  if (mailed !== undefined) {
    const link = await createMailLinks(app).save(mailed, LINK_SECONDS[mailed.purpose], token);
    return { kind: mailed.purpose, username, link };
  }
  if (kind === 'reset' || kind === 'invite')
    return { kind, username, link: await saveLink(app, kind, user, token) };
  if (kind === 'exists') return { kind, username, link: `${app.issuer}${FORGOT_PATH}` };
  if (kind === 'elsewhere' || kind === 'test') return { kind, username };
  const { at = 0, place = { browser: '', network: '' } } = note ?? {};
  const link = app.config.account && kind !== 'disabled' ? `${app.issuer}${ACCOUNT_PATH}` : undefined;
  return { kind, username, at, ...place, link };
}

/** Saved again for each try, so that its lifetime starts then. An earlier link still works if its email was delivered unconfirmed. */
async function saveLink({ config, links, states }: App, purpose: Purpose, user: User, token: string) {
  const { id: accountId, validAfter: passwordSince, claims } = user;
  const { validAfter: stateSince } = await states.get(accountId);
  const link = { purpose, accountId, passwordSince, stateSince, mailedTo: String(claims['email']) };
  return oneTimeLinkUrl(config.issuer, await links.create(link, LINK_SECONDS[purpose], token));
}

type Parts = { readonly pages: Pages; readonly config: Pick<Config, 'branding' | 'issuer'> };

/** Composes the email in its reader's language: HTML from views/letter.ejs, and the same sentences as text. */
export function composeLetter({ pages, config }: Parts, model: LetterModel, locale: string) {
  const { t, time, browserName } = pages.words(locale);
  const { name } = config.branding;
  const say = (part: string) => t(`mail.${model.kind}.${part}`, { name, username: model.username });
  const link = 'link' in model ? model.link : undefined;
  const isNotice = 'at' in model;
  const details = isNotice ? [time(model.at), browserName(model.browser), model.network] : [];
  const paragraphs = [
    say('lead'),
    details.filter(Boolean).join('\n'),
    link === undefined ? '' : `${isNotice ? t('mail.account') : say('button')}:\n${link}`,
    isNotice && model.kind !== 'disabled' ? t('mail.not_you') : say('after'),
    `-- \n${t('mail.sender', { name })}\n${config.issuer}`,
  ];
  const html = pages.render('letter', model, { locale });
  return {
    subject: say('subject'),
    text: `${paragraphs.filter(Boolean).join('\n\n')}\n`,
    // If an administrator's template leaves out the link, only the text is sent.
    html: link === undefined || html.includes(link) ? html : undefined,
  };
}
