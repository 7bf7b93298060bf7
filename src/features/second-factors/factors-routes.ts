// The user's own page for factors: what they have, with forms to add and remove, after a sign-in of a moment ago.
import type { Context } from 'koa';
import { FACTORS_PATH } from '../../config/endpoint-rows.ts';
import { type Level, reaches } from '../../config/sign-in-levels.ts';
import { pageContextOf, seeOther, sendPage } from '../../oidc/send-page.ts';
import { isRecovered, levelOf, withProof } from '../../users/authentication-methods.ts';
import { type Method, type Passkey, hasSecondFactor } from '../../users/factors.ts';
import { noticesFor } from './notices.ts';
import { mayChangeFactors, noteFactor, ONE_TIME_CODES, removeFactor } from './factor-acts.ts';
import type { PageModels } from '../../views/models.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import { Refusal } from '../../views/refusal.ts';
import { actorOf } from '../../interaction/actor.ts';
import { addFromForm, methodIn, toEnrolmentModel } from './enrolment.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import type { SecondFactors } from './second-factors.ts';
import {
  type OwnChanges,
  type OwnPage,
  type Route,
  type Visitor,
  createOwnPage,
  routeOf,
} from '../../interaction/own-page.ts';
import { toNoticeModel } from './second-step-routes.ts';
import { toTimeText } from '../../interaction/time-texts.ts';

type List = Extract<PageModels['factors'], { outcome: 'list' }>;
type Refused = Readonly<{
  list?: List['error'];
  enrolment?: EnrolmentModel['error'];
  sealed?: string;
}>;

const bindingOf = ({ session }: Visitor) => `factors:${session.uid}`;

/** The first factor is an operator's to allow, unless the file leaves it to users; a further one is the user's own. */
const mayAdd = ({ settings }: SecondFactors, { own }: Visitor) =>
  settings.enrolment === 'self' || hasSecondFactor(own);

function show(ctx: Context, { pages }: Host, model: PageModels['factors'], status = 200): void {
  ctx.status = status;
  sendPage(ctx, pages.render('factors', model, pageContextOf(ctx)));
}

export function factorsPage(host: Host, second: SecondFactors): Route {
  const page = createOwnPage(host, FACTORS_PATH);
  const list = createShowList(host, second, page);
  const mayChange = ({ session, own }: Visitor) =>
    mayChangeFactors(second.settings, session, own, secondsOf(host));
  function stale(ctx: Context, visitor: Visitor | undefined): void {
    const outcome = visitor?.isFresh === true ? 'passkey_needed' : 'stale';
    show(ctx, host, { outcome, signInUrl: page.signInUrl(visitor !== undefined) }, 403);
  }
  return routeOf(host, page, {
    // Its forms are of no use to others.
    show(ctx, visitor) {
      if (!visitor.isFresh) return seeOther(ctx, page.signInUrl(true));
      return mayChange(visitor) ? list(ctx, visitor) : stale(ctx, visitor);
    },
    stale,
    mayChange,
    changes: createChanges(host, second, page, list),
  });
}

type ShowList = (ctx: Context, visitor: Visitor, refused?: Refused) => Promise<void>;

function createShowList(host: Host, second: SecondFactors, { url, token }: OwnPage): ShowList {
  const { settings, enrolment } = second;
  return async function showList(ctx, visitor, refused = {}) {
    const { locale } = pageContextOf(ctx);
    const { account, own } = visitor;
    const { id, username, hasPassword } = account;
    const csrf = token(visitor);
    const begun = mayAdd(second, visitor)
      ? await enrolment.begin(
          { id, username, mustVerifyUser: !hasPassword },
          bindingOf(visitor),
          refused.sealed,
        )
      : undefined;
    const toModel = (
      method: Method,
      one: Pick<Passkey, 'id' | 'name' | 'createdAt' | 'usedAt' | 'suspect'>,
    ) => ({
      method,
      id: one.id,
      name: one.name || undefined,
      createdAt: toTimeText(one.createdAt, locale),
      usedAt: one.usedAt === undefined ? undefined : toTimeText(one.usedAt, locale),
      suspect: one.suspect === true,
      removeAction: `${url}/remove`,
    });
    const factors = own.passkeys.map((one) => toModel('passkey', one));
    if (own.oneTimeCode !== undefined)
      factors.push(toModel('one_time_code', { ...own.oneTimeCode, id: ONE_TIME_CODES, name: '' }));
    const action = hasSecondFactor(own) ? `${url}/recovery-codes` : undefined;
    const model: List = {
      outcome: 'list',
      username,
      csrf,
      factors,
      recoveryCodes: settings.recoveryCodes === 0 ? undefined : { left: own.recoveryCodes.length, action },
      enrolment: begun && toEnrolmentModel(begun, { action: `${url}/add`, csrf }, refused.enrolment),
      notices: noticesFor(own.notices, undefined, secondsOf(host)).map((one) => toNoticeModel(one, locale)),
      error: refused.list,
    };
    show(ctx, host, model, refused.list === undefined && refused.enrolment === undefined ? 200 : 422);
  };
}

/** What the user can't be without: where they may sign in, and everywhere. */
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

function createChanges(host: Host, second: SecondFactors, page: OwnPage, list: ShowList): OwnChanges {
  const { settings, enrolment } = second;

  return {
    async add(ctx, visitor, form) {
      const { session, account, own } = visitor;
      if (!mayAdd(second, visitor)) {
        const refused = { what: 'factor_added', method: methodIn(form), reason: 'not_allowed' } as const;
        await noteFactor(host, actorOf(ctx), { account_id: account.id, ...refused });
        throw new Refusal(403, 'forbidden', 'the first factor needs a link of an operator');
      }
      const sealed = form.field('sealed');
      const isCode = methodIn(form) === 'one_time_code';
      if (isCode && own.oneTimeCode !== undefined && form.field('replace') === '')
        return list(ctx, visitor, { enrolment: 'not_confirmed', sealed });
      const mustVerifyUser = !isCode && !account.hasPassword;
      const of = { id: account.id, binding: bindingOf(visitor), by: session.uid, mustVerifyUser };
      const rest = { isFirst: !hasSecondFactor(own), isRecovered: isRecovered(session.amr) };
      const enrolled = await addFromForm(
        host,
        second.enrolment,
        { actor: actorOf(ctx), form },
        { ...of, ...rest },
      );
      if (typeof enrolled === 'string') {
        const isOver = enrolled === 'not_first' || enrolled === 'ended';
        return list(ctx, visitor, { enrolment: isOver ? 'expired' : enrolled, sealed });
      }
      const { sessionsSince } = enrolled.factors;
      const amr = withProof(session.amr, enrolled.proof);
      // It was proved just now: where that raises the session, the next page would ask for it.
      const isRaised = !reaches(levelOf(session.amr), levelOf(amr));
      await host.sessions.update(ctx, { sessionsSince, ...(isRaised && { amr, factorAt: secondsOf(host) }) });
      return seeOther(ctx, page.url);
    },

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
      const { account, own, session } = visitor;
      if (settings.recoveryCodes === 0 || !hasSecondFactor(own)) throw new Refusal(403, 'forbidden');
      // Who came by one of them could else make themselves at home.
      const codes = isRecovered(session.amr)
        ? undefined
        : await enrolment.makeRecoveryCodes(account.id, session.uid);
      const reason = codes === undefined ? 'not_yours' : undefined;
      const fields = {
        account_id: account.id,
        what: 'recovery_codes_made',
        method: 'recovery_codes',
      } as const;
      await noteFactor(host, actorOf(ctx), { ...fields, reason });
      if (codes === undefined) return list(ctx, visitor, { list: 'not_yours' });
      return show(ctx, host, { outcome: 'codes', username: account.username, codes, backUrl: page.url });
    },
  };
}
