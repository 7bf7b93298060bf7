// Style sheets and images of the pages, from memory, under names that change with their content.
import type { Middleware } from 'koa';
import { FAVICON_PATH } from '../config/endpoints.ts';
import { type Assets, ICON } from '../views/assets.ts';

const FOR_EVER = 'public, max-age=31536000, immutable';
const FOR_A_WHILE = 'public, max-age=300';

export function serveAssets(files: Assets): Middleware {
  return async function serveAsset(ctx, next) {
    const isFavicon = ctx.path === FAVICON_PATH;
    if (!isFavicon && !ctx.path.startsWith('/assets/')) return next();
    const file = files.find(isFavicon ? `assets/${ICON}` : ctx.path.slice(1));
    if (!file) return undefined;
    ctx.type = file.type;
    ctx.set('Cache-Control', file.immutable ? FOR_EVER : FOR_A_WHILE);
    ctx.body = file.body;
    return undefined;
  };
}
