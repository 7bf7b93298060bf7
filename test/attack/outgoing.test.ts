// Outbound requests, in a network where every forbidden address exists and would answer: which hosts may be called, and what
// such a host can cause.
import { beforeAll, describe, expect, it } from 'vitest';
import { clientSchema } from '../../src/config/schema-client.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { Seen } from './outgoing-inside.ts';
import { describeOutgoing, FORBIDDEN, NO_WAY, NOTHING, PUBLIC, PUBLIC_V6 } from './outgoing-network.ts';

describeOutgoing((inside) => {
  const refused = (seen: Partial<Seen> = {}) => ({ outcome: 'address', seen: { ...NOTHING, ...seen } });

  it('go to a public address, past every proxy of the environment', async () => {
    const { outcome, seen } = await inside.get('https://docs.example/client.json');
    expect([outcome, seen.connections, seen.strays]).toEqual(['200', [`${PUBLIC} 443`], 0]);
    expect(seen.requests).toEqual(['docs.example/client.json']);
  });

  it.each(FORBIDDEN)('MC-01: not one packet goes to %s, however the name leads there', async (address) => {
    const host = address.includes(':') ? `[${address}]` : address;
    expect(await inside.get(`https://${host}/client.json`)).toEqual(refused());
    const names = ['docs.example'];
    for (const answers of [[address], [PUBLIC, address], [address, PUBLIC], [PUBLIC_V6, address]]) {
      await inside.script('docs.example', [answers]);
      expect(await inside.get('https://docs.example/c'), answers.join()).toEqual(refused({ names }));
    }
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it('MC-03: a CNAME to this machine is where it leads', async () => {
    await inside.script('docs.example', [['-> localhost']]);
    expect(await inside.get('https://docs.example/c')).toEqual(refused({ names: ['docs.example'] }));
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it('MC-03: connects to what was checked, where the next answer is another', async () => {
    await inside.script('docs.example', [[PUBLIC], ['10.0.0.5']]);
    const first = await inside.get('https://docs.example/c');
    expect([first.outcome, first.seen.connections, first.seen.strays]).toEqual(['200', [`${PUBLIC} 443`], 0]);
    expect(first.seen.names).toEqual(['docs.example']);
    expect(await inside.get('https://docs.example/c')).toEqual(refused({ names: ['docs.example'] }));
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it.each([
    ['10.0.0.5', 'https://id.example', '200'],
    ['fd00::1', 'https://id.example', '200'],
    ['127.0.0.1', 'https://id.example', 'address'],
    ['169.254.169.254', 'https://id.example', 'address'],
    ['127.0.0.1', 'http://localhost', '200'],
    ['198.18.0.1', 'http://localhost', 'address'],
    ['0.0.0.0', 'http://localhost', 'address'],
    ['::ffff:10.0.0.5', 'http://localhost', 'address'],
  ])('MC-03: an internal host may be at %s, issuer %s: %s', async (address, issuer, outcome) => {
    await inside.script('inner.example', [[address]]);
    const answer = await inside.get('https://inner.example/c', ['inner.example'], issuer);
    const connections = outcome === '200' ? [`${address} 443`] : [];
    expect(answer).toMatchObject({ outcome, seen: { connections, strays: 0 } });
    // For another host, the same address stays forbidden.
    await inside.script('docs.example', [[address]]);
    const other = await inside.get('https://docs.example/c', ['inner.example'], issuer);
    expect(other).toEqual(refused({ names: ['docs.example'] }));
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it.each([
    ['127.0.0.1', 'http://localhost', 'timeout', ['127.0.0.1 80']],
    ['::1', 'http://localhost', 'timeout', ['::1 80']],
    ['127.0.0.1', 'https://id.example', 'url', []],
    ['169.254.169.254', 'http://localhost', 'url', []],
    ['10.0.0.5', 'http://localhost', 'url', []],
    [PUBLIC, 'http://localhost', 'url', []],
  ])('MC-03: without TLS, an internal host at %s, %s: %s', async (address, issuer, outcome, connections) => {
    await inside.script('inner.example', [[address]]);
    const answer = await inside.get('http://inner.example/c', ['inner.example'], issuer);
    expect(answer).toMatchObject({ outcome, seen: { connections, strays: 0 } });
  });

  it('F1-01: no request goes to everyone in a network of this machine', async () => {
    for (const [address, host] of [
      ['93.184.217.255', 'docs.example'],
      ['10.9.11.255', 'inner.example'],
    ] as const) {
      await inside.script(host, [[address]]);
      expect(await inside.get(`https://${host}/c`, ['inner.example'])).toEqual(refused({ names: [host] }));
    }
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it.each(Object.entries(NO_WAY))('F1-01: an unreachable address fails alone: %s', async (_, address) => {
    for (const answers of [[address], [address, NO_WAY.ENETUNREACH], [PUBLIC_V6, address]]) {
      await inside.script('docs.example', [answers]);
      const { outcome } = await inside.get('https://docs.example/c');
      expect(outcome, answers.join()).toBe(answers[0] === PUBLIC_V6 ? '200' : 'connection');
    }
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it('F1-01: a machine without a free port ends the request alone: EADDRNOTAVAIL', async () => {
    expect((await inside.getWithoutPorts('https://docs.example/c')).outcome).toBe('connection');
  });

  const keys: object = { ...configSchema.shape, ...clientSchema.shape };
  const hasBoth = 'client_documents' in keys && 'backchannel_logout_uri' in keys;
  it.runIf(hasBoth).each([
    ['lmdb', 1],
    ['lmdb', 2],
    ['redis', 2],
  ] as const)('F1-01: unreachable hosts stop no process, on %s with %i', async (store, workers) => {
    const hosts = Object.entries(NO_WAY).map(([, address], index) => [`way${index}.example`, address]);
    for (const [host = '', address = ''] of hosts) await inside.script(host, [[address]]);
    const names = hosts.map(([host = '']) => host);
    const { statuses, ended, tries, pids } = await inside.serve(store, workers, names);
    expect(statuses).toEqual(names.map(() => 503));
    expect(tries).toEqual(names.map((host) => `${host} 1`));
    expect([ended, pids.after]).toEqual([0, pids.before]);
  });

  describe('without client_documents', () => {
    const PINNED = 'https://docs.example/pinned.json';
    beforeAll(async () =>
      inside.start({}, [
        {
          client_id: PINNED,
          client_name: 'Pinned app',
          redirect_uris: ['https://docs.example/cb'],
          grant_types: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_method: 'none',
          scope: 'openid offline_access',
        },
      ]),
    );

    const INSIDE = ['https://docs.example/client.json', 'https://10.0.0.5/c', 'https://localhost/c'];
    it.each(INSIDE)('IN-16: nothing is sent for %s, and no name is looked up', async (clientId) => {
      const { status, location, seen } = await inside.visit(clientId);
      expect([status, location, seen]).toEqual([400, '', NOTHING]);
    });

    it('MC-32, IN-16: a pinned client works through, with nothing sent', async () => {
      const { refreshed, seen } = await inside.useClient(PINNED);
      expect([refreshed, seen]).toEqual([200, NOTHING]);
    });
  });
});
