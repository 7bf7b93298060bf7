// Makes each request one unit of work of the store: its writes are durable before the answer is sent, and no answer is sent whose
// writes failed.
import type { Middleware, ParameterizedContext } from 'koa';
import { errors, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import { ifUnavailable, StoreUnavailable } from '../store/store.ts';
import { Refusal } from '../views/refusal.ts';
import type { App } from './app.ts';
import { cookieNames, cookiesOf, setCookies } from './cookie-names.ts';
import { recordKey } from './record-payload.ts';
import { issuedBySession } from './seam/session-sign-in.ts';
import { RESUMED } from './sign-out-at-once.ts';

/** How the engine removes a cookie. */
const ENDS = /expires=Thu, 01 Jan 1970/;

/** A signature that the cookies package renewed, as it does when it finds one by an older key. */
const isBare = (one: string) => /^[^=]*\.sig=(?!.*samesite)/.test(one) && !ENDS.test(one);

type UnitOfWorkParts = Pick<App, 'records' | 'hash' | 'findLive'> & {
  readonly config: Pick<Config, 'issuer' | 'signIn'>;
  readonly factors: Pick<App['factors'], 'get'>;
};

export function unitOfWork({ config, records, hash, findLive, factors }: UnitOfWorkParts): Middleware {
  const { session: sessionCookie } = cookieNames(config.issuer);
  const isSession = new RegExp(`^${sessionCookie}(?:\\.sig)?=`);
  const find = (id: string) => records.find('Session', recordKey(hash, 'Session', id));
  const attributes = `; samesite=lax${config.issuer.startsWith('https:') ? '; secure' : ''}`;

  /** Caches the session by its cookie. The engine's look-up by alias would otherwise write all unsaved records first. */
  async function readSession({ cookies }: Pick<ParameterizedContext, 'cookies'>): Promise<void> {
    // The engine checks the signature before it trusts the cookie.
    const id = cookies.get(sessionCookie, { signed: false });
    if (id !== undefined) await find(id);
  }

  /**
   * Whether another tab, or a change of the user's state or factors, ended the session of this answer, read anew from the store. If it
   * can't be read, the answer is sent without the session cookie.
   */
  async function isOver(ctx: Partial<KoaContextWithOIDC>): Promise<boolean> {
    const session = sessionOf(ctx);
    if (session?.accountId === undefined) return false;
    const found = await Promise.all([
      findLive(session.accountId, issuedBySession(session)),
      config.signIn && factors.get(session.accountId),
      find(session.jti),
    ]).catch(ifUnavailable);
    if (found === undefined) return true;
    const [live, own, kept] = found;
    const hasOthers = own !== undefined && own.sessionsSince !== (session.sessionsSince ?? 0);
    return live === undefined || kept === undefined || kept.consumedAt !== undefined || hasOthers;
  }

  /** Replaces the package's own attributes, which browsers refuse. Only session cookies outlive a change of the cookie keys. */
  function signAgain(ctx: ParameterizedContext): void {
    const cookies = cookiesOf(ctx);
    if (!cookies.some(isBare)) return;
    const kept = cookies.filter((one) => !isBare(one) || isSession.test(one));
    setCookies(
      ctx,
      kept.map((one) => (isBare(one) ? `${one.replace('; secure', '')}${attributes}` : one)),
    );
  }

  return async function flushBeforeAnswer(ctx, next) {
    const before = cookiesOf(ctx);
    try {
      const saved = await records.run(async () => {
        if (ctx.path.startsWith('/interaction/')) await readSession(ctx);
        await next();
        signAgain(ctx);
      });
      if (saved.has('Session') && !(await isOver(ctx))) return;
      // The engine sets the session cookie in every answer; that of an ended session would replace the cookie of its successor.
      setCookies(
        ctx,
        cookiesOf(ctx).filter((one) => !isSession.test(one) || ENDS.test(one)),
      );
    } catch (error) {
      // Both refer to a code or a session that isn't stored.
      ctx.remove('Location');
      setCookies(ctx, before);
      const { oidc }: Partial<KoaContextWithOIDC> = ctx;
      // For the audit trail: the client's code or token may be used up although nothing was issued.
      if (error instanceof StoreUnavailable && error.mayBeDone && oidc?.route === 'token')
        oidc.provider.emit('grant.error', ctx, error);
      if (!(error instanceof errors.InvalidGrant) && !(error instanceof errors.SessionNotFound)) throw error;
      answerUsed(ctx, error);
    }
  };
}

/** The session of the engine or of browser-session.ts. */
function sessionOf({ oidc, state }: Partial<KoaContextWithOIDC>): Session | undefined {
  if (oidc === undefined) return state?.['session'] as Session | undefined;
  // The user was already unavailable before: the engine asks for another sign-in, which needs the cookie.
  return RESUMED.has(oidc.route) && oidc.account === undefined ? undefined : oidc.session;
}

/** The answer when another request used the code, token or sign-in in the meantime. */
function answerUsed(
  ctx: Partial<KoaContextWithOIDC>,
  error: errors.InvalidGrant | errors.SessionNotFound,
): void {
  if (ctx.oidc?.route !== 'token') throw new Refusal(400, 'expired', error.error_description);
  ctx.status = error.statusCode;
  ctx.body = { error: error.error, error_description: error.error_description };
  ctx.oidc.provider.emit('grant.error', ctx, error);
}
