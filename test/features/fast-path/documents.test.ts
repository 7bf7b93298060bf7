// Discovery and JWKS by the fast path and through the middleware, byte by byte, with generated requests. At level debug the log
// follows each request through the middleware, so the level decides which path a request takes.
import Koa from 'koa';
import { describe, expect, it, vi } from 'vitest';
import { useWorld } from '../../world/each-store.ts';
import { rounds } from '../../world/rounds.ts';
import { ANSWER_TIMEOUT_MS, openWire } from '../../world/wire.ts';
import { type OpenWorld, SPA_ORIGIN } from '../../world/world.ts';
import { seededRandom } from './generated-requests.ts';

const ALLOWED = 'https://global.example';
const DOCUMENTS = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/oauth/jwks.json',
];
const DURATION = 'postern_http_request_duration_seconds';

type Level = 'debug' | 'info';
type Values = readonly { metricName: string; labels: Record<string, string>; value: number }[];

/** The first items of each list are those of a plain request. */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'];
const HOSTS = [
  ['Host: id.example'],
  ['host: 127.0.0.1:8080'],
  ['HOST:[::1]:443'],
  ['Host: a b'],
  ['Host:'],
  ['Host: id.example/x'],
  ['Host: id.example', 'Host: evil.example'],
  [],
];
const EXTRAS = (etag: string): string[][] => [
  ['User-Agent: wrk', 'Accept: */*', 'X-Forwarded-For: 203.0.113.5', 'X-Forwarded-Host: evil.example'],
  ['Cookie: postern_language=de', 'Accept-Language: de', 'Accept: text/html', 'X-Request-Id: forged'],
  ['Cache-Control: no-cache', 'Pragma: no-cache', 'Range: bytes=0-9', 'Upgrade-Insecure-Requests: 1'],
  ['Forwarded: host=evil.example', 'X-HTTP-Method-Override: POST', 'TE: trailers'],
  [`If-None-Match: ${etag}`],
  [`if-none-match: W/${etag}`],
  [`If-None-Match: "other", ${etag}`],
  ['If-None-Match: *'],
  ['If-None-Match: "other"'],
  ['If-None-Match:'],
  [`If-None-Match: ${etag}`, 'Cache-Control: no-cache'],
  [`If-None-Match: ${etag}`, 'Cache-Control: max-age=0'],
  [`If-None-Match: ${etag}`, 'If-Modified-Since: Wed, 21 Oct 2037 07:28:00 GMT'],
  [`If-None-Match: ${etag}`, `If-None-Match: ${etag}`],
  [`If-None-Match: ${etag}`, `If-None-Match: "other"`],
  [`If-None-Match: ${etag}`, `Origin: ${ALLOWED}`],
  ['If-Modified-Since: Wed, 21 Oct 2037 07:28:00 GMT'],
  [`Origin: ${ALLOWED}`],
  [`origin: ${SPA_ORIGIN}`],
  ['Origin: https://evil.example'],
  ['Origin: null'],
  ['Origin:'],
  [`Origin: ${ALLOWED}`, 'Origin: https://evil.example'],
  [`Origin: ${ALLOWED}`, 'Access-Control-Request-Method: GET'],
  ['Authorization: Basic eDp5'],
  ['Authorization: Basic eDp5', 'authorization: Bearer z'],
  ['Content-Type: a/b', 'Content-Type: c/d'],
  ['Expect: 100-continue'],
  ['Expect: nothing-known'],
  ['Connection: upgrade', 'Upgrade: websocket'],
  Array.from({ length: 99 }, (_, index) => `X-Filler-${index}: ${index}`),
  Array.from({ length: 97 }, (_, index) => `X-Filler-${index}: ${index}`),
];
const BODIES: readonly (readonly [header: string | undefined, body: string])[] = [
  [undefined, ''],
  ['Content-Length: 0', ''],
  ['Content-Length: 5', 'a=b&c'],
  ['Content-Length: 70000', 'begun'],
  ['Transfer-Encoding: chunked', '5\r\na=b&c\r\n0\r\n\r\n'],
  ['Transfer-Encoding: chunked', '5\r\nendle\r\n'],
];

function itemAt<T>(list: readonly T[], index: number): T {
  const one = list[index];
  if (one === undefined) throw new RangeError(`nothing at ${index}`);
  return one;
}

function targetsOf(base: string): string[] {
  const prefix = new URL(base).pathname.replace(/\/$/, '');
  const inside = DOCUMENTS.map((path) => `${prefix}${path}`);
  const own = [...inside, ...DOCUMENTS.slice(0, 2).map((path) => `${path}${prefix}`)];
  return [
    ...own,
    ...own.flatMap((path) => [
      `${path}?`,
      `${path}?a=b`,
      `${path}?lang=de`,
      `${path}/`,
      `${path}#x`,
      `/${path}`,
    ]),
    ...own.map((path) => `http://evil.example${path}`),
    ...own.map((path) => path.replace('o', '%6f')),
    ...own.map((path) => path.toUpperCase()),
    ...DOCUMENTS,
    `${prefix}/oauth/nothing`,
    `${prefix}/oauth/userinfo`,
    `${prefix}/oauth/authorize`,
    '*',
  ];
}

/** Requests of all kinds, as bytes: plain ones, ones with a single difference, and wild ones. Each is the last of its connection. */
function makeRequests(base: string, etag: string, count: number): string[] {
  const random = seededRandom(20_240_611);
  const next = (below: number) => Math.floor(random.next() * below);
  const [targets, extras] = [targetsOf(base), EXTRAS(etag)];
  return Array.from({ length: count }, () => {
    const kind = next(3);
    const oddity = next(6);
    /** Picks from the list, and only from its first `usual` items unless this is where the request differs. */
    const some = <T>(list: readonly T[], usual: number, thing: number): T => {
      const isOdd = kind === 2 || (kind === 1 && thing === oddity);
      return itemAt(list, next(isOdd ? list.length : usual));
    };
    const method = some(METHODS, 1, 0);
    const target = some(targets, 5, 1);
    const host = some(HOSTS, 3, 2);
    const headers = [...some(extras, 4, 3), ...(next(3) === 0 ? some(extras, 1, 3) : [])];
    const [bodyHeader, body] = some(BODIES, 1, 4);
    const version = some(['1.1', '1.0'], 1, 5);
    const lines = [
      `${method} ${target} HTTP/${version}`,
      ...host,
      ...headers,
      ...(bodyHeader ? [bodyHeader] : []),
    ];
    return [...lines, 'Connection: close', '', body].join('\r\n');
  });
}

const SOME_ID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;

/**
 * Removes dates and the request id, which differ between answers, and sorts the headers, whose order also depends
 * on how much of a body had arrived.
 */
function masked(answer: string): string {
  const [head = '', ...bodies] = answer
    .replaceAll(/^Date: [^\r]{29}\r$/gm, 'Date: then\r')
    .replaceAll(/expires=[^;]*; max-age=\d+/g, 'expires=then')
    .replaceAll(SOME_ID, 'some')
    .split('\r\n\r\n');
  return [head.split('\r\n').toSorted().join('\r\n'), ...bodies].join('\r\n\r\n');
}

/** Returns the bytes as received, until the other side closes. */
async function exchangeBytes(base: string, bytes: string): Promise<string> {
  const wire = await openWire(base);
  wire.write(bytes);
  const timer = setTimeout(() => wire.destroy(), ANSWER_TIMEOUT_MS);
  const { received, afterMs } = await wire.ended;
  clearTimeout(timer);
  if (afterMs >= ANSWER_TIMEOUT_MS) throw new Error(`no end of the answer to ${bytes.slice(0, 300)}`);
  return received;
}

const plain = (target: string, ...headers: string[]) =>
  ['GET '.concat(target, ' HTTP/1.1'), 'Host: id.example', ...headers, 'Connection: close', '', ''].join(
    '\r\n',
  );

const headerOf = (answer: string, name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(answer)?.[1];

async function countsOf(world: OpenWorld): Promise<Map<string, number>> {
  const metrics = (await world.recorded.telemetry.metrics.read()) as readonly {
    name: string;
    values: Values;
  }[];
  const values = metrics.find(({ name }) => name === DURATION)?.values ?? [];
  return new Map(
    values
      .filter(({ metricName }) => metricName === `${DURATION}_count`)
      .map(({ labels, value }) => [`${labels['route']} ${labels['status']}`, value]),
  );
}

/** Returns the growth of the request counts while `work` ran. */
async function growth(world: OpenWorld, work: () => Promise<void>): Promise<Record<string, number>> {
  const before = await countsOf(world);
  await work();
  const after = [...(await countsOf(world))].map(([key, count]) => [key, count - (before.get(key) ?? 0)]);
  return Object.fromEntries(after.filter(([, count]) => count !== 0));
}

/** Lines of the log about a request that went through the middleware. */
const followed = (world: OpenWorld) =>
  world.recorded.log.filter((line) => line.includes('"msg":"request"')).length;

describe.each([
  ['at the root of a host, by http', undefined],
  ['at a path, by https', 'https://id.example/auth'],
])('discovery and JWKS by the fast path, %s', (_title, issuer) => {
  const world = useWorld({ ...(issuer && { issuer }), config: { cors: { allowed_origins: [ALLOWED] } } });
  const setLevel = (level: Level) => {
    world().recorded.telemetry.log.level = level;
  };
  const targets = () => targetsOf(world().base).slice(0, 5);

  it('HT-22: are byte for byte those of the middleware, for whatever is sent, and are counted alike', async () => {
    setLevel('debug');
    const etag = headerOf(await exchangeBytes(world().base, plain(itemAt(targets(), 0))), 'ETag') ?? '';
    const requests = makeRequests(world().base, etag, rounds(3000, 600));

    async function askAll(level: Level): Promise<string[]> {
      setLevel(level);
      const answers: string[] = [];
      for (let index = 0; index < requests.length; index += 50) {
        const some = requests.slice(index, index + 50);
        answers.push(...(await Promise.all(some.map((bytes) => exchangeBytes(world().base, bytes)))));
      }
      return answers.map(masked);
    }
    let [long, short]: [string[], string[]] = [[], []];
    const longCounts = await growth(world(), async () => {
      long = await askAll('debug');
    });
    const shortCounts = await growth(world(), async () => {
      short = await askAll('info');
    });
    for (const [index, bytes] of requests.entries()) expect(short[index], bytes).toBe(long[index]);
    expect(shortCounts).toEqual(longCounts);
    // Meaningful only if requests of all kinds occurred.
    const statuses = new Set(long.map((answer) => Number(/HTTP\/1\.1 (?!100)(\d+)/.exec(answer)?.[1])));
    expect([...statuses]).toEqual(expect.arrayContaining([200, 204, 304, 400, 404, 405, 431]));
    expect(longCounts['discovery 200']).toBeGreaterThan(40);
  });

  it.each([
    ['a plain GET', 'GET', 200],
    ['a HEAD', 'HEAD', 200],
    ['a GET of who has it already', 'GET', 304],
    ['a HEAD of who has it already', 'HEAD', 304],
  ])('need no middleware for %s', async (_what, method, status) => {
    setLevel('info');
    const contexts = vi.spyOn(Koa.prototype, 'createContext');
    for (const target of targets()) {
      const etag = headerOf(await exchangeBytes(world().base, plain(target)), 'ETag') ?? '';
      contexts.mockClear();
      const condition = status === 304 ? [`If-None-Match: ${etag}`] : [];
      const answer = await exchangeBytes(world().base, plain(target, ...condition).replace('GET', method));
      expect([answer.slice(0, 13), contexts.mock.calls.length], target).toEqual([`HTTP/1.1 ${status} `, 0]);
    }
    contexts.mockRestore();
  });

  it('IN-10: go through the middleware for a log at debug, each of them', async () => {
    setLevel('info');
    for (const target of targets()) await exchangeBytes(world().base, plain(target));
    setLevel('debug');
    const before = followed(world());
    for (const target of targets()) await exchangeBytes(world().base, plain(target));
    expect(followed(world()) - before).toBe(5);
  });
});
