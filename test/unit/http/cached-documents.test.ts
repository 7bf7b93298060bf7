// Which requests are answered without the list, and when the list is asked again.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReadyDocuments } from '../../../src/http/cached-documents.ts';
import { raw } from '../../world/raw.ts';

const JWKS = '/oauth/jwks.json';

describe('an answer that is ready', () => {
  let server: Server;
  let base = '';
  let source = { keys: 'first' };
  let isFollowed = false;
  let isDraining = false;
  let maxAge = 300;
  /** What went through the list. */
  let listed: string[] = [];
  let counted: string[] = [];
  let change: (ctx: Koa.Context) => void = () => undefined;

  beforeEach(async () => {
    [source, isFollowed, isDraining, maxAge, listed, counted] = [
      { keys: 'first' },
      false,
      false,
      300,
      [],
      [],
    ];
    change = () => undefined;
    const cacheControl = () => `max-age=${maxAge}`;
    const ready = createReadyDocuments({
      source: () => source,
      cacheControl,
      metrics: { request: (route, status) => void counted.push(`${route} ${status}`) },
      isFollowed: () => isFollowed,
    });
    const app = new Koa();
    app.use(ready.keep);
    app.use((ctx) => {
      listed.push(`${ctx.method} ${ctx.url}`);
      ctx.body = JSON.stringify(source);
      ctx.type = 'json';
      ctx.set({ 'X-Request-Id': 'of the list', 'Cache-Control': cacheControl() });
      change(ctx);
    });
    const handle = ready.inFrontOf(app.callback());
    server = createServer((request, response) => {
      if (isDraining) response.setHeader('Connection', 'close');
      handle(request, response);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => new Promise((resolve) => void server.close(resolve)));

  const ask = (target = JWKS, headers: Record<string, string> = {}) => raw(base, { target, headers });

  it('is the one that the list gave first, but for its id and its age', async () => {
    const first = await ask();
    maxAge = 60;
    const second = await ask();
    expect(listed).toEqual([`GET ${JWKS}`]);
    expect(counted).toEqual(['jwks 200']);
    expect(second.text).toBe(first.text);
    expect(Object.keys(second.headers)).toEqual(Object.keys(first.headers));
    expect(second.headers['cache-control']).toBe('max-age=60');
    expect(second.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
    expect((await ask()).headers['x-request-id']).not.toBe(second.headers['x-request-id']);
  });

  it('KY-20: ends with the engine instance that it is of', async () => {
    await ask();
    source = { keys: 'second' };
    expect((await ask()).text).toBe('{"keys":"second"}');
    expect((await ask()).text).toBe('{"keys":"second"}');
    expect(listed).toHaveLength(2);
  });

  it('is not kept where another instance came while the list was asked', async () => {
    change = () => {
      source = { keys: 'second' };
    };
    expect((await ask()).text).toBe('{"keys":"first"}');
    change = () => undefined;
    expect((await ask()).text).toBe('{"keys":"second"}');
  });

  it.each<[string, (ctx: Koa.Context) => void]>([
    ['a cookie', (ctx) => ctx.set('Set-Cookie', 'a=b')],
    ['the end of its connection', (ctx) => ctx.set('Connection', 'close')],
    ['another status', (ctx) => (ctx.status = 503)],
    ['no text', (ctx) => (ctx.body = Buffer.from('{}'))],
  ])('is not kept with %s', async (_title, changed) => {
    change = changed;
    await ask();
    await ask();
    expect(listed).toHaveLength(2);
  });

  it('is not kept for a path that is not cacheable', async () => {
    await ask('/oauth/userinfo');
    await ask('/oauth/userinfo');
    expect(listed).toHaveLength(2);
  });

  it.each([
    ['a query', `${JWKS}?a`, {}],
    ['an Origin', JWKS, { origin: 'https://app.example' }],
    ['If-None-Match', JWKS, { 'if-none-match': '*' }],
    ['a body', JWKS, { 'content-length': '0' }],
    ['credentials', JWKS, { authorization: 'Bearer x' }],
    ['a Host that is none', JWKS, { host: 'a b' }],
  ])('is not for a request with %s', async (_title, target, headers) => {
    await ask();
    await ask(target, headers);
    await ask(target, headers);
    expect(listed).toHaveLength(3);
    // Nor is it what such a request got.
    expect((await ask()).text).toBe('{"keys":"first"}');
    expect(listed).toHaveLength(3);
  });

  it.each(['HEAD', 'POST', 'OPTIONS'])('is not for %s', async (method) => {
    await ask();
    await raw(base, { method, target: JWKS });
    expect(listed).toEqual([`GET ${JWKS}`, `${method} ${JWKS}`]);
  });

  it('HT-37: is the last of its connection where the server ends', async () => {
    const connection = async () => (await ask(JWKS, { connection: 'keep-alive' })).headers['connection'];
    await ask();
    expect(await connection()).toBe('keep-alive');
    isDraining = true;
    expect(await connection()).toBe('close');
    expect(listed).toHaveLength(1);
  });

  it('is not for a request that somebody follows', async () => {
    await ask();
    isFollowed = true;
    await ask();
    expect(listed).toHaveLength(2);
  });
});
