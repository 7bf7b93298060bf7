// How often a device asks whether somebody has let it in (RFC 8628 §3.5), over all processes; the engine neither says nor counts it.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Limits } from '../limits/limits.ts';

/** RFC 8628 §3.2: seconds between two polls. */
const INTERVAL = 5;

type Answer = { readonly error?: unknown } | undefined;

export function pacePolls(limits: Pick<Limits, 'takeDevicePoll'>): Middleware {
  return async function pacePoll(hostCtx, next) {
    await next();
    const ctx = hostCtx as unknown as KoaContextWithOIDC;
    const route = ctx.oidc?.route;
    if (route === 'device_authorization' && ctx.status === 200) {
      ctx.body = { ...(ctx.body as object), interval: INTERVAL };
    }
    if (route !== 'token' || (ctx.body as Answer)?.error !== 'authorization_pending') return;
    const isInTime = await limits.takeDevicePoll(String(ctx.oidc.params?.['device_code']), INTERVAL);
    if (isInTime) return;
    // > the interval MUST be increased by 5 seconds for this and all subsequent requests
    ctx.body = {
      error: 'slow_down',
      error_description: 'the device polls too often: wait 5 seconds more each time',
    };
  };
}
