// The person's own page for factors: what they have, with forms to add and remove, after a sign-in of a moment ago.
import type { Context, Middleware } from 'koa';
import { createAccessRules } from '../config/access-rules.ts';
import type { Config } from '../config/config.ts';
import { type Level, reaches } from '../config/sign-in-levels.ts';
import { type AuditFields, originOf } from '../observability/audit.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import type { Account } from '../users/accounts.ts';
import { isRecovered, levelOf, withProof } from '../users/authentication-methods.ts';
import type { Enrolment } from '../users/enrolment.ts';
import { type Factors, type FactorStore, hasSecondFactor } from '../users/factors.ts';
import { noticesFor } from '../users/notices.ts';
import { mayChangeFactors } from '../users/recent-proof.ts';
import { ONE_TIME_CODES, removeFactor } from '../users/remove-factor.ts';
import type { PageModels } from '../views/models.ts';
import { Refusal } from '../views/refusal.ts';
import { enrolmentAnswerOf, recordEnrolment, toEnrolmentModel } from './enrolment-form.ts';
import {
  createOwnPage,
  type OwnPage,
  type OwnPageParts,
  type OwnPageRoutes,
  ownPageRoutes,
  type Visitor,
} from './own-page.ts';
import { toNoticeModel, toTimeText } from './show-second-step.ts';
import { seeOther } from './go-on.ts';
import type { Tell } from './tell.ts';

export type FactorsRoutesParts = OwnPageParts & {
  readonly signIn: NonNullable<Config['signIn']>;
  readonly factors: FactorStore;
  readonly enrolment: Enrolment;
  /** What the person can look up later; undefined where there is no such page. */
  readonly tell?: Tell | undefined;
};

type ListError = Extract<PageModels['factors'], { outcome: 'list' }>['error'];
type EnrolmentError = Parameters<typeof toEnrolmentModel>[2];

/** `path`: of the page, below the issuer. */
export function factorsRoutes(parts: FactorsRoutesParts, path: string): Middleware {
  const { issuer } = parts.config;
  const own = createOwnPage(parts, path);
  const pageUrl = `${issuer}${path}`;
  const page = createFactorsPage(parts, own, pageUrl);
  const mayChange = ({ session, own: factors }: Visitor) =>
    mayChangeFactors(parts.signIn, session, factors, parts.now() / 1000);
  return ownPageRoutes(
    own,
    { issuer, path },
    {
      // Its forms are of no use to others.
      show: (ctx, visitor) => {
        if (!visitor.isFresh) return seeOther(ctx, own.signInUrl(true));
        return mayChange(visitor) ? page.list(ctx, visitor) : page.stale(ctx, visitor);
      },
      stale: page.stale,
      mayChange,
      changes: createChanges(parts, page, pageUrl),
    },
  );
}

function createRecord({ audit, tell }: Pick<FactorsRoutesParts, 'audit' | 'tell'>) {
  return async function record(
    ctx: Context,
    { account }: Visitor,
    what: FactorEvent,
    of: Pick<AuditFields, 'method' | 'reason'>,
  ): Promise<void> {
    const who = { ...originOf(ctx.state), account_id: account.id };
    const outcome = of.reason === undefined ? 'success' : 'failure';
    audit.record('factor_changed', outcome, { ...who, action: ACTIONS[what], ...of });
    if (outcome === 'success') await tell?.(ctx, account.id, what);
  };
}

/** What the person can't be without: where they may sign in, and everywhere. */
function createNeededOf({ config, signIn }: Pick<FactorsRoutesParts, 'config' | 'signIn'>) {
  const rules = createAccessRules(config);
  return function neededOf({ account }: Visitor): readonly Level[] {
    const clients = config.clients.filter(({ clientId }) => rules.mayUseClient(account, { clientId }));
    const wanted = clients.map((client) => client.signIn?.require).filter((level) => level !== undefined);
    if (!account.hasPassword) wanted.push('passkey');
    return signIn.secondFactor === 'required' ? [...wanted, 'second_factor'] : wanted;
  };
}

function createChanges(
  parts: FactorsRoutesParts,
  page: ReturnType<typeof createFactorsPage>,
  pageUrl: string,
): OwnPageRoutes['changes'] {
  const { signIn, sessions, factors, enrolment, audit, now, tell } = parts;
  const neededOf = createNeededOf(parts);
  const record = createRecord(parts);
  const seconds = () => Math.floor(now() / 1000);
  const backToList = (ctx: Context) => seeOther(ctx, pageUrl);

  return {
    async add(ctx, person, form) {
      const { session, account, own } = person;
      const who = { account_id: account.id };
      if (!mayAdd(signIn, own)) {
        recordEnrolment(audit, ctx, form, { ...who, enrolled: 'not_allowed' });
        throw new Refusal(403, 'forbidden', 'the first factor needs a link of an operator');
      }
      const isCode = form.field('response') === '';
      if (isCode && own.oneTimeCode !== undefined && form.field('replace') === '') {
        return page.list(ctx, person, { enrolment: 'not_confirmed', sealed: form.field('sealed') });
      }
      const of = { id: account.id, binding: bindingOf(session), isFirst: !hasSecondFactor(own) };
      const ofSession = { ...of, isRecovered: isRecovered(session.amr), by: session.uid };
      const checked = await enrolment.check(ofSession, enrolmentAnswerOf(form));
      const enrolled = typeof checked === 'string' ? checked : await checked();
      recordEnrolment(audit, ctx, form, { ...who, enrolled });
      if (typeof enrolled === 'string') {
        const error = enrolled === 'not_first' ? 'expired' : enrolled;
        return page.list(ctx, person, { enrolment: error, sealed: form.field('sealed') });
      }
      await tell?.(ctx, account.id, enrolled.what);
      const { sessionsSince } = enrolled.factors;
      const amr = withProof(session.amr, enrolled.proof);
      // It was proved just now: where that raises the session, the next page would ask for it.
      const isRaised = !reaches(levelOf(session.amr), levelOf(amr));
      await sessions.update(ctx, { sessionsSince, ...(isRaised && { amr, factorAt: seconds() }) });
      return backToList(ctx);
    },

    async remove(ctx, person, form) {
      const { account, session } = person;
      const removal = { accountId: account.id, factorId: form.field('id'), at: seconds(), by: session.uid };
      const removed = await removeFactor(factors, signIn, { ...removal, needed: neededOf(person) });
      if (removed === 'still_needed') {
        const method = removal.factorId === ONE_TIME_CODES ? 'one_time_code' : 'passkey';
        await record(ctx, person, 'factor_removed', { method, reason: removed });
        return page.list(ctx, person, { list: removed });
      }
      if (removed !== undefined) {
        await record(ctx, person, 'factor_removed', { method: removed.method });
        await sessions.update(ctx, { sessionsSince: removed.factors.sessionsSince });
      }
      return backToList(ctx);
    },

    async 'recovery-codes'(ctx, person) {
      const { account, own, session } = person;
      if (signIn.recoveryCodes === 0 || !hasSecondFactor(own)) throw new Refusal(403, 'forbidden');
      // Who came by one of them could else make themselves at home.
      const method = 'recovery_codes';
      if (isRecovered(session.amr)) {
        await record(ctx, person, 'recovery_codes_made', { method, reason: 'not_yours' });
        return page.list(ctx, person, { list: 'not_yours' });
      }
      const codes = await enrolment.makeRecoveryCodes(account.id, session.uid);
      await record(ctx, person, 'recovery_codes_made', { method });
      return page.codes(ctx, account, codes);
    },
  };
}

const bindingOf = ({ uid }: Visitor['session']) => `factors:${uid}`;

/** In the audit trail. */
const ACTIONS = { factor_removed: 'removed', recovery_codes_made: 'made' } as const;
type FactorEvent = keyof typeof ACTIONS;

/** The first factor is an operator's to allow, unless the file leaves it to people; a further one is the person's own. */
function mayAdd({ enrolment }: FactorsRoutesParts['signIn'], own: Factors): boolean {
  return enrolment === 'self' || hasSecondFactor(own);
}

type Shown = Pick<Factors['passkeys'][number], 'id' | 'name' | 'createdAt' | 'usedAt' | 'suspect'>;

function createFactorsPage(
  { signIn, enrolment, pages, now }: FactorsRoutesParts,
  ownPage: OwnPage,
  url: string,
) {
  function show(ctx: Context, model: PageModels['factors'], status = 200): void {
    ctx.status = status;
    sendPage(ctx, pages.render('factors', model, pageContextOf(ctx)));
  }

  const toModel = ({ id, name, createdAt, usedAt, suspect }: Shown, locale: string) => ({
    id,
    name: name === '' ? undefined : name,
    createdAt: toTimeText(createdAt, locale),
    usedAt: usedAt === undefined ? undefined : toTimeText(usedAt, locale),
    suspect: suspect === true,
    removeAction: `${url}/remove`,
  });

  return {
    stale: (ctx: Context, visitor: Visitor | undefined) => {
      const outcome = visitor?.isFresh === true ? 'passkey_needed' : 'stale';
      show(ctx, { outcome, signInUrl: ownPage.signInUrl(visitor !== undefined) }, 403);
    },

    codes: (ctx: Context, { username }: Account, codes: readonly string[]) =>
      show(ctx, { outcome: 'codes', username, codes, backUrl: url }),

    async list(
      ctx: Context,
      visitor: Visitor,
      error: {
        readonly list?: ListError;
        readonly enrolment?: EnrolmentError;
        readonly sealed?: string;
      } = {},
    ): Promise<void> {
      const { locale } = pageContextOf(ctx);
      const { session, account, own } = visitor;
      const token = ownPage.token(visitor);
      const target = { action: `${url}/add`, csrf: token };
      const who = { id: account.id, username: account.username };
      const begun = mayAdd(signIn, own)
        ? await enrolment.begin(
            { ...who, mustVerifyUser: !account.hasPassword },
            bindingOf(session),
            error.sealed,
          )
        : undefined;
      const codes = own.oneTimeCode && { ...own.oneTimeCode, id: ONE_TIME_CODES, name: '' };
      const unread = noticesFor(own.notices, undefined, Math.floor(now() / 1000));
      const model: PageModels['factors'] = {
        outcome: 'list',
        username: account.username,
        csrf: token,
        factors: [
          ...own.passkeys.map((one) => ({ method: 'passkey' as const, ...toModel(one, locale) })),
          ...(codes ? [{ method: 'one_time_code' as const, ...toModel(codes, locale) }] : []),
        ],
        recoveryCodes:
          signIn.recoveryCodes === 0
            ? undefined
            : {
                left: own.recoveryCodes.length,
                action: hasSecondFactor(own) ? `${url}/recovery-codes` : undefined,
              },
        enrolment: begun && toEnrolmentModel(begun, target, error.enrolment),
        notices: unread.map((one) => toNoticeModel(one, locale)),
        error: error.list,
      };
      show(ctx, model, error.list === undefined && error.enrolment === undefined ? 200 : 422);
    },
  };
}
