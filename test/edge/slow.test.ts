// Callers that take their time. The deadlines are promises, so they are waited for; all cases wait at the same time.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Koa from 'koa';
import { createListener, type Listener } from '../../src/http/server.ts';
import { basic, get, post } from '../world/flows.ts';
import { startWorld, type World } from '../world/world.ts';
import { FORM, openWire, parseAnswer, type Wire } from './wire.ts';

const SECOND = 1000;
const HEADERS_DEADLINE_MS = 10 * SECOND;
const BODY_DEADLINE_MS = 15 * SECOND;
const ATTACKERS = 500;
const MACHINE = { grant_type: 'client_credentials' };

let world: World;
beforeAll(async () => {
  world = await startWorld({
    config: { rate_limits: { token: { address: '100000/1m', client: '100000/1m' } } },
  });
});
afterAll(() => world.stop());

/** One more byte every second, until the other side ends. */
async function trickle(wire: Wire, head: string, byte: string) {
  wire.write(head);
  const timer = setInterval(() => wire.write(byte), SECOND);
  const end = await wire.ended;
  clearInterval(timer);
  return end;
}

/** The 99th of a hundred durations in milliseconds of an ordinary token request. */
async function slowestOrdinary(): Promise<number> {
  const durations: number[] = [];
  for (let count = 0; count < 100; count += 1) {
    const begun = performance.now();
    const { status } = await post(world, '/oauth/token', MACHINE, { authorization: basic('svc') });
    expect(status).toBe(200);
    durations.push(performance.now() - begun);
  }
  return durations.toSorted((a, b) => a - b)[98] ?? Infinity;
}

describe.concurrent('slow callers', () => {
  it('HT-23: five hundred that send headers byte by byte are cut off within 10 s, and others notice nothing', async () => {
    const wires = await Promise.all(Array.from({ length: ATTACKERS }, () => openWire(world.base)));
    const ends = wires.map((wire, index) =>
      trickle(wire, index % 2 === 0 ? 'GET /oauth/userinfo HTTP/1.1\r\nHost: id.example\r\nX-' : '', 'a'),
    );
    const p99 = await slowestOrdinary();
    for (const { afterMs, received } of await Promise.all(ends)) {
      expect(afterMs).toBeLessThanOrEqual(HEADERS_DEADLINE_MS);
      if (received !== '') expect([400, 408]).toContain(parseAnswer(received).status);
    }
    // Generous, because other tests run beside this one; without the cut-off nobody would get in at all.
    expect(p99).toBeLessThan(SECOND);
  });

  it('HT-23: who connects and says nothing is cut off within 10 s', async () => {
    const wire = await openWire(world.base);
    expect((await wire.ended).afterMs).toBeLessThanOrEqual(HEADERS_DEADLINE_MS);
  });

  it.each([
    ['/oauth/token', `Authorization: ${basic('svc')}`],
    ['/oauth/authorize', 'Accept: */*'],
    ['/oauth/userinfo', 'Authorization: Bearer x'],
    ['/nothing', 'Accept: */*'],
  ])('HT-24: a body at %s that comes byte by byte is cut off within 15 s', async (path, header) => {
    const wire = await openWire(world.base);
    const head = `POST ${path} HTTP/1.1\r\nHost: id.example\r\n${header}\r\n${FORM}\r\nContent-Length: 100\r\n\r\n`;
    const { afterMs, received } = await trickle(wire, head, 'a');
    expect(afterMs).toBeLessThanOrEqual(BODY_DEADLINE_MS);
    if (received !== '') expect(parseAnswer(received).status).toBeLessThan(500);
  });

  it('HT-24: so is a chunked one', async () => {
    const wire = await openWire(world.base);
    const head = `POST /oauth/token HTTP/1.1\r\nHost: id.example\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const { afterMs } = await trickle(wire, head, '1\r\na\r\n');
    expect(afterMs).toBeLessThanOrEqual(BODY_DEADLINE_MS);
  });
});

describe('after them', () => {
  it('HT-24: no request is left hanging: the service still answers and stops at once', async () => {
    expect((await get(world, '/oauth/jwks.json')).status).toBe(200);
    const other = await startWorld();
    const wire = await openWire(other.base);
    wire.write('GET /oauth/userinfo HTTP/1.1\r\nHost: x\r\n');
    wire.destroy();
    const begun = performance.now();
    await other.stop();
    expect(performance.now() - begun).toBeLessThan(2 * SECOND);
  });
});

describe('HT-36: connections that are only kept', () => {
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
      while (!wire.received().includes('ok')) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const newcomer = await openWire(base);
    newcomer.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(parseAnswer((await newcomer.ended).received).status).toBe(200);
    for (const wire of idle) wire.destroy();
  });

  it('do not keep health from answering, which listens elsewhere', async () => {
    expect((await fetch(`${world.management}/healthz`)).status).toBe(200);
  });
});
