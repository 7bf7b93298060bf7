// Requests of the service itself, in a network where every forbidden address exists and would answer: what may be called, and what a
// host that is called can do.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enterNamespace, type Namespace, namespaceFault } from '../world/namespace.ts';
import type { Inside, Seen } from './outgoing-inside.ts';

const PUBLIC = '93.184.216.34';
const PUBLIC_V6 = '2606:2800:220:1::34';
const SILENT = '93.184.216.35';
const FORBIDDEN = [
  '0.0.0.0',
  '10.0.0.5',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '192.168.1.1',
  '198.18.0.1',
  '::1',
  '::ffff:10.0.0.5',
  '64:ff9b::a00:5',
  'fd00::1',
  'fe80::1',
] as const;
const NOTHING: Seen = { connections: [], requests: [], strays: 0, names: [] };

const fault = namespaceFault();
const title = fault === undefined ? 'outgoing requests' : `outgoing requests: NOT TESTED, ${fault}`;
if (fault !== undefined) process.stderr.write(`test/attack/outgoing.test.ts is skipped: ${fault}\n`);

describe.skipIf(fault !== undefined)(title, () => {
  let world: Namespace<Inside>;
  let inside: Namespace<Inside>['inside'];
  beforeAll(async () => {
    world = await enterNamespace<Inside>({
      script: 'test/attack/outgoing-inside.ts',
      addresses: [PUBLIC, PUBLIC_V6, SILENT, ...FORBIDDEN.slice(1).filter((one) => !/127\.|^::/.test(one))],
      names: ['docs.example', 'silent.example', 'inner.example'],
      // No request may go to a proxy, and none without a good certificate.
      env: {
        HTTPS_PROXY: 'http://127.0.0.1:80',
        https_proxy: 'http://127.0.0.1:80',
        ALL_PROXY: 'http://127.0.0.1:80',
        NODE_USE_ENV_PROXY: '1',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      },
    });
    ({ inside } = world);
    await inside.prepare();
    await inside.script('docs.example', [[PUBLIC]]);
    await inside.script('silent.example', [[SILENT]]);
  });
  afterAll(async () => world.leave());

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
    ['10.0.0.5', false, '200'],
    ['fd00::1', false, '200'],
    ['127.0.0.1', false, 'address'],
    ['169.254.169.254', false, 'address'],
    ['127.0.0.1', true, '200'],
    ['198.18.0.1', true, 'address'],
    ['0.0.0.0', true, 'address'],
    ['::ffff:10.0.0.5', true, 'address'],
  ])(
    'MC-03: an internal host may be at %s, issuer on loopback %s: %s',
    async (address, isLoopback, outcome) => {
      await inside.script('inner.example', [[address]]);
      const answer = await inside.get('https://inner.example/c', ['inner.example'], isLoopback);
      const connections = outcome === '200' ? [`${address} 443`] : [];
      expect(answer).toMatchObject({ outcome, seen: { connections, strays: 0 } });
      // Of another host the same address stays forbidden.
      await inside.script('docs.example', [[address]]);
      const other = await inside.get('https://docs.example/c', ['inner.example'], isLoopback);
      expect(other).toEqual(refused({ names: ['docs.example'] }));
      await inside.script('docs.example', [[PUBLIC]]);
    },
  );
});
