// The person's own page for factors: what they have, with forms to add and remove, after a sign-in of a moment ago.
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import { createAccessRules } from '../config/access-rules.ts';
import type { Config } from '../config/config.ts';
import { FACTORS_PATH } from '../config/endpoints.ts';
import type { Level } from '../config/sign-in-levels.ts';
import { type Audit, originOf } from '../observability/audit.ts';
import type { BrowserSession, BrowserSessions } from '../oidc/browser-session.ts';
import { ownSignInUrl } from '../oidc/own-client.ts';
import type { Clock } from '../store/store.ts';
import type { Account, Accounts } from '../users/accounts.ts';
import { isRecovered, levelOf, withProof } from '../users/authentication-methods.ts';
import type { Enrolment } from '../users/enrolment.ts';
import { type Factors, type FactorStore, hasSecondFactor } from '../users/factors.ts';
import { ONE_TIME_CODES, removeFactor } from '../users/remove-factor.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages, RenderContext } from '../views/pages.ts';
import { Refusal } from '../views/refusal.ts';
import type { Csrf } from './csrf.ts';
import { enrolmentAnswerOf, toEnrolmentModel } from './enrolment-form.ts';
import { type Form, readFormBody } from './form.ts';
import { toNoticeModel, toTimeText } from './show-second-step.ts';

/** NIST SP 800-63B-4 §4.1.2, ASVS 7.5.1: for a change of how one signs in. */
const FRESH_SECONDS = 300;
const STEP = 'factors';

export type FactorsRoutesParts = {
  readonly config: Pick<Config, 'issuer' | 'clients' | 'resources' | 'groups' | 'scopes'>;
  readonly signIn: NonNullable<Config['signIn']>;
  readonly sessions: BrowserSessions;
  readonly accounts: Pick<Accounts, 'findLive'>;
  readonly factors: FactorStore;
  readonly enrolment: Enrolment;
  readonly csrf: Csrf;
  readonly pages: Pages;
  readonly audit: Audit;
  readonly now: Clock;
};

type Person = { readonly session: BrowserSession; readonly account: Account; readonly own: Factors };
type ListError = Extract<PageModels['factors'], { outcome: 'list' }>['error'];
type EnrolmentError = Parameters<typeof toEnrolmentModel>[2];

export function factorsRoutes(parts: FactorsRoutesParts): Middleware {
  const { config, csrf } = parts;
  const admit = createAdmit(parts);
  const page = createFactorsPage(parts);
  const changes = createChanges(parts, page);
  const router = new Router({ prefix: FACTORS_PATH });

  router.get('/', async (ctx) => {
    const person = await admit(ctx);
    return typeof person === 'string' ? seeOther(ctx, person) : page.list(ctx, person);
  });

  router.get('/callback', (ctx) => {
    // Whoever declined to sign in is at nobody's page.
    seeOther(ctx, `${config.issuer}${ctx.query['error'] === undefined ? FACTORS_PATH : '/'}`);
  });

  for (const [path, change] of Object.entries(changes)) {
    router.post(path, async (ctx) => {
      const form = await readFormBody(ctx, config.issuer);
      const person = await admit(ctx);
      if (typeof person === 'string') return page.stale(ctx);
      if (csrf.matches(form.field('csrf'), person.session.uid, STEP)) return change(ctx, person, form);
      throw new Refusal(403, 'forbidden', 'the form is not from this page, please go back and try again');
    });
  }

  return router.routes() as unknown as Middleware;
}

type Change = (ctx: Context, person: Person, form: Form) => Promise<void>;

/** Below the page's own path. */
function createChanges(
  parts: FactorsRoutesParts,
  page: ReturnType<typeof createFactorsPage>,
): Readonly<Record<'/add' | '/remove' | '/recovery-codes', Change>> {
  const { config, signIn, sessions, factors, enrolment, audit, now } = parts;
  const rules = createAccessRules(config);
  const seconds = () => Math.floor(now() / 1000);
  const backToList = (ctx: Context) => seeOther(ctx, `${config.issuer}${FACTORS_PATH}`);

  /** What the person can't be without: where they may sign in, and everywhere. */
  function neededOf({ account }: Person): readonly Level[] {
    const clients = config.clients.filter(({ clientId }) => rules.mayUseClient(account, { clientId }));
    const wanted = clients.map((client) => client.signIn?.require).filter((level) => level !== undefined);
    if (!account.hasPassword) wanted.push('passkey');
    return signIn.secondFactor === 'required' ? [...wanted, 'second_factor'] : wanted;
  }

  function record(ctx: Context, { account }: Person, action: string, method: string): void {
    const who = { ...originOf(ctx.state), account_id: account.id };
    audit.record('factor_changed', 'success', { ...who, action, method });
  }

  return {
    async '/add'(ctx, person, form) {
      const { session, account, own } = person;
      if (!mayAdd(signIn, own)) {
        throw new Refusal(403, 'forbidden', 'the first factor needs a link of an operator');
      }
      const of = { id: account.id, binding: bindingOf(session), isFirst: !hasSecondFactor(own) };
      const checked = await enrolment.check(of, enrolmentAnswerOf(form));
      const enrolled = typeof checked === 'string' ? checked : await checked();
      if (typeof enrolled === 'string') {
        const error = enrolled === 'not_first' ? 'expired' : enrolled;
        return page.list(ctx, person, { enrolment: error, sealed: form.field('sealed') });
      }
      record(ctx, person, 'added', enrolled.method);
      // It was proved just now: the session is raised, or the next page would ask for it.
      const amr = withProof(session.amr, enrolled.proof);
      const { sessionsSince } = enrolled.factors;
      await sessions.update(ctx, { amr, factorAt: seconds(), sessionsSince });
      return backToList(ctx);
    },

    async '/remove'(ctx, person, form) {
      const removal = { accountId: person.account.id, factorId: form.field('id'), at: seconds() };
      const removed = await removeFactor(factors, signIn, { ...removal, needed: neededOf(person) });
      if (removed === 'still_needed') return page.list(ctx, person, { list: removed });
      if (removed !== undefined) {
        record(ctx, person, 'removed', removed.method);
        await sessions.update(ctx, { sessionsSince: removed.factors.sessionsSince });
      }
      return backToList(ctx);
    },

    async '/recovery-codes'(ctx, person) {
      const { account, own, session } = person;
      if (signIn.recoveryCodes === 0 || !hasSecondFactor(own)) throw new Refusal(403, 'forbidden');
      // Who came by one of them could else make themselves at home.
      if (isRecovered(session.amr)) return page.list(ctx, person, { list: 'not_yours' });
      const codes = await enrolment.makeRecoveryCodes(account.id);
      record(ctx, person, 'made', 'recovery_codes');
      return page.codes(ctx, account, codes);
    },
  };
}

const bindingOf = ({ uid }: BrowserSession) => `factors:${uid}`;

function seeOther(ctx: Context, url: string): void {
  ctx.redirect(url);
  ctx.status = 303;
}

/** The first factor is an operator's to allow, unless the file leaves it to people; a further one is the person's own. */
function mayAdd({ enrolment }: FactorsRoutesParts['signIn'], own: Factors): boolean {
  return enrolment === 'self' || hasSecondFactor(own);
}

/** Resolves who is there with a fresh sign-in, or where to sign in. */
function createAdmit(parts: FactorsRoutesParts): (ctx: Context) => Promise<Person | string> {
  const { config, sessions, accounts, factors, now } = parts;
  const signInUrl = (again: boolean) => ownSignInUrl(config.issuer, CALLBACK_PATH, again);

  return async function admit(ctx) {
    ctx.set('Cache-Control', 'no-store');
    const session = await sessions.find(ctx);
    const account = session && (await accounts.findLive(session.accountId, session.issued));
    if (session === undefined || account === undefined) return signInUrl(false);
    const own = await factors.get(account.id);
    const needsFactor = hasSecondFactor(own);
    const isEnough = !needsFactor || levelOf(session.amr) !== 'password';
    if (!isEnough || session.sessionsSince !== own.sessionsSince) return signInUrl(false);
    const provedAt = needsFactor ? (session.factorAt ?? 0) : session.issued.at;
    const isFresh = Math.floor(now() / 1000) - provedAt <= FRESH_SECONDS;
    return isFresh ? { session, account, own } : signInUrl(true);
  };
}

/** Where the own client (oidc/own-client.ts) comes back to. */
export const CALLBACK_PATH = `${FACTORS_PATH}/callback`;

function createFactorsPage({ config, signIn, enrolment, csrf, pages }: FactorsRoutesParts) {
  const url = `${config.issuer}${FACTORS_PATH}`;

  function show(ctx: Context, model: PageModels['factors'], status = 200): void {
    ctx.set('Cache-Control', 'no-store');
    ctx.status = status;
    ctx.type = 'html';
    ctx.body = pages.render('factors', model, ctx.state['page'] as RenderContext);
  }

  const toModel =
    (locale: string) =>
    (factor: Pick<Factors['passkeys'][number], 'id' | 'name' | 'createdAt' | 'usedAt' | 'suspect'>) => ({
      id: factor.id,
      name: factor.name === '' ? undefined : factor.name,
      createdAt: toTimeText(factor.createdAt, locale),
      usedAt: factor.usedAt === undefined ? undefined : toTimeText(factor.usedAt, locale),
      suspect: factor.suspect === true,
      removeAction: `${url}/remove`,
    });

  return {
    stale: (ctx: Context) => show(ctx, { outcome: 'stale', signInUrl: url }, 403),

    codes: (ctx: Context, { username }: Account, codes: readonly string[]) =>
      show(ctx, { outcome: 'codes', username, codes, backUrl: url }),

    async list(
      ctx: Context,
      { session, account, own }: Person,
      error: {
        readonly list?: ListError;
        readonly enrolment?: EnrolmentError;
        readonly sealed?: string;
      } = {},
    ): Promise<void> {
      const { locale } = ctx.state['page'] as RenderContext;
      const token = csrf.token(session.uid, STEP);
      const target = { action: `${url}/add`, csrf: token };
      const who = { id: account.id, username: account.username };
      const begun = mayAdd(signIn, own)
        ? await enrolment.begin(
            { ...who, mustVerifyUser: !account.hasPassword },
            bindingOf(session),
            error.sealed,
          )
        : undefined;
      const { oneTimeCode } = own;
      const codes = oneTimeCode && { id: ONE_TIME_CODES, name: '', createdAt: oneTimeCode.createdAt };
      const toFactor = toModel(locale);
      const model: PageModels['factors'] = {
        outcome: 'list',
        username: account.username,
        csrf: token,
        factors: [
          ...own.passkeys.map((one) => ({ method: 'passkey' as const, ...toFactor(one) })),
          ...(codes ? [{ method: 'one_time_code' as const, ...toFactor(codes) }] : []),
        ],
        recoveryCodes:
          signIn.recoveryCodes > 0
            ? {
                left: own.recoveryCodes.length,
                action: hasSecondFactor(own) ? `${url}/recovery-codes` : undefined,
              }
            : undefined,
        enrolment: begun && toEnrolmentModel(begun, target, error.enrolment),
        notices: own.notices.map((one) => toNoticeModel(one, locale)),
        error: error.list,
      };
      show(ctx, model, error.list === undefined && error.enrolment === undefined ? 200 : 422);
    },
  };
}
