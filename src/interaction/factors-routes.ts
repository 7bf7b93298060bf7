// The person's own page for factors: what they have, with forms to add and remove, after a sign-in of a moment ago.
import type { Context } from 'koa';
import type Router from 'koa-router';
import { createAccessRules } from '../config/access-rules.ts';
import { FACTORS_PATH } from '../config/endpoints.ts';
import { type Level, reaches } from '../config/sign-in-levels.ts';
import { originOf } from '../observability/audit.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import { isRecovered, levelOf, withProof } from '../users/authentication-methods.ts';
import { type Factors, hasSecondFactor } from '../users/factors.ts';
import { noticesFor } from '../users/notices.ts';
import { mayChangeFactors } from '../users/recent-proof.ts';
import { ONE_TIME_CODES, removeFactor } from '../users/remove-factor.ts';
import type { EnrolmentModel, PageModels } from '../views/models.ts';
import { Refusal } from '../views/refusal.ts';
import { addFactor, recordEnrolment, toEnrolmentModel } from './enrolment-form.ts';
import type { Form } from './form.ts';
import { seeOther } from './go-on.ts';
import { type Host, type SecondFactors, secondsOf } from './host.ts';
import { addOwnPage, createOwnPage, type OwnPage, type Visitor } from './own-page.ts';
import { toNoticeModel, toTimeText } from './show-second-step.ts';

type ListError = Extract<PageModels['factors'], { outcome: 'list' }>['error'];
type Refused = {
  readonly list?: ListError;
  readonly enrolment?: EnrolmentModel['error'];
  readonly sealed?: string;
};
type Shown = Pick<Factors['passkeys'][number], 'id' | 'name' | 'createdAt' | 'usedAt' | 'suspect'>;

const bindingOf = ({ session }: Visitor) => `factors:${session.uid}`;

export class FactorsPage {
  readonly #host: Host;
  readonly #second: SecondFactors;
  readonly #page: OwnPage;

  constructor(host: Host, second: SecondFactors) {
    this.#host = host;
    this.#second = second;
    this.#page = createOwnPage(host, FACTORS_PATH);
  }

  addTo(router: Router): void {
    const page = this.#page;
    const { settings } = this.#second;
    const mayChange = ({ session, own }: Visitor) =>
      mayChangeFactors(settings, session, own, secondsOf(this.#host));
    const stale = (ctx: Context, visitor: Visitor | undefined) => {
      const outcome = visitor?.isFresh === true ? 'passkey_needed' : 'stale';
      this.#show(ctx, { outcome, signInUrl: page.signInUrl(visitor !== undefined) }, 403);
    };
    addOwnPage(router, this.#host, page, {
      // Its forms are of no use to others.
      show: (ctx, visitor) => {
        if (!visitor.isFresh) return seeOther(ctx, page.signInUrl(true));
        return mayChange(visitor) ? this.#list(ctx, visitor) : stale(ctx, visitor);
      },
      stale,
      mayChange,
      changes: {
        add: (ctx, visitor, form) => this.#add(ctx, visitor, form),
        remove: (ctx, visitor, form) => this.#remove(ctx, visitor, form),
        'recovery-codes': (ctx, visitor) => this.#makeRecoveryCodes(ctx, visitor),
      },
    });
  }

  /** The first factor is an operator's to allow, unless the file leaves it to people; a further one is the person's own. */
  #mayAdd({ own }: Visitor): boolean {
    return this.#second.settings.enrolment === 'self' || hasSecondFactor(own);
  }

  async #add(ctx: Context, visitor: Visitor, form: Form): Promise<void> {
    const { session, account, own } = visitor;
    if (!this.#mayAdd(visitor)) {
      recordEnrolment(this.#host, ctx, form, { account_id: account.id, enrolled: 'not_allowed' });
      throw new Refusal(403, 'forbidden', 'the first factor needs a link of an operator');
    }
    const sealed = form.field('sealed');
    const isCode = form.field('response') === '';
    if (isCode && own.oneTimeCode !== undefined && form.field('replace') === '') {
      return this.#list(ctx, visitor, { enrolment: 'not_confirmed', sealed });
    }
    const enrolled = await addFactor(
      this.#host,
      this.#second,
      { ctx, form },
      {
        id: account.id,
        binding: bindingOf(visitor),
        isFirst: !hasSecondFactor(own),
        isRecovered: isRecovered(session.amr),
        by: session.uid,
      },
    );
    if (typeof enrolled === 'string') {
      const isOver = enrolled === 'not_first' || enrolled === 'ended';
      return this.#list(ctx, visitor, { enrolment: isOver ? 'expired' : enrolled, sealed });
    }
    const { sessionsSince } = enrolled.factors;
    const amr = withProof(session.amr, enrolled.proof);
    // It was proved just now: where that raises the session, the next page would ask for it.
    const isRaised = !reaches(levelOf(session.amr), levelOf(amr));
    const raised = isRaised && { amr, factorAt: secondsOf(this.#host) };
    await this.#host.sessions.update(ctx, { sessionsSince, ...raised });
    return seeOther(ctx, this.#page.url);
  }

  async #remove(ctx: Context, visitor: Visitor, form: Form): Promise<void> {
    const { factors, settings } = this.#second;
    const { account, session } = visitor;
    const removal = { accountId: account.id, factorId: form.field('id'), by: session.uid };
    const at = secondsOf(this.#host);
    const removed = await removeFactor(factors, settings, {
      ...removal,
      at,
      needed: this.#neededOf(visitor),
    });
    if (removed === 'still_needed') {
      const method = removal.factorId === ONE_TIME_CODES ? 'one_time_code' : 'passkey';
      this.#record(ctx, visitor, { action: 'removed', method, reason: removed });
      return this.#list(ctx, visitor, { list: removed });
    }
    if (removed !== undefined) {
      this.#record(ctx, visitor, { action: 'removed', method: removed.method });
      await this.#host.tell(ctx, account.id, 'factor_removed');
      await this.#host.sessions.update(ctx, { sessionsSince: removed.factors.sessionsSince });
    }
    return seeOther(ctx, this.#page.url);
  }

  /** What the person can't be without: where they may sign in, and everywhere. */
  #neededOf({ account }: Visitor): readonly Level[] {
    const { config } = this.#host;
    const rules = createAccessRules(config);
    const clients = config.clients.filter(({ clientId }) => rules.mayUseClient(account, { clientId }));
    const wanted = clients.map((client) => client.signIn?.require).filter((level) => level !== undefined);
    if (!account.hasPassword) wanted.push('passkey');
    return this.#second.settings.secondFactor === 'required' ? [...wanted, 'second_factor'] : wanted;
  }

  async #makeRecoveryCodes(ctx: Context, visitor: Visitor): Promise<void> {
    const { account, own, session } = visitor;
    const { settings, enrolment } = this.#second;
    if (settings.recoveryCodes === 0 || !hasSecondFactor(own)) throw new Refusal(403, 'forbidden');
    const made = { action: 'made', method: 'recovery_codes' };
    // Who came by one of them could else make themselves at home.
    if (isRecovered(session.amr)) {
      this.#record(ctx, visitor, { ...made, reason: 'not_yours' });
      return this.#list(ctx, visitor, { list: 'not_yours' });
    }
    const codes = await enrolment.makeRecoveryCodes(account.id, session.uid);
    this.#record(ctx, visitor, made);
    await this.#host.tell(ctx, account.id, 'recovery_codes_made');
    return this.#show(ctx, { outcome: 'codes', username: account.username, codes, backUrl: this.#page.url });
  }

  #record(
    ctx: Context,
    { account }: Visitor,
    of: { readonly action: string; readonly method: string; readonly reason?: string },
  ): void {
    const outcome = of.reason === undefined ? 'success' : 'failure';
    const who = { ...originOf(ctx.state), account_id: account.id };
    this.#host.audit.record('factor_changed', outcome, { ...who, ...of });
  }

  async #list(ctx: Context, visitor: Visitor, refused: Refused = {}): Promise<void> {
    const { locale } = pageContextOf(ctx);
    const { account, own } = visitor;
    const { settings, enrolment } = this.#second;
    const { id, username, hasPassword } = account;
    const { url } = this.#page;
    const csrf = this.#page.token(visitor);
    const of = { id, username, mustVerifyUser: !hasPassword };
    const begun = this.#mayAdd(visitor)
      ? await enrolment.begin(of, bindingOf(visitor), refused.sealed)
      : undefined;
    const toModel = ({ name, createdAt, usedAt, suspect, ...one }: Shown) => ({
      id: one.id,
      name: name === '' ? undefined : name,
      createdAt: toTimeText(createdAt, locale),
      usedAt: usedAt === undefined ? undefined : toTimeText(usedAt, locale),
      suspect: suspect === true,
      removeAction: `${url}/remove`,
    });
    const codes = own.oneTimeCode && { ...own.oneTimeCode, id: ONE_TIME_CODES, name: '' };
    const left = own.recoveryCodes.length;
    const makeAction = hasSecondFactor(own) ? `${url}/recovery-codes` : undefined;
    const model: PageModels['factors'] = {
      outcome: 'list',
      username,
      csrf,
      factors: [
        ...own.passkeys.map((one) => ({ method: 'passkey' as const, ...toModel(one) })),
        ...(codes ? [{ method: 'one_time_code' as const, ...toModel(codes) }] : []),
      ],
      recoveryCodes: settings.recoveryCodes === 0 ? undefined : { left, action: makeAction },
      enrolment: begun && toEnrolmentModel(begun, { action: `${url}/add`, csrf }, refused.enrolment),
      notices: noticesFor(own.notices, undefined, secondsOf(this.#host)).map((one) =>
        toNoticeModel(one, locale),
      ),
      error: refused.list,
    };
    this.#show(ctx, model, refused.list === undefined && refused.enrolment === undefined ? 200 : 422);
  }

  #show(ctx: Context, model: PageModels['factors'], status = 200): void {
    ctx.status = status;
    sendPage(ctx, this.#host.pages.render('factors', model, pageContextOf(ctx)));
  }
}
