// A network where every forbidden address exists and would answer, and the tests that send requests in it.
import { afterAll, beforeAll, describe } from 'vitest';
import { enterNamespace, type Namespace, namespaceFault } from '../world/namespace.ts';
import type { Inside, Seen } from './outgoing-inside.ts';

export const PUBLIC = '93.184.216.34';
export const PUBLIC_V6 = '2606:2800:220:1::34';
const SILENT = '93.184.216.35';
export const FORBIDDEN = [
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
/** Addresses by the error that a connection to them gets at once. A host name of each resolves only to that address. */
export const NO_WAY = {
  ENETUNREACH: '93.184.216.40',
  EHOSTUNREACH: '93.184.216.41',
  EACCES: '93.184.216.42',
  'ENETUNREACH of IPv6': '2606:2800:999::1',
  'EACCES of IPv6': '2606:2800:220:b::1',
} as const;
const ROUTES = [
  `unreachable ${NO_WAY.EHOSTUNREACH}`,
  `prohibit ${NO_WAY.EACCES}`,
  `prohibit ${NO_WAY['EACCES of IPv6']}`,
];
/** Two networks of this machine, a public and a private one. */
const NETWORKS = ['93.184.217.1/24', '10.9.8.7/22'];
export const NOTHING: Seen = { connections: [], requests: [], strays: 0, names: [] };

/** Defines the tests. Skips them where no namespace can be created; throws there in CI. */
export function describeOutgoing(define: (inside: Namespace<Inside>['inside']) => void): void {
  const fault = namespaceFault();
  if (fault !== undefined && process.env['CI'] !== undefined) throw new Error(fault);
  const title = fault === undefined ? 'outgoing requests' : `outgoing requests: NOT TESTED, ${fault}`;
  if (fault !== undefined) process.stderr.write(`${title}\n`);

  // The two seconds of a request are real time. A retry covers a machine that is too busy.
  describe.skipIf(fault !== undefined)(title, { retry: 2 }, () => {
    let world: Namespace<Inside>;
    beforeAll(async () => {
      world = await enterNamespace<Inside>({
        script: 'test/attack/outgoing-inside.ts',
        addresses: [
          PUBLIC,
          PUBLIC_V6,
          SILENT,
          ...NETWORKS,
          ...FORBIDDEN.slice(1).filter((one) => !/127\.|^::/.test(one)),
        ],
        routes: ROUTES,
        names: ['docs.example', 'silent.example', 'inner.example'],
        // No request may go to a proxy, and none may accept an invalid certificate.
        env: {
          HTTPS_PROXY: 'http://127.0.0.1:80',
          https_proxy: 'http://127.0.0.1:80',
          ALL_PROXY: 'http://127.0.0.1:80',
          NODE_USE_ENV_PROXY: '1',
          NODE_TLS_REJECT_UNAUTHORIZED: '0',
        },
      });
      const { inside } = world;
      await inside.prepare();
      await inside.script('docs.example', [[PUBLIC]]);
      await inside.script('silent.example', [[SILENT]]);
    });
    afterAll(async () => {
      await world.inside.stop();
      await world.leave();
    });
    define(new Proxy({} as Namespace<Inside>['inside'], {
      get: (_, key) => Reflect.get(world.inside, key) as unknown,
    }));
  });
}
