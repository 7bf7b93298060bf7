// The proxy that stands for a bad network must be no worse than one: TCP is late or gone, never in another order.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startProxy } from './proxy.ts';

it('keeps the order of bytes, however late they are', async () => {
  const COUNT = 300;
  const server = createServer((socket) => {
    void (async () => {
      for (let index = 0; index < COUNT; index += 1) {
        socket.write(`${index}\n`);
        await delay(1 + Math.random() * 3);
      }
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy((server.address() as AddressInfo).port);
  const moods = setInterval(() => {
    proxy.lose(0.1, 20);
    proxy.delay(Math.random() * 10);
  }, 20);
  const socket = connect(proxy.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString()));
  await expect.poll(() => text.trim().split('\n').length, { timeout: 60_000 }).toBe(COUNT);
  clearInterval(moods);
  await proxy.close();
  server.close();
  expect(text.trim().split('\n').map(Number)).toEqual(Array.from({ length: COUNT }, (_, index) => index));
});
