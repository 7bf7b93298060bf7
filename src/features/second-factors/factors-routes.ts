// The page where users manage their own factors: a list, with forms to add and remove them, after a recent sign-in.
import type { Context } from 'koa';
import { FACTORS_PATH } from '../../config/endpoint-rows.ts';
import { type Level, reaches } from '../../config/sign-in-levels.ts';
import { seeOther, showPage } from '../../oidc/send-page.ts';
import { levelOf } from '../../users/authentication-methods.ts';
import { isRecovered, withProof } from './proofs.ts';
import { type Factors, type Method, type Passkey, hasSecondFactor } from '../../users/factors.ts';
import { noticesFor } from './notices.ts';
import { mayChangeFactors, noteFactor, ONE_TIME_CODES, removeFactor } from './factor-acts.ts';
import type { PageModels } from '../../views/models.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import { Refusal } from '../../views/refusal.ts';
import { actorOf } from '../../interaction/actor.ts';
import { addFromForm, methodIn, toEnrolmentModel, type Enrolled, type NewFactor } from './enrolment.ts';
import type { Form } from '../../interaction/form.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import { addUrlOf, mayAddFactor } from './methods-section.ts';
import type { SecondFactors } from './second-factors.ts';
import {
  type AccountChanges,
  type AccountPage,
  type Route,
  type Visitor,
  createAccountPage,
  routeOf,
  viewOf,
} from '../../interaction/account-page.ts';
import { toNoticeModel } from './show-second-step.ts';

type List = Extract<PageModels['factors'], { outcome: 'list' }>;
type Refused = Readonly<{
  list?: List['error'];
  adding?: Method;
  enrolment?: EnrolmentModel['error'];
  sealed?: string;
}>;

const bindingOf = ({ session }: Visitor) => `factors:${session.uid}`;

const show = (ctx: Context, { pages }: Host, model: PageModels['factors'], status = 200): void =>
  showPage(ctx, pages, ['factors', model], status);

export function factorsPage(host: Host, second: SecondFactors): Route {
  const page = createAccountPage(host, FACTORS_PATH);
  const list = createShowList(host, second, page);
  const mayChange = ({ session, factors }: Visitor) =>
    mayChangeFactors(second.settings, session, factors, secondsOf(host));
  function stale(ctx: Context, visitor: Visitor | undefined): void {
    const outcome = visitor?.isFresh === true ? 'passkey_needed' : 'stale';
    show(ctx, host, { outcome, signInUrl: page.signInUrl(visitor !== undefined) }, 403);
  }
  return routeOf(host, page, {
    // Without a recent sign-in, the forms of the page would be rejected.
    show(ctx, visitor) {
      if (!visitor.isFresh) return seeOther(ctx, page.signInUrl(true, viewOf(ctx, 'add')));
      return mayChange(visitor) ? list(ctx, visitor) : stale(ctx, visitor);
    },
    stale,
    mayChange,
    changes: createChanges(host, second, page, list),
  });
}

type ShowList = (ctx: Context, visitor: Visitor, refused?: Refused) => Promise<void>;

type Listed = Pick<Passkey, 'id' | 'name' | 'createdAt' | 'usedAt' | 'suspect'>;

/** The user's factors, with the targets of the forms that remove them. */
function toFactorModels({ passkeys, oneTimeCode }: Factors, removeAction: string) {
  const toModel = (method: Method, { id, name, createdAt, usedAt, suspect }: Listed) => ({
    method,
    id,
    createdAt,
    usedAt,
    removeAction,
    name: name || undefined,
    suspect: suspect === true,
  });
  const ofPasskeys = passkeys.map((one) => toModel('passkey', one));
  if (oneTimeCode === undefined) return ofPasskeys;
  return [...ofPasskeys, toModel('one_time_code', { ...oneTimeCode, id: ONE_TIME_CODES, name: '' })];
}

/** The method that the page adds, from its URL or the rejected form, and the URLs that add one. `begun`: what may be added. */
function toAddingModel(url: string, asked: string | undefined, begun: NewFactor | undefined) {
  const isOn = { passkey: begun?.passkey !== undefined, one_time_code: begun?.oneTimeCode !== undefined };
  const adding = (['passkey', 'one_time_code'] as const).find((one) => one === asked && isOn[one]);
  return {
    adding,
    addPasskeyUrl: isOn.passkey ? addUrlOf(url, 'passkey') : undefined,
    addCodeUrl: isOn.one_time_code ? addUrlOf(url, 'one_time_code') : undefined,
    backUrl: adding && url,
  };
}

function createShowList(host: Host, second: SecondFactors, { url, token }: AccountPage): ShowList {
  const { settings, enrolment } = second;
  return async function showList(ctx, visitor, refused = {}) {
    const { account, factors } = visitor;
    const { id, username, hasPassword } = account;
    const csrf = token(visitor);
    const owner = { id, username, mustVerifyUser: !hasPassword };
    const begun = mayAddFactor(settings, visitor)
      ? await enrolment.begin(owner, bindingOf(visitor), refused.sealed)
      : undefined;
    const action = hasSecondFactor(factors) ? `${url}/recovery-codes` : undefined;
    const model: List = {
      outcome: 'list',
      username,
      csrf,
      factors: toFactorModels(factors, `${url}/remove`),
      recoveryCodes:
        settings.recoveryCodes === 0 ? undefined : { left: factors.recoveryCodes.length, action },
      enrolment: begun && toEnrolmentModel(begun, { action: `${url}/add`, csrf }, refused.enrolment),
      ...toAddingModel(url, refused.adding ?? viewOf(ctx, 'add'), begun),
      codesFollow: settings.recoveryCodes > 0 && !hasSecondFactor(factors),
      notices: noticesFor(factors.notices, undefined, secondsOf(host)).map(toNoticeModel),
      error: refused.list,
    };
    show(ctx, host, model, refused.list === undefined && refused.enrolment === undefined ? 200 : 422);
  };
}

/** The levels that the user must be able to reach, for the apps that they may use and for the service. */
function neededOf(
  { config, rules }: Host,
  { settings }: SecondFactors,
  { account }: Visitor,
): readonly Level[] {
  const wanted = config.clients
    .filter(({ clientId }) => rules.mayUseClient(account, { clientId }))
    .flatMap((client) => client.signIn?.require ?? []);
  if (!account.hasPassword) wanted.push('passkey');
  return settings.secondFactor === 'required' ? [...wanted, 'second_factor'] : wanted;
}

/** Shows new recovery codes, once: as the last step of adding a first factor, or on request. */
function createShowCodes(host: Host, { enrolment }: SecondFactors, page: AccountPage, list: ShowList) {
  return async function showCodes(ctx: Context, visitor: Visitor): Promise<void> {
    const { account, session } = visitor;
    // Otherwise a stolen recovery code would let its thief create new codes.
    const codes = isRecovered(session.amr)
      ? undefined
      : await enrolment.makeRecoveryCodes(account.id, session.uid);
    const fields = { account_id: account.id, what: 'recovery_codes_made', method: 'recovery_codes' } as const;
    const reason = codes === undefined ? 'not_yours' : undefined;
    await noteFactor(host, actorOf(ctx), { ...fields, reason });
    if (codes === undefined) return list(ctx, visitor, { list: 'not_yours' });
    return show(ctx, host, { outcome: 'codes', username: account.username, codes, backUrl: page.url });
  };
}

/** Continues the session of the user who added the factor. Resolves whether they may have recovery codes now. */
async function keepSession(
  ctx: Context,
  host: Host,
  { session }: Visitor,
  { factors, proof }: Enrolled,
): Promise<boolean> {
  const amr = withProof(session.amr, proof);
  // The factor was proved just now. If it raises the session's level, store that, or the next page would ask for it.
  const isRaised = !reaches(levelOf(session.amr), levelOf(amr));
  const now = secondsOf(host);
  await host.sessions.update(ctx, {
    sessionsSince: factors.sessionsSince,
    ...(isRaised && { amr, factorAt: now }),
  });
  return !isRecovered(amr) && mayChangeFactors(host.config.signIn, { ...session, amr }, factors, now);
}

function createAdd(host: Host, second: SecondFactors, page: AccountPage, list: ShowList) {
  const { settings, enrolment } = second;
  const showCodes = createShowCodes(host, second, page, list);

  return async function add(ctx: Context, visitor: Visitor, form: Form): Promise<void> {
    const { session, account, factors } = visitor;
    const method = methodIn(form);
    if (!mayAddFactor(settings, visitor)) {
      const refused = { what: 'factor_added', method, reason: 'not_allowed' } as const;
      await noteFactor(host, actorOf(ctx), { account_id: account.id, ...refused });
      throw new Refusal(403, 'forbidden', 'the first factor needs a link from an administrator');
    }
    const again = (fault: EnrolmentModel['error']) =>
      list(ctx, visitor, { adding: method, enrolment: fault, sealed: form.field('sealed') });
    const isCode = method === 'one_time_code';
    if (isCode && factors.oneTimeCode !== undefined && form.field('replace') === '')
      return again('not_confirmed');
    const isFirst = !hasSecondFactor(factors);
    const mustVerifyUser = !isCode && !account.hasPassword;
    const of = { id: account.id, binding: bindingOf(visitor), by: session.uid, mustVerifyUser };
    const rest = { isFirst, isRecovered: isRecovered(session.amr) };
    const sent = { actor: actorOf(ctx), form };
    const enrolled = await addFromForm(host, enrolment, sent, { ...of, ...rest });
    if (typeof enrolled === 'string')
      return again(enrolled === 'not_first' || enrolled === 'ended' ? 'expired' : enrolled);
    const mayHaveCodes = await keepSession(ctx, host, visitor, enrolled);
    const isLastStep = isFirst && mayHaveCodes && settings.recoveryCodes > 0;
    return isLastStep ? showCodes(ctx, visitor) : seeOther(ctx, page.url);
  };
}

function createChanges(host: Host, second: SecondFactors, page: AccountPage, list: ShowList): AccountChanges {
  const { settings } = second;
  const showCodes = createShowCodes(host, second, page, list);

  return {
    add: createAdd(host, second, page, list),

    async remove(ctx, visitor, form) {
      const { account, session } = visitor;
      const factorId = form.field('id');
      const removed = await removeFactor(host.factors, settings, {
        accountId: account.id,
        factorId,
        by: session.uid,
        at: secondsOf(host),
        needed: neededOf(host, second, visitor),
      });
      if (removed === undefined) return seeOther(ctx, page.url);
      const method = factorId === ONE_TIME_CODES ? 'one_time_code' : 'passkey';
      const reason = removed === 'still_needed' ? removed : undefined;
      const fields = { account_id: account.id, what: 'factor_removed', method, reason } as const;
      await noteFactor(host, actorOf(ctx), fields);
      if (removed === 'still_needed') return list(ctx, visitor, { list: removed });
      await host.sessions.update(ctx, { sessionsSince: removed.sessionsSince });
      return seeOther(ctx, page.url);
    },

    async 'recovery-codes'(ctx, visitor) {
      if (settings.recoveryCodes === 0 || !hasSecondFactor(visitor.factors))
        throw new Refusal(403, 'forbidden');
      return showCodes(ctx, visitor);
    },
  };
}
