// What an email says, found out when it is sent: by its job, and by its user as they are then.
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { DAY, MINUTE } from '../../config/notation.ts';
import type { App } from '../../oidc/app.ts';
import { hasSecondFactor } from '../../users/factors.ts';
import { oneTimeLinkUrl } from '../../users/one-time-links.ts';
import type { User } from '../../users/user.ts';
import type { MailJob } from './jobs.ts';
import type { LetterModel } from './models.ts';

type Kind = LetterModel['kind'];

const LINK_SECONDS = { reset: 30 * MINUTE, invite: 7 * DAY };

export const textClaim = (claim: unknown) => (typeof claim === 'string' ? claim : undefined);

/** By what the user signs in with. A link would be a way around the passkey of a user without a password. */
export async function kindOf({ factors }: App, { what }: MailJob, user: User): Promise<Kind> {
  const { id, canSetPassword, hasPassword } = user;
  if (what !== 'link') return what as Kind;
  if (!canSetPassword) return 'elsewhere';
  if (hasPassword) return 'reset';
  return hasSecondFactor(await factors.get(id)) ? 'elsewhere' : 'invite';
}

export async function toModel(app: App, { note }: MailJob, kind: Kind, user: User): Promise<LetterModel> {
  const { username } = user;
  if (kind === 'reset' || kind === 'invite') return { kind, username, link: await newLink(app, kind, user) };
  if (kind === 'elsewhere' || kind === 'test') return { kind, username };
  const { issuer, account } = app.config;
  const { at = 0, place } = note ?? {};
  return {
    kind,
    username,
    at,
    browser: '',
    network: '',
    ...place,
    link: account ? `${issuer}${ACCOUNT_PATH}` : undefined,
  };
}

/** For each try: that of one whose email was sent without this process knowing works, too. */
async function newLink({ config, links, states }: App, purpose: 'reset' | 'invite', user: User) {
  const { id: accountId, validAfter: passwordSince, claims } = user;
  const { validAfter: stateSince } = await states.get(accountId);
  const link = { purpose, accountId, passwordSince, stateSince, mailedTo: textClaim(claims['email']) };
  return oneTimeLinkUrl(config.issuer, await links.create(link, LINK_SECONDS[purpose]));
}
