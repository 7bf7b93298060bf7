// Requests of the service itself, in a network where every forbidden address exists and would answer: what may be called, and what a
// host that is called can do.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answers } from '../world/name-server.ts';
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
/** By what the system says at once when somebody connects there. A name of each has only that address. */
const NO_WAY = {
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
const NOTHING: Seen = { connections: [], requests: [], strays: 0, names: [] };

const fault = namespaceFault();
if (fault !== undefined && process.env['CI'] !== undefined) throw new Error(fault);
const title = fault === undefined ? 'outgoing requests' : `outgoing requests: NOT TESTED, ${fault}`;
if (fault !== undefined) process.stderr.write(`test/attack/outgoing.test.ts is skipped: ${fault}\n`);

let run = 0;

// The two seconds of a request are real ones. A machine that is too busy for them has another try.
describe.skipIf(fault !== undefined)(title, { retry: 2 }, () => {
  let world: Namespace<Inside>;
  let inside: Namespace<Inside>['inside'];
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
  afterAll(async () => {
    await inside.stop();
    await world.leave();
  });

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

  it.each([
    ['127.0.0.1', true, 'timeout', ['127.0.0.1 80']],
    ['::1', true, 'timeout', ['::1 80']],
    ['127.0.0.1', false, 'url', []],
    ['169.254.169.254', true, 'url', []],
    ['10.0.0.5', true, 'url', []],
    [PUBLIC, true, 'url', []],
  ])(
    'MC-03: without TLS, an internal host may be at %s, issuer on loopback %s: %s',
    async (address, isLoopback, outcome, connections) => {
      await inside.script('inner.example', [[address]]);
      const answer = await inside.get('http://inner.example/c', ['inner.example'], isLoopback);
      expect(answer).toMatchObject({ outcome, seen: { connections, strays: 0 } });
    },
  );

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

  it.each(Object.entries(NO_WAY))(
    'F1-01: an address without a way to it ends its request alone: %s',
    async (_, address) => {
      for (const answers of [[address], [address, NO_WAY.ENETUNREACH], [PUBLIC_V6, address]]) {
        await inside.script('docs.example', [answers]);
        const { outcome } = await inside.get('https://docs.example/c');
        expect(outcome, answers.join()).toBe(answers[0] === PUBLIC_V6 ? '200' : 'connection');
      }
      await inside.script('docs.example', [[PUBLIC]]);
    },
  );

  it('F1-01: a machine without a free port ends the request alone: EADDRNOTAVAIL', async () => {
    expect((await inside.getWithoutPorts('https://docs.example/c')).outcome).toBe('connection');
  });

  it.each([
    ['lmdb', 1],
    ['lmdb', 2],
    ['redis', 2],
  ] as const)(
    'F1-01: documents and logouts without a way to them leave every process of the service alive, on %s with %i',
    async (store, workers) => {
      const hosts = Object.entries(NO_WAY).map(([, address], index) => [`way${index}.example`, address]);
      for (const [host = '', address = ''] of hosts) await inside.script(host, [[address]]);
      const names = hosts.map(([host = '']) => host);
      const { statuses, ended, tries, pids } = await inside.serve(store, workers, names);
      expect(statuses).toEqual(names.map(() => 503));
      expect(tries).toEqual(names.map((host) => `${host} 1`));
      expect([ended, pids.after]).toEqual([0, pids.before]);
    },
  );

  describe('of documents of clients', () => {
    const CONFIG = {
      client_documents: { hosts: ['docs.example', 'silent.example'], scope: 'openid offline_access' },
    };
    beforeAll(async () => inside.start(CONFIG));
    // What was refused is asked for again, and every limit begins anew.
    beforeEach(async () => {
      await inside.later(10);
      await inside.script('docs.example', [[PUBLIC]]);
    });

    it('are sent for a listed host', async () => {
      const { status, location, seen } = await inside.visit('https://docs.example/client.json');
      expect([status, location]).toEqual([303, expect.stringContaining('/interaction/')]);
      expect(seen).toEqual({
        connections: [`${PUBLIC} 443`],
        requests: ['docs.example/client.json'],
        strays: 0,
        names: ['docs.example'],
      });
    });

    it.each([
      ...FORBIDDEN.map((one) => (one.includes(':') ? `[${one}]` : one)),
      '3232235777',
      '0300.0250.0.1',
      '0x7f.1',
      '127.1',
      'localhost',
      'LOCALHOST.',
    ])('MC-01: are not sent to https://%s, and nobody is sent anywhere', async (host) => {
      const { status, location, seen } = await inside.visit(`https://${host}/c.json`);
      expect([status, location, seen]).toEqual([400, '', NOTHING]);
    });

    it.each([
      'https://docs.example.evil.example/c',
      'https://evildocs.example/c',
      'https://sub.docs.example/c',
      'https://docs.example./c',
      'https://docs.example:8443/c',
      'https://docs.example:80/c',
      'https://docs.example:443/c',
      'https://docs.example@10.0.0.5/c',
      'https://10.0.0.5\\@docs.example/c',
      'https://DOCS.example/c',
      'https://docs.example',
      'https://docs.example/a/%2e%2e/c',
      'https://docs.example/c#x',
      'https://docs.example/c\t',
      'http://docs.example/c',
      '//docs.example/c',
    ])('MC-07, MC-09: are not sent for %j', async (clientId) => {
      const { status, location, seen } = await inside.visit(clientId);
      expect([status, location, seen]).toEqual([400, '', NOTHING]);
    });

    it.each<[string, Answers]>([
      ['10.0.0.5', [['10.0.0.5']]],
      ['a public and a private address', [[PUBLIC, '10.0.0.5']]],
      ['a mapped address', [['::ffff:192.168.0.1']]],
      ['localhost by a CNAME', [['-> localhost']]],
    ])('MC-03: are not sent where a listed host leads to %s', async (_, answers) => {
      await inside.script('docs.example', answers);
      const { status, location, text, seen } = await inside.visit('https://docs.example/c');
      expect([status, location, seen]).toEqual([400, '', { ...NOTHING, names: ['docs.example'] }]);
      expect(text).not.toMatch(/address|10\.0\.0|public/);
    });

    it('MC-03: are sent to the address that was checked, and refused when it has moved inside', async () => {
      await inside.script('docs.example', [[PUBLIC], ['10.0.0.5']]);
      const first = await inside.visit('https://docs.example/moving');
      expect([first.status, first.seen.connections, first.seen.strays]).toEqual([303, [`${PUBLIC} 443`], 0]);
      await inside.later(24 * 60 + 1);
      const second = await inside.visit('https://docs.example/moving');
      expect([second.status, second.seen]).toEqual([400, { ...NOTHING, names: ['docs.example'] }]);
    });

    it.each(
      ['https://docs.example/client.json', 'http://169.254.169.254/latest', ''].flatMap((target) =>
        [301, 302, 303, 307, 308].map((status) => [status, target] as const),
      ),
    )('MC-05: follow no redirect: %i to %s', async (status, target) => {
      const path = `/redirect/${status}/${encodeURIComponent(target)}`;
      const answer = await inside.visit(`https://docs.example${path}`);
      expect([answer.status, answer.location, answer.seen.strays]).toEqual([400, '', 0]);
      expect([answer.seen.connections, answer.seen.requests]).toEqual([
        [`${PUBLIC} 443`],
        [`docs.example${path}`],
      ]);
    });

    it.each<[string, Readonly<Record<string, string>>]>([
      [
        '/oauth/token',
        { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://docs.example/cb' },
      ],
      ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
      ['/oauth/introspect', { token: 'x' }],
      ['/oauth/revoke', { token: 'x' }],
      ['/oauth/logout', { post_logout_redirect_uri: 'https://docs.example/cb' }],
      ['/oauth/userinfo', { access_token: 'x' }],
    ])('MC-30: are not sent for a client_id at %s with %o', async (endpoint, form) => {
      const { status, seen } = await inside.post(endpoint, {
        ...form,
        client_id: 'https://docs.example/new.json',
      });
      expect(status).toBeLessThan(500);
      expect(seen).toEqual(NOTHING);
    });

    it('MC-19: are not sent to anything that a document names, from sign-in to a refreshed token', async () => {
      const { refreshed, seen } = await inside.useClient('https://docs.example/links/client.json');
      expect([refreshed, seen.connections, seen.strays]).toEqual([200, [`${PUBLIC} 443`], 0]);
      expect([seen.requests, seen.names]).toEqual([['docs.example/links/client.json'], ['docs.example']]);
    });

    it.each([
      ['most-bytes', 303],
      ['byte-more', 400],
      ['length', 400],
      ['chunked', 400],
      ['endless', 400],
      ['gzip', 400],
      ['gzip-small', 400],
    ])('MC-10: read no more than a document may have: %s, %i', async (path, status) => {
      const answer = await inside.visit(`https://docs.example/${path}/c.json`);
      expect([answer.status, answer.seen.connections]).toEqual([status, [`${PUBLIC} 443`]]);
      await inside.closed();
    });

    it('MC-10: leave nothing in memory', async () => {
      for (const path of ['endless', 'gzip'])
        expect(await inside.growth(`https://docs.example/${path}/c.json`, 40)).toBeLessThan(5_000_000);
    });

    it('MC-12: end soon, however a host is slow, with 503 and closed connections', async () => {
      const slow = ['nothing', 'headers', 'body', 'hints', 'upgrade'].map(
        (one) => `https://docs.example/${one}`,
      );
      const answers = await Promise.all(
        ['https://silent.example/c', 'https://docs.example/status/500', ...slow].map((clientId, index) =>
          inside.visit(clientId, `127.1.${index}.1`),
        ),
      );
      for (const { status, location, retryAfter } of answers)
        expect([status, location, Number(retryAfter) > 0]).toEqual([503, '', true]);
      await inside.closed();
    });

    it('MC-12: end soon where the name server is silent', async () => {
      await inside.script('docs.example', []);
      const { status, retryAfter, seen } = await inside.visit('https://docs.example/unnamed');
      expect([status, seen.connections, seen.strays]).toEqual([503, [], 0]);
      expect(Number(retryAfter)).toBeGreaterThan(0);
    });

    it('MC-12: hold nobody up: a hundred at a silent host at once', async () => {
      const clientIds = Array.from({ length: 100 }, (_, index) => `https://silent.example/${index}`);
      const addresses = clientIds.map((_, index) => `127.2.${index + 1}.1`);
      const answer = await inside.flood({ clientIds, addresses, atOnce: 100 });
      expect([answer.signedIn, answer.lacking, answer.seen.strays]).toEqual([true, 0, 0]);
      expect(answer.statuses.filter((status) => status !== 429 && status !== 503)).toEqual([]);
      expect(answer.seen.connections.length).toBeLessThanOrEqual(10);
      await inside.closed();
    });

    it('MC-30: a stranger who names hundreds has few of them asked for, and delays nobody', async () => {
      run += 1;
      const clientId = `https://docs.example/known/${run}`;
      let { refreshed, refreshToken } = await inside.useClient(clientId);
      expect(refreshed).toBe(200);
      // Its document isn't believed any more, nor are the limits what they were.
      await inside.later(24 * 60 + 1);
      const before = await inside.heap();

      async function flood(from: number, addresses: readonly string[]) {
        const clientIds = Array.from(
          { length: 100 },
          (_, index) => `https://docs.example/${run}/${from + index}`,
        );
        const answer = await inside.flood({
          clientIds,
          addresses,
          atOnce: 10,
          known: { clientId, refreshToken },
        });
        expect([answer.signedIn, answer.knownVisit, answer.knownRefresh?.refreshed]).toEqual([
          true,
          303,
          200,
        ]);
        ({ refreshed, refreshToken } = answer.knownRefresh ?? { refreshed, refreshToken });
        const strange = answer.seen.requests.filter((one) => !one.includes('/known/')).length;
        // Those that weren't asked for were refused, with the time to come back.
        expect(answer.statuses.filter((status) => status === 429).length).toBe(100 - strange);
        expect([answer.lacking, answer.seen.strays]).toEqual([0, 0]);
        return { strange, renewals: answer.seen.requests.length - strange };
      }

      const one = ['127.0.3.1'];
      expect(await flood(0, one)).toEqual({ strange: 5, renewals: 1 });
      expect(await flood(100, one)).toEqual({ strange: 0, renewals: 0 });
      expect(await flood(200, one)).toEqual({ strange: 0, renewals: 0 });
      // What was refused was counted for that stranger alone.
      const other = await inside.visit(`https://docs.example/${run}/other`, '127.0.3.2');
      expect([other.status, other.seen.connections.length]).toEqual([303, 1]);
      // Many of them share what a host is asked for, also where what they use is to be renewed.
      await inside.later(24 * 60 + 1);
      const many = Array.from({ length: 100 }, (_, index) => `127.4.${index + 1}.1`);
      expect(await flood(300, many)).toEqual({ strange: 10, renewals: 1 });
      expect((await inside.heap()) - before).toBeLessThan(10_000_000);
    });
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

    it.each(['https://docs.example/client.json', 'https://10.0.0.5/c', 'https://localhost/c'])(
      'IN-16: nothing is sent for %s, and no name is asked for',
      async (clientId) => {
        const { status, location, seen } = await inside.visit(clientId);
        expect([status, location, seen]).toEqual([400, '', NOTHING]);
      },
    );

    it('MC-32, IN-16: a pinned client works through, with nothing sent', async () => {
      const { refreshed, seen } = await inside.useClient(PINNED);
      expect([refreshed, seen]).toEqual([200, NOTHING]);
    });
  });
});
