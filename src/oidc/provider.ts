// One instance of the engine for one configuration and one key set, tested before it serves. New keys or a new
// configuration need a new instance; nothing here changes afterwards.
import compose from 'koa-compose';
import type { Context, Middleware, Next } from 'koa';
import type { Parts } from '../features/parts.ts';
import { createAccessTokens } from '../tokens/access-token.ts';
import type { App } from './app.ts';
import { adjustAnswers } from './answers.ts';
import { followEvents } from './engine-events.ts';
import { createConfiguration, withFeatures } from './options.ts';
import { PosternProvider } from './seam/provider.ts';
import { signOutAtOnce } from './sign-out-at-once.ts';

export type EngineApp = Awaited<ReturnType<typeof createEngine>>;

/** Throws when the new instance can't verify what it signs. */
export async function createEngine(opened: App, features: readonly Parts[]) {
  await assertVerifies(opened);
  const app = withFeatures(opened, features);
  const { config, issuer } = app;
  app.clients.alsoFrom(features.flatMap(({ clients }) => clients ?? []));
  const provider = new PosternProvider(issuer, createConfiguration(app), app);
  for (const { seam } of features) seam?.(provider);
  followEvents(provider, app);

  const handle = compose([
    app.countAnswers,
    ...features.flatMap(({ around }) => around?.(provider) ?? []),
    adjustAnswers(config, features),
    app.ended.queue,
    signOutAtOnce(app),
    ...(provider.middleware as Middleware[]),
  ]);
  return {
    ...app,
    provider,
    /** Runs inside the host's own Koa context. */
    handle: (ctx: Context, next: Next) => handle(ctx, next),
  };
}

/** Finds a bad key set before any client does. */
async function assertVerifies({ issuer, keySet, now }: App): Promise<void> {
  // Both use the same time: a clock that jumps in between is no fault of the keys.
  const at = now();
  const signer = createAccessTokens(issuer, keySet, () => at);
  const [sub, iat] = ['self-test', Math.floor(at / 1000)];
  const claims = { sub, aud: sub, iat, exp: iat + 60, jti: sub, client_id: sub };
  if ((await signer.verify(await signer.sign(claims))) === undefined)
    throw new TypeError(`key ${keySet.active.kid} does not verify what it signs`);
}
