// Makes of each request one piece of work for the store: what the next step of a sign-in is known to need is asked for at once,
// and what was saved goes out together before the answer does. An answer that can't be kept isn't given.
import type { Context, Middleware } from 'koa';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { RequestRecords } from '../store/request-records.ts';
import { recordKey } from './record-key.ts';
import { cookieNames } from './cookie-names.ts';

export type OneRequestParts = {
  readonly records: RequestRecords;
  readonly hash: KeyedHash;
  readonly issuer: string;
};

/** A step of a sign-in names its interaction: the pages, and the engine's way back. */
const STEP = /^\/(?:interaction|oauth\/authorize)\/([\w-]+)/;
/** How the engine takes a cookie away. */
const ENDS = /expires=Thu, 01 Jan 1970/;

export function oneRequest({ records, hash, issuer }: OneRequestParts): Middleware {
  const { session: sessionCookie } = cookieNames(issuer);
  const isSession = new RegExp(`^${sessionCookie}(?:\\.sig)?=`);

  function readAhead(ctx: Context): void {
    const uid = STEP.exec(ctx.path)?.[1];
    if (uid === undefined) return;
    records.readAhead('Interaction', recordKey(hash, 'Interaction', uid));
    // Whether it is signed by us the engine says; until then it only decides what is looked up.
    const session = ctx.cookies.get(sessionCookie, { signed: false });
    if (session !== undefined) records.readAhead('Session', recordKey(hash, 'Session', session));
  }

  /** The engine names the session in every answer; one that ended meanwhile would take the place of what followed it. */
  function withholdSession(ctx: Context): void {
    const set = [ctx.response.headers['set-cookie'] ?? []].flat();
    const kept = set.filter((one) => !isSession.test(one) || ENDS.test(one));
    if (kept.length === set.length) return;
    ctx.remove('Set-Cookie');
    if (kept.length > 0) ctx.set('Set-Cookie', kept);
  }

  return async function runOneRequest(ctx, next) {
    const cookies = ctx.response.headers['set-cookie'] ?? [];
    try {
      const saved = await records.inOneRequest(async () => {
        readAhead(ctx);
        await next();
      });
      if (!saved.has('Session')) withholdSession(ctx);
    } catch (error) {
      // They say something of what isn't stored: a code, a session.
      ctx.remove('Location');
      ctx.remove('Set-Cookie');
      if (cookies.length > 0) ctx.set('Set-Cookie', cookies);
      if (!(error instanceof errors.InvalidGrant)) throw error;
      answerUsed(ctx as unknown as KoaContextWithOIDC, error);
    }
  };
}

/** Another request used the code or the token while this one was being answered: what the engine says to a second use. */
function answerUsed(ctx: KoaContextWithOIDC, error: errors.InvalidGrant): void {
  ctx.status = error.statusCode;
  ctx.body = { error: error.error, error_description: error.error_description };
  ctx.oidc.provider.emit('grant.error', ctx, error);
}
