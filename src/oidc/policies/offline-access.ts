// Logs, once for each client, why an app gets no refresh token: OIDC Core §11 drops offline_access from a request without
// prompt=consent, and nothing in the answer says so.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Log } from '../../observability/log.ts';

export function createOfflineAccessNotice(log: Log): Middleware {
  const logged = new Set<string>();

  return async function noticeDroppedOfflineAccess(ctx, next) {
    await next();
    const { oidc } = ctx as unknown as Partial<KoaContextWithOIDC>;
    if (oidc?.route !== 'authorization' || oidc.client === undefined) return;
    const { clientId } = oidc.client;
    const { scope, prompt } = ctx.query;
    if (logged.has(clientId) || !asks(scope, 'offline_access') || asks(prompt, 'consent')) return;
    logged.add(clientId);
    log.warn(
      { clientId },
      'offline_access was asked for without prompt=consent and is dropped: no refresh token; let the app send prompt=consent',
    );
  };
}

function asks(parameter: string | string[] | undefined, word: string): boolean {
  return typeof parameter === 'string' && parameter.split(' ').includes(word);
}
