// The page of a one-time link (users/one-time-links.ts). GET and HEAD don't use up the link, so that it still works after a mail
// program or a chat has opened it. No link signs a user in.
import type { Context } from 'koa';
import type Router from 'koa-router';
import { FACTORS_PATH } from '../config/endpoint-rows.ts';
import { type AuditFields, clientAddressOf, createThrottle, originOf } from '../observability/audit.ts';
import { seeOther, showPage } from '../oidc/send-page.ts';
import { StoreUnavailable } from '../store/store.ts';
import { toGeneration } from '../users/accounts.ts';
import type { User } from '../users/user.ts';
import { LINK_PURPOSES, type OneTimeLink, oneTimeLinkUrl } from '../users/one-time-links.ts';
import type { PageModels } from '../views/models.ts';
import { createFollowLink, type FirstFactor, type LinkFault, type OpenLink } from './follow-link.ts';
import { readFormBody } from './form.ts';
import { answerAgain } from './continue-to.ts';
import type { Host } from './host.ts';

const STEP = 'link';
const tokenOf = (ctx: Context) => String(ctx['params'].token);

/** Why a link doesn't work; only for the audit trail. */
type Dead = Readonly<{
  reason: 'unknown' | 'used' | 'ended' | 'unconfirmed';
  link?: OneTimeLink | undefined;
}>;

type LinkParts = Readonly<{ firstFactor: FirstFactor | undefined; newLinkUrl: string | undefined }>;

/** Adds the routes below the prefix of `router`. */
export function addLinkRoutes(router: Router, host: Host, parts: LinkParts): void {
  const { config, trustedBrowsers, cookie, csrf, audit } = host;
  const { firstFactor } = parts;
  const page = createLinkPages(host, parts);
  const followLink = createFollowLink(host, firstFactor);

  router.get('/link/:token', async (ctx) => {
    const opened = await open(host, firstFactor, tokenOf(ctx));
    return 'reason' in opened ? page.refuse(ctx, opened) : page.ask(ctx, opened);
  });

  router.post('/link/:token', async (ctx) => {
    const form = await readFormBody(ctx);
    const token = tokenOf(ctx);
    csrf.check(form, token, STEP);
    const opened = await open(host, firstFactor, token);
    if ('reason' in opened) return page.refuse(ctx, opened);
    const followed = await followLink(ctx, opened, form).catch((error: unknown) => {
      if (error instanceof StoreUnavailable && error.mayBeDone) return error;
      throw error;
    });
    if (followed instanceof Error) {
      await page.refuse(ctx, { reason: 'unconfirmed', link: opened.link });
      return answerAgain(ctx, 503, followed.retryAfterSeconds);
    }
    if ('fault' in followed) {
      return page.ask(ctx, opened, { fault: followed.fault, sealed: form.field('sealed') });
    }
    if ('dead' in followed) return page.refuse(ctx, { reason: followed.dead, link: opened.link });
    const { purpose, accountId } = opened.link;
    cookie.write(ctx, trustedBrowsers.renew(cookie.read(ctx), accountId));
    audit.record('link_used', 'success', { ...originOf(ctx.state), account_id: accountId, action: purpose });
    seeOther(ctx, followed.destination);
  });

  router.get('/done/:purpose', (ctx) => {
    const purpose = LINK_PURPOSES.find((one) => one === ctx['params']['purpose']);
    if (purpose === undefined) return;
    const hasCodes = purpose === 'factors' && (config.signIn?.recoveryCodes ?? 0) > 0;
    const factorsUrl = hasCodes ? `${config.issuer}${FACTORS_PATH}` : undefined;
    page.show(ctx, { outcome: 'done', purpose, factorsUrl });
  });
}

/** Counts and records a link that doesn't work. Anyone can open one repeatedly. */
export function createNoteDead({ audit, limits, now }: Pick<Host, 'audit' | 'limits' | 'now'>) {
  const timesToSay = createThrottle(now);
  return async (ctx: Context, of: Pick<AuditFields, 'account_id' | 'action' | 'reason'>): Promise<void> => {
    if (of.reason !== 'unconfirmed') await limits.takeDeadLink(clientAddressOf(ctx));
    const times = timesToSay(JSON.stringify(of));
    if (times !== undefined) audit.record('link_used', 'failure', { ...originOf(ctx.state), ...of, times });
  };
}

function createLinkPages(host: Host, { firstFactor, newLinkUrl: url }: LinkParts) {
  const { config, csrf, pages } = host;
  const noteDead = createNoteDead(host);

  const show = (ctx: Context, model: PageModels['link'], status = 200): void =>
    showPage(ctx, pages, ['link', model], status);

  return {
    show,
    /** One page for all reasons, except for an unknown result. */
    async refuse(ctx: Context, { reason, link }: Dead): Promise<void> {
      await noteDead(ctx, { account_id: link?.accountId, action: link?.purpose, reason });
      const newLinkUrl = link?.purpose === 'factors' ? undefined : url;
      if (reason === 'unconfirmed') show(ctx, { outcome: 'maybe_used', newLinkUrl }, 503);
      else show(ctx, { outcome: 'expired', newLinkUrl }, 410);
    },
    async ask(
      ctx: Context,
      opened: OpenLink,
      { fault, sealed }: Readonly<{ fault?: LinkFault; sealed?: string }> = {},
    ): Promise<void> {
      const { token, link, account } = opened;
      const { username } = account;
      const { purpose } = link;
      const target = { action: oneTimeLinkUrl(config.issuer, token), csrf: csrf.token(token, STEP) };
      const status = fault === undefined ? 200 : 422;
      const refused = { fault: toFactorFault(fault), sealed };
      const enrolment = purpose === 'reset' ? undefined : await firstFactor?.form(opened, target, refused);
      if (purpose === 'factors') {
        return show(
          ctx,
          { outcome: 'factors', username, enrolment: enrolment ?? { csrf: target.csrf } },
          status,
        );
      }
      const { minLength } = config.passwords;
      const error = fault === 'wrong_code' ? undefined : fault;
      const made = enrolment?.passkey;
      const passkey = made && { options: made.options, handle: made.handle };
      const fields = { ...target, username, minLength, passkey, error };
      return show(ctx, { outcome: 'password', purpose, ...fields }, status);
    },
  };
}

const toFactorFault = (fault: LinkFault | undefined) =>
  fault === 'wrong_code' || fault === 'passkey_refused' ? fault : undefined;

async function open(
  { links, accounts }: Host,
  firstFactor: FirstFactor | undefined,
  token: string,
): Promise<OpenLink | Dead> {
  const link = await links.find(token);
  if (link === undefined) return { reason: 'unknown' };
  if (link.isUsed || link.isOver) return { reason: link.isUsed ? 'used' : 'ended', link };
  const generation = toGeneration([link.passwordSince, link.stateSince]);
  const account = await accounts.findLive(link.accountId, { generation });
  if (account === undefined || !isReaderOf(link, account)) return { reason: 'ended', link };
  // The link is for the first factor. Users add further ones themselves.
  const isOpen = link.purpose !== 'factors' || (await firstFactor?.isMissing(account.id)) === true;
  return isOpen ? { token, link, account } : { reason: 'ended', link };
}

/** Whether the address that the link was sent to is still the user's. */
function isReaderOf({ mailedTo }: OneTimeLink, { claims }: User): boolean {
  return mailedTo === undefined || (claims['email'] === mailedTo && claims['email_verified'] !== false);
}
