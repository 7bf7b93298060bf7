// When a document is cached, for how long, and which parts of it come from the engine.
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { createCachedDocuments } from '../../../src/oidc/cached-documents.ts';
import { createListener } from '../../../src/http/server.ts';
import { freePort } from '../../world/servers.ts';
import { raw } from '../../world/raw.ts';

const JWKS = '/oauth/jwks.json';

async function serving(engine: (ctx: Koa.Context) => void) {
  const state = { asked: 0 };
  const documents = createCachedDocuments();
  const app = new Koa();
  app.use(documents.serve);
  app.use((ctx) => {
    state.asked += 1;
    ctx.body = { keys: 'first' };
    engine(ctx);
  });
  const listener = createListener('test', { host: '127.0.0.1', port: await freePort() });
  listener.serve(app);
  const { port } = await listener.start();
  const ask = (target: string, method = 'GET') => raw(`http://127.0.0.1:${port}`, { method, target });
  return { state, documents, ask, stop: () => listener.stop() };
}

describe('a cached document', () => {
  it('is asked of the engine once', async () => {
    const { state, documents, ask, stop } = await serving(() => undefined);
    expect(documents.find(JWKS)).toBeUndefined();
    const first = await ask(JWKS);
    const second = await ask(JWKS);
    expect([state.asked, first.text, second.text]).toEqual([1, '{"keys":"first"}', '{"keys":"first"}']);
    expect(second.headers['cache-control']).toBe('public, max-age=300, must-revalidate');
    expect(second.headers['etag']).toBe(first.headers['etag']);
    expect(documents.find(JWKS)?.body).toBe(first.text);
    await stop();
  });

  it('is not kept with another status, nor for a path that is not cacheable', async () => {
    const { state, documents, ask, stop } = await serving((ctx) => {
      if (ctx.path === JWKS) ctx.status = 503;
    });
    for (const path of [JWKS, '/oauth/userinfo', JWKS, '/oauth/userinfo']) {
      await ask(path);
      expect(documents.find(path)).toBeUndefined();
    }
    expect(state.asked).toBe(4);
    await stop();
  });
});
