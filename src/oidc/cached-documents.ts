// Discovery and JWKS: the same body for every caller, with an ETag and 304 (RFC 9110 §13). The engine renders each one once, then it
// is served from memory. Nothing else is cacheable.
import { createHash } from 'node:crypto';
import type { Context, Next } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';
const TYPES: ReadonlyMap<string, string> = new Map([
  [ENDPOINTS.discovery, JSON_TYPE],
  [ENDPOINTS.metadata, JSON_TYPE],
  // RFC 7517 §8.5.2
  [ENDPOINTS.jwks, 'application/jwk-set+json'],
]);

/** How long a caller may cache a document. */
const MAX_AGE_SECONDS = 300;

type CachedDocument = Readonly<{ body: string; headers: Readonly<Record<string, string>> }>;

/** The documents that the engine has rendered. */
export type CachedDocuments = Pick<ReturnType<typeof createCachedDocuments>, 'find'>;

/** Caches the documents of one engine instance; the next instance has its own. */
export function createCachedDocuments() {
  const rendered = new Map<string, CachedDocument>();

  return {
    /** Finds a document that the engine has rendered already. */
    find: (path: string) => rendered.get(path),
    serve: async (ctx: Context, next: Next): Promise<void> => {
      const { path, method } = ctx;
      if (!TYPES.has(path) || method === 'OPTIONS') return next();
      let document = rendered.get(path);
      if (!document) {
        await next();
        if (ctx.status !== 200) return undefined;
        document = render(path, ctx.body);
        // A HEAD isn't cached, because the engine needn't render a body for it.
        if (method === 'GET') rendered.set(path, document);
      }
      ctx.status = 200;
      ctx.set(document.headers);
      ctx.body = document.body;
      if (ctx.fresh) ctx.status = 304;
      return undefined;
    },
  };
}

function render(path: string, content: unknown): CachedDocument {
  const body = JSON.stringify(content);
  const headers = {
    'Content-Type': TYPES.get(path) ?? JSON_TYPE,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}, must-revalidate`,
    ETag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  };
  return { body, headers };
}
