// Slow callers. The deadlines are promises, so the test waits for them; all cases wait at the same time.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Koa from 'koa';
import { createListener, type Listener } from '../../src/http/server.ts';
import { MACHINE_MS, until } from '../world/clock.ts';
import { post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { FORM, openWire, parseAnswer, type Wire } from '../world/wire.ts';
import { startWorld, type World } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const SECOND = 1000;
const HEADERS_DEADLINE_MS = 10 * SECOND + MACHINE_MS;
const BODY_DEADLINE_MS = 15 * SECOND + MACHINE_MS;
const ATTACKERS = 500;
const MACHINE = { grant_type: 'client_credentials' };

const world = useWorld({ config: { rate_limits: { token: '200000/1m' } } });

/** Sends one more byte every second, until the other side closes. */
async function trickle(wire: Wire, head: string, byte: string) {
  wire.write(head);
  const timer = setInterval(() => wire.write(byte), SECOND);
  const end = await wire.ended;
  clearInterval(timer);
  return end;
}

/** How many ordinary token requests, one after the other, are answered before `end`. */
async function answeredBefore(end: Promise<unknown>): Promise<number> {
  let isOver = false;
  void end.finally(() => (isOver = true));
  for (let answered = 0; ; answered += 1) {
    const { status } = await post(world(), '/oauth/token', MACHINE, { authorization: basic('svc') });
    expect(status).toBe(200);
    if (isOver) return answered;
    await sleep(20);
  }
}

/** How many requests the service has finished, according to its metrics. */
async function handledRequests({ management }: World): Promise<number> {
  const metrics = await (await fetch(`${management}/metrics`)).text();
  const counts = metrics.matchAll(/^postern_http_request\w*_count\{[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe.concurrent('slow callers', () => {
  it('HT-23: five hundred that send headers byte by byte are cut off within 10 s, and others notice nothing', async () => {
    const wires = await Promise.all(Array.from({ length: ATTACKERS }, () => openWire(world().base)));
    const ends = wires.map((wire, index) =>
      trickle(wire, index % 2 === 0 ? 'GET /oauth/userinfo HTTP/1.1\r\nHost: id.example\r\nX-' : '', 'a'),
    );
    // The others already fail at the first byte. A service that waits for the slow callers answers nothing before one of them is gone.
    const slow = ends.filter((_end, index) => index % 2 === 0);
    expect(await answeredBefore(Promise.race(slow))).toBeGreaterThan(0);
    for (const [index, { afterMs, received }] of (await Promise.all(ends)).entries()) {
      expect(parseAnswer(received).status).toBe(index % 2 === 0 ? 408 : 400);
      expect(afterMs).toBeLessThanOrEqual(HEADERS_DEADLINE_MS);
    }
  });

  it('HT-23: who connects and says nothing is cut off within 10 s', async () => {
    const wire = await openWire(world().base);
    const { afterMs, received } = await wire.ended;
    expect(parseAnswer(received).status).toBe(408);
    expect(afterMs).toBeLessThanOrEqual(HEADERS_DEADLINE_MS);
  });

  it.each([
    ['/oauth/token', `Authorization: ${basic('svc')}`, 408],
    ['/oauth/authorize', 'Accept: */*', 408],
    ['/oauth/userinfo', 'Authorization: Bearer x', 408],
    // Answered at once: the body isn't read.
    ['/nothing', 'Accept: */*', 404],
  ])('HT-24: a body at %s that comes byte by byte is cut off within 15 s', async (target, header, status) => {
    const wire = await openWire(world().base);
    const head = `POST ${target} HTTP/1.1\r\nHost: id.example\r\n${header}\r\n${FORM}\r\nContent-Length: 100\r\n\r\n`;
    const { afterMs, received } = await trickle(wire, head, 'a');
    expect(parseAnswer(received).status).toBe(status);
    expect(afterMs).toBeLessThanOrEqual(BODY_DEADLINE_MS);
  });

  it('HT-38: a caller that sends many requests and reads no response is cut off at once', async () => {
    const before = await handledRequests(world());
    const wire = await openWire(world().base);
    wire.write('GET /.well-known/openid-configuration HTTP/1.1\r\nHost: id.example\r\n\r\n'.repeat(1000));
    const { afterMs, received } = await wire.ended;
    expect(received.split('HTTP/1.1 200').length).toBeLessThan(100);
    expect((await handledRequests(world())) - before).toBeLessThan(900);
    expect(afterMs).toBeLessThan(MACHINE_MS);
  });

  it('HT-38: a connection whose response is not read ends after 20 s, and none that waits for a response', async () => {
    const app = new Koa();
    const listener = createListener('test', { host: '127.0.0.1', port: 0 });
    const ended = new Promise<number>((resolve) => {
      app.use(async ({ path, res }) => {
        if (path === '/late') await sleep(22 * SECOND);
        const startedAt = performance.now();
        if (path === '/') res.once('close', () => resolve(performance.now() - startedAt));
        res.end(path === '/' ? Buffer.alloc(50_000_000) : 'late');
      });
    });
    listener.serve(app);
    const { port } = await listener.start();
    const late = fetch(`http://127.0.0.1:${port}/late`);
    const socket = connect(port).pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await ended).toBeGreaterThan(19 * SECOND);
    expect(await (await late).text()).toBe('late');
    socket.destroy();
    await listener.stop();
  });

  it('HT-24: so is a chunked one', async () => {
    const wire = await openWire(world().base);
    const head = `POST /oauth/token HTTP/1.1\r\nHost: id.example\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const { afterMs, received } = await trickle(wire, head, '1\r\na\r\n');
    expect(parseAnswer(received).status).toBe(408);
    expect(afterMs).toBeLessThanOrEqual(BODY_DEADLINE_MS);
  });

  it('HT-24: leave no handler waiting once their connection has ended, and a stop waits for none', async () => {
    const other = await startWorld();
    const before = await handledRequests(other);
    const paths = ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/authorize', '/oauth/logout'];
    const wires = await Promise.all(paths.map(() => openWire(other.base)));
    const ends = wires.map((wire, index) =>
      trickle(
        wire,
        `POST ${paths[index]} HTTP/1.1\r\nHost: id.example\r\nAuthorization: ${basic('svc')}\r\n${FORM}\r\nContent-Length: 100\r\n\r\n`,
        'a',
      ),
    );
    await Promise.all(ends);
    await until(async () => expect(await handledRequests(other)).toBe(before + paths.length));
    await other.stop();
  });
});

describe('HT-36: more connections that are only kept than a listener may have', () => {
  const MAX = 40;
  let listener: Listener;
  let base: string;
  beforeAll(async () => {
    const app = new Koa();
    app.use((ctx) => (ctx.body = 'ok'));
    listener = createListener('test', { host: '127.0.0.1', port: 0 }, MAX);
    listener.serve(app);
    base = `http://127.0.0.1:${(await listener.start()).port}`;
  });
  afterAll(() => listener.stop());

  it('make room for new ones', async () => {
    const idle: Wire[] = [];
    for (let count = 0; count < 5 * MAX; count += 1) {
      const wire = await openWire(base);
      idle.push(wire);
      wire.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      while (!wire.received().includes('ok')) await sleep(1);
    }
    const newcomer = await openWire(base);
    newcomer.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(parseAnswer((await newcomer.ended).received).status).toBe(200);
    for (const wire of idle) wire.destroy();
  });
});
