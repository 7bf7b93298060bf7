// Makes each request one unit of work of the store: what was saved is durable before the answer goes out, and an answer that
// can't be kept isn't given.
import type { Middleware, ParameterizedContext } from 'koa';
import { errors, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import { StoreUnavailable } from '../store/store.ts';
import { Refusal } from '../views/refusal.ts';
import type { App } from './app.ts';
import { cookieNames, cookiesOf, setCookies } from './cookie-names.ts';
import { recordKey } from './record-payload.ts';
import { issuedBySession } from './seam/session-sign-in.ts';
import { RESUMED } from './sign-out-at-once.ts';

/** How the engine takes a cookie away. */
const ENDS = /expires=Thu, 01 Jan 1970/;

/** A signature that the package made again, as it does where it finds one by an older key. */
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

  /** Found by its cookie, a session is remembered. The engine looks for it by its alias, which saves what is unsaved first. */
  async function readSession({ cookies }: Pick<ParameterizedContext, 'cookies'>): Promise<void> {
    // The engine checks the signature before it believes the cookie.
    const id = cookies.get(sessionCookie, { signed: false });
    if (id !== undefined) await find(id);
  }

  /**
   * Whether another tab, or the user's state or factors, ended the session of this answer, asked of the store anew. An answer that is
   * ready isn't held back where that can't be read: it has no cookie then.
   */
  async function isOver(ctx: Partial<KoaContextWithOIDC>): Promise<boolean> {
    const session = sessionOf(ctx);
    if (session?.accountId === undefined) return false;
    const [live, own, kept] = await Promise.all([
      findLive(session.accountId, issuedBySession(session)),
      config.signIn && factors.get(session.accountId),
      find(session.jti),
    ]).catch(() => []);
    const hasOthers = own !== undefined && own.sessionsSince !== (session.sessionsSince ?? 0);
    return live === undefined || kept === undefined || kept.consumedAt !== undefined || hasOthers;
  }

  /** Its attributes are the package's own, and a browser refuses them. Only the session outlives a change of the keys. */
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
      // The engine names the session in every answer; one that ended meanwhile would take the place of what followed it.
      setCookies(
        ctx,
        cookiesOf(ctx).filter((one) => !isSession.test(one) || ENDS.test(one)),
      );
    } catch (error) {
      // They name what isn't stored: a code, a session.
      ctx.remove('Location');
      setCookies(ctx, before);
      const { oidc }: Partial<KoaContextWithOIDC> = ctx;
      // In the audit trail: what the client sent may be used up, and nothing came of it.
      if (error instanceof StoreUnavailable && error.mayBeDone && oidc?.route === 'token')
        oidc.provider.emit('grant.error', ctx, error);
      if (!(error instanceof errors.InvalidGrant) && !(error instanceof errors.SessionNotFound)) throw error;
      answerUsed(ctx, error);
    }
  };
}

/** The engine has it, or browser-session.ts. */
function sessionOf({ oidc, state }: Partial<KoaContextWithOIDC>): Session | undefined {
  if (oidc === undefined) return state?.['session'] as Session | undefined;
  // The user wasn't there to begin with: the engine asks for another sign-in, which needs the cookie.
  return RESUMED.has(oidc.route) && oidc.account === undefined ? undefined : oidc.session;
}

/** Another request used the code, the token or the sign-in while this one was being answered: what is said to a second use. */
function answerUsed(
  ctx: Partial<KoaContextWithOIDC>,
  error: errors.InvalidGrant | errors.SessionNotFound,
): void {
  if (ctx.oidc?.route !== 'token') throw new Refusal(400, 'expired', error.error_description);
  ctx.status = error.statusCode;
  ctx.body = { error: error.error, error_description: error.error_description };
  ctx.oidc.provider.emit('grant.error', ctx, error);
}
