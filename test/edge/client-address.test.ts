// Callers that send a request and reset the connection at once: the operating system then no longer knows their address.
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { eachStore } from '../world/each-store.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { FORM, toBytes } from '../world/wire.ts';

const guess = (client: 'web' | 'web2') =>
  toBytes({
    method: 'POST',
    target: '/oauth/token',
    headers: [`Authorization: ${basic(client, 'wrong')}`, FORM],
    body: 'grant_type=client_credentials',
  });
/** Script of a separate process, which runs while this one is blocked: the reset arrives before the connection is accepted. */
const SEND_AND_RESET = `
  const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1', () => {
    socket.write(process.argv[2], 'latin1', () => socket.resetAndDestroy());
  });`;

eachStore('a connection that is reset', (world) => {
  const guesses = () => world().recorded.audit('client_authentication');

  /** Resolves when every earlier request is answered. */
  async function settled(): Promise<void> {
    const before = guesses().length;
    await post(
      world(),
      '/oauth/token',
      { grant_type: 'client_credentials' },
      { authorization: basic('svc', 'x') },
    );
    await expect.poll(() => guesses().length).toBeGreaterThan(before);
  }

  it('HT-06: after its request leaves the address of the caller in the audit trail', async () => {
    const { hostname, port } = new URL(world().base);
    for (let count = 0; count < 10; count += 1) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      // The service has accepted the connection by the time it answers another caller.
      expect((await get(world(), '/oauth/jwks.json')).status).toBe(200);
      socket.write(guess('web'), 'latin1');
      socket.resetAndDestroy();
    }
    await settled();
    expect(guesses().length).toBeGreaterThan(1);
    expect(new Set(guesses().map(({ address }) => address))).toEqual(new Set(['127.0.0.1']));
  });

  it('HT-06: before it was accepted is refused, because it counts for no address', async () => {
    const { port } = new URL(world().base);
    for (let count = 0; count < 10; count += 1)
      execFileSync(process.execPath, ['-e', SEND_AND_RESET, port, guess('web2')]);
    await settled();
    expect(guesses().filter(({ client_id: client }) => client === 'web2')).toEqual([]);
    expect((await get(world(), '/oauth/jwks.json')).status).toBe(200);
  });
});
