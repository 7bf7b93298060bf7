// Lets the sign-in pages read an open interaction of the engine and finish it, once.
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import { isUrlClient } from '../config/client-id-url.ts';
import type { Issued } from '../users/accounts.ts';
import { notify } from '../users/acts.ts';
import { type Amr, levelOf } from '../users/authentication-methods.ts';
import { type AuditFields, originOf, type Outcome } from '../observability/audit.ts';
import { DocumentChanged } from '../store/documents.ts';
import { type CollectionWrite, withMayBeDone } from '../store/store.ts';
import { interactionGone } from './adapter.ts';
import { recordKey } from './record-payload.ts';
import { findGrant, grantWith } from './policies/existing-grant.ts';
import { WHOLE_API } from './policies/asked-for.ts';
import { NO_ACCESS } from './policies/interaction-policy.ts';
import { type OpenInteraction, toOpenInteraction } from './open-interaction.ts';
import { placeOf } from './place.ts';
import type { EngineApp } from './provider.ts';

const DECLINED = 'the user declined the request';

/** A sign-in: the user, its time and its proof. `proved` is only set when the configuration has `sign_in`. */
type Login = Issued & {
  readonly accountId: string;
  /** The trusted-browser cookie (users/trusted-browsers.ts). */
  readonly device: string;
  readonly proved?: Proved | undefined;
};

export type Proved = Readonly<{
  amr: Amr;
  /** Time of the second factor, in epoch seconds. */
  factorAt?: number | undefined;
  /** The `sessionsSince` of the user's factors: another value ends the session. */
  sessionsSince: number;
}>;

/** `answered`: the engine has answered this request already. `gone`: another request finished the interaction first. */
export type Destination = { readonly url: string } | 'answered' | 'gone';

type Result = Parameters<Provider['interactionResult']>[2];
/** A function runs once this request has the lock, so that a loser saves nothing. */
type GivenResult = Result | (() => Promise<Result>);

export type Interactions = ReturnType<typeof createInteractions>;

export function createInteractions(app: EngineApp) {
  const finish = (ctx: Context, { uid }: OpenInteraction, result: GivenResult, spends?: CollectionWrite) =>
    orGone(finishOnce(app, ctx, uid, result, { spends }), 'gone');
  /** Also resumes in this request if possible. Not after changes in this request to data that the engine reads. */
  const finishAndResume = (ctx: Context, { uid, isRedirected }: OpenInteraction, result: GivenResult) =>
    orGone(
      finishOnce(app, ctx, uid, result, { resumes: isRedirected && app.userLists === undefined }),
      'gone',
    );
  const deny = (ctx: Context, interaction: OpenInteraction, description: string) =>
    finishAndResume(ctx, interaction, { error: 'access_denied', error_description: description });

  return {
    /** Undefined when the interaction isn't this browser's, has expired, was finished, or its session changed. */
    async find(ctx: Context, uid: string): Promise<OpenInteraction | undefined> {
      const details = await orGone(app.provider.interactionDetails(ctx.req, ctx.res), undefined);
      // The cookie names the interaction; the path must name the same one.
      if (details?.uid !== uid || details.result !== undefined) return undefined;
      return app.browsers.isOf(ctx, details) ? toOpenInteraction(app, details) : undefined;
    },

    /** Writes `spends` together with the result. Throws DocumentChanged when `spends` has an outdated version. */
    async finishLogin(ctx: Context, interaction: OpenInteraction, login: Login, spends?: CollectionWrite) {
      const isNew = app.notifiesUsers && (await isNewBrowser(app, login));
      await app.records.beside(() => app.noteSignIn(login.accountId));
      // A user who signs in has chosen their account.
      const chosen = interaction.prompt === 'select_account' && { select_account: {} };
      const result = { login: toLogin(app, ctx, login), ...chosen };
      const destination = await (login.proved?.factorAt === undefined && spends === undefined
        ? finishAndResume(ctx, interaction, result)
        : finish(ctx, interaction, result, spends));
      const { accountId } = login;
      if (isNew && destination !== 'gone')
        await notify(app, { accountId, what: 'new_browser', place: placeOf(ctx) });
      return destination;
    },

    /** The signed-in user proved more. The session continues and keeps its end. */
    async finishStepUp(ctx: Context, interaction: OpenInteraction, proved: Proved, spends?: CollectionWrite) {
      const { accountId, issued } = interaction;
      if (accountId === undefined || issued === undefined) return 'gone';
      // Without `login` the engine doesn't change the session and prompts again.
      const login = toLogin(app, ctx, { accountId, ...issued, proved, device: '' });
      return finish(ctx, interaction, { second_factor: {}, login }, spends);
    },

    finishNotice: (ctx: Context, interaction: OpenInteraction) => finish(ctx, interaction, { notice: {} }),

    finishSelection: (ctx: Context, interaction: OpenInteraction) =>
      finishAndResume(ctx, interaction, { select_account: {} }),

    async finishConsent(ctx: Context, interaction: OpenInteraction) {
      const { accountId, issued, grantId, settings, missing } = interaction;
      if (accountId === undefined || issued === undefined) return 'gone';
      if (await hasLostAccess(app, interaction)) return finish(ctx, interaction, { access: {} });
      const { provider, consents, clients } = app;
      const { clientId } = settings;
      const isPinned = isUrlClient(clientId) && clients.find(clientId) !== undefined;
      const consent = isPinned ? 'pinned' : 'explicit';
      const of = { accountId, clientId, generation: issued.generation, consent } as const;
      const before = await findGrant(provider, grantId, of);
      const grant = grantWith(provider, before, missing, of);
      const destination = await finishAndResume(ctx, interaction, async () => {
        const saved = await grant.save();
        await consents.add(accountId, clientId, missing, issued);
        return { consent: { grantId: saved } };
      });
      if (destination !== 'gone')
        recordConsent(app, ctx, interaction, 'success', { scope: scopeOf(missing) });
      return destination;
    },

    /** Denies for the service: the app gets access_denied. The caller records the reason. */
    deny,

    /** Denies for the user, with the same error (RFC 6749 §4.1.2.1). */
    async decline(ctx: Context, interaction: OpenInteraction) {
      // Missing access was recorded when it was decided.
      const hadAccess = interaction.prompt !== 'access';
      const destination = await deny(ctx, interaction, hadAccess ? DECLINED : NO_ACCESS);
      if (destination !== 'gone' && hadAccess)
        recordConsent(app, ctx, interaction, 'failure', { reason: 'declined' });
      return destination;
    },
  };
}

/** Whether the user has signed in before, but not in this browser. */
async function isNewBrowser({ states, trustedBrowsers }: EngineApp, { accountId, device }: Login) {
  const { lastSignIn } = await states.get(accountId);
  return lastSignIn !== undefined && trustedBrowsers.find(device, accountId) === undefined;
}

/** Whether the user lost access while the page was open. Nothing is stored then, and the resumed request says so. */
async function hasLostAccess(
  { narrowing, accounts }: EngineApp,
  { accountId = '', issued, settings: { clientId }, asked }: OpenInteraction,
): Promise<boolean> {
  const account = narrowing && (await accounts.findLive(accountId, issued));
  const request = { clientId, scope: asked.scopes.join(' '), resource: asked.resource };
  return account !== undefined && narrowing?.isDenied(account, request) === true;
}

/** The engine's login result, with the members that keepSignIn reads. */
function toLogin(
  { levels, activity }: EngineApp,
  ctx: Context,
  { accountId, at, generation, proved }: Login,
) {
  return {
    accountId,
    // By default the engine takes the time when the browser returns, which may be after a new password was set.
    ts: at,
    generation,
    ...(proved && levels && { ...proved, amr: [...proved.amr], acr: levels.nameOf(levelOf(proved.amr)) }),
    place: activity && placeOf(ctx),
  };
}

function recordConsent(
  { audit }: EngineApp,
  { state }: Context,
  { settings, accountId }: OpenInteraction,
  outcome: Outcome,
  fields: AuditFields,
): void {
  const who = { client_id: settings.clientId, account_id: accountId };
  audit.record('consent', outcome, { ...originOf(state), ...who, ...fields });
}

/**
 * Resolves when everything is durable. Of parallel posts one wins; the others leave nothing behind. Rejects with SessionNotFound when the
 * interaction was finished or its session ended meanwhile. `resumes`: in this request, if one transaction holds everything.
 */
async function finishOnce(
  app: EngineApp,
  ctx: Context,
  uid: string,
  result: GivenResult,
  { spends, resumes = false }: Readonly<{ spends?: CollectionWrite | undefined; resumes?: boolean }>,
): Promise<Destination> {
  const { provider, records, hash } = app;
  const key = recordKey(hash, 'Interaction', uid);
  const used = await records.use('Interaction', key, lose, { document: spends, isLock: true });
  async function save(): Promise<Destination> {
    const made = typeof result === 'function' ? await result() : result;
    const merge = { mergeWithLastSubmission: true };
    const url = await provider.interactionResult(ctx.req, ctx.res, made, merge);
    const isHere = resumes && used === 'pending';
    if (isHere) await resume(app, ctx, uid, url);
    await records.flush();
    return isHere ? 'answered' : { url };
  }
  return spends !== undefined && used === 'done' ? withMayBeDone(true, save()) : save();
}

/** Runs the engine as if the browser had followed the redirect to `to`. */
async function resume({ provider, issuer, handle }: EngineApp, ctx: Context, uid: string, to: string) {
  const { method, url, cookies } = ctx;
  // The browser has already sent the interaction's other cookie.
  const get: typeof cookies.get = (name, options) =>
    name === provider.cookieName('resume') ? uid : cookies.get(name, options);
  const sent: unknown = Object.create(cookies, { get: { value: get } });
  Object.assign(ctx, { method: 'GET', url: to.slice(issuer.length), cookies: sent });
  try {
    await handle(ctx, () => Promise.resolve());
  } finally {
    Object.assign(ctx, { method, url, cookies });
  }
}

const lose = (result: string) =>
  result === 'changed' ? Promise.reject(new DocumentChanged()) : interactionGone();

/** Resolves `gone` when the interaction is gone, or its session has changed. */
async function orGone<T, G extends 'gone' | undefined>(asked: Promise<T>, gone: G): Promise<T | G> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return gone;
    throw error;
  }
}

/** For the audit trail. */
function scopeOf({ scopes, resourceScopes }: OpenInteraction['missing']): string {
  const all = new Set([...scopes, ...Object.values(resourceScopes).flat()]);
  return [...all].filter((one) => one !== WHOLE_API).join(' ');
}
