// Sends the same request to two equal services, to the second with a cookie, which the fast path leaves to the engine. Compares the
// answers, log lines, audit records and counts of both.
import { Agent, request as httpRequest } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import Provider from 'oidc-provider';
import { expect, vi } from 'vitest';
import { freePort } from '../../world/servers.ts';
import { MINUTE, moveClock, until } from '../../world/clock.ts';
import { type Random, seededRandom } from './generated-requests.ts';
import {
  API,
  type OpenWorld,
  OTHER_API,
  SECRETS,
  startWorld,
  worldClients,
  type WorldOptions,
} from '../../world/world.ts';

export type WireRequest = {
  readonly method: string;
  readonly target: string;
  /** Name, value, name, value; a name may come twice. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** Whether the body is sent in a separate packet. */
  readonly isLate?: boolean;
};

/** The parts of an answer and its traces that must be equal, in a comparable form. */
export type Seen = {
  readonly status: number;
  readonly headers: readonly string[];
  readonly text: string;
  readonly audit: readonly string[];
  readonly log: readonly string[];
};

/** Replaces values that differ between requests or installations, but keeps their lengths comparable. */
export function withoutIds(text: string): string {
  return text
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, (jwt) => {
      const { kid, ...header } = decodeProtectedHeader(jwt);
      const { jti, ...claims } = decodeJwt(jwt);
      return JSON.stringify([header, kid?.length, claims, jti?.length, jwt.length]);
    })
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'uuid')
    .replaceAll(/(?<![\w-])[\w-]{43}(?![\w-])/g, 'id43')
    .replaceAll(/,?"ms":\d+|,"pid":\d+/g, '');
}

/** Headers of equal length, so that both heads have the same size. */
const WAYS = { fast: ['X-Other', 'way=fast'], engine: ['Cookie', 'way=engine'] } as const;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

type Answer = Pick<Seen, 'status' | 'headers' | 'text'> & { readonly body: string };

async function sendOneWay(
  world: OpenWorld,
  way: keyof typeof WAYS,
  { method, target, headers, body, isLate }: WireRequest,
): Promise<Answer> {
  const { hostname, port } = new URL(world.base);
  return new Promise((resolve, reject) => {
    const all = ['Host', 'id.example', ...WAYS[way], ...headers];
    const sent = httpRequest({ hostname, port, method, path: target, headers: all, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        // Whether a connection is kept depends on how much of a body had arrived when it was refused.
        const { connection: _close, 'keep-alive': _keep, date: _date, ...kept } = response.headers;
        const { 'x-request-id': id, ...fields } = kept;
        resolve({
          status: response.statusCode ?? 0,
          headers: [
            ...Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`),
            `x-request-id: ${String(id?.length)}`,
          ].toSorted(),
          text: withoutIds(Buffer.concat(chunks).toString('latin1')),
          body: Buffer.concat(chunks).toString('latin1'),
        });
      });
    });
    sent.on('error', reject);
    if (isLate === true) {
      sent.flushHeaders();
      setImmediate(() => sent.end(body));
    } else sent.end(body);
  });
}

/** One of the two services, with its reports and counts so far. */
class Side {
  readonly world: OpenWorld;
  /** The body of the last answer, unchanged. */
  lastBody = '';
  readonly #way: keyof typeof WAYS;
  readonly #counted = new Map<string, string>();
  #reported = [0, 0];

  constructor(world: OpenWorld, way: keyof typeof WAYS) {
    this.world = world;
    this.#way = way;
    // As in production: at debug every request goes through the middleware.
    world.recorded.telemetry.log.level = 'info';
    const { counters } = world.openedStore;
    for (const name of ['increment', 'remove'] as const) {
      const own = counters[name].bind(counters) as (key: string, ...rest: unknown[]) => Promise<unknown>;
      vi.spyOn(counters, name).mockImplementation((async (key: string, ...rest: unknown[]) => {
        // Readiness writes on a timer, not for a request.
        if (key !== 'readiness') {
          this.#counted.set(key, `${this.#counted.get(key) ?? ''} ${name}(${rest.join()})`);
        }
        return own(key, ...rest);
      }) as never);
    }
  }

  async ask(request: WireRequest): Promise<Seen> {
    const { body, ...answer } = await sendOneWay(this.world, this.#way, request);
    this.lastBody = body;
    return { ...answer, ...this.#news() };
  }

  #news(): Pick<Seen, 'audit' | 'log'> {
    const { auditLines, log } = this.world.recorded;
    const [audited = 0, logged = 0] = this.#reported;
    this.#reported = [auditLines.length, log.length];
    return { audit: auditLines.slice(audited).map(withoutIds), log: log.slice(logged).map(withoutIds) };
  }

  /** Excludes reports and counts so far from the comparison. */
  forget(): void {
    this.#news();
    this.#counted.clear();
  }

  /** The operations on each counter, in order, without the counters' names, which differ between installations. */
  counted(): string[] {
    return [...this.#counted.values()].toSorted();
  }

  /** The metrics that depend neither on time nor on the number of store requests. */
  async metrics(): Promise<string[]> {
    const metrics = (await this.world.recorded.telemetry.metrics.read()) as readonly {
      name: string;
      values: readonly { labels: object; metricName?: string; value: number }[];
    }[];
    const names = /^postern_(http_request|security_events|tokens_issued|limit_hits|signature)/;
    return metrics
      .filter(({ name }) => names.test(name))
      .flatMap(({ name, values }) =>
        values
          .filter(({ metricName = name }) => /_(total|count)$/.test(metricName))
          .map(({ labels, metricName = name, value }) => `${metricName} ${JSON.stringify(labels)} ${value}`),
      )
      .toSorted();
  }
}

export type BothWays = {
  readonly sides: readonly [fast: Side, engine: Side];
  /** The number of requests to the engines of both sides so far. */
  visits(): number;
  /** Returns both answers, and whether the first came without its engine. */
  ask(requestTo: (side: 0 | 1) => WireRequest): Promise<{ seen: readonly [Seen, Seen]; isFast: boolean }>;
  /** Excludes reports and counts so far from the comparison. */
  forget(): void;
  /** Waits, because some counts are made in the background, after the answer. */
  expectSameCounts(which?: string): Promise<void>;
  /** Stops both and starts them again on the same stores. */
  restart(config: Readonly<Record<string, unknown>>): Promise<void>;
  stop(): Promise<void>;
};

/** `path` is that of the issuer. `optionsOf` returns the options of one side, and is called at each start. */
export async function startBothWays(
  config: Readonly<Record<string, unknown>>,
  path = '',
  optionsOf: (way: keyof typeof WAYS) => WorldOptions = () => ({}),
): Promise<BothWays> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-both-'));
  const visits = countVisits();
  const issuer = `http://127.0.0.1:${await freePort()}${path}`;
  const start = async (way: keyof typeof WAYS, settings: object) =>
    new Side(
      await startWorld({
        issuer,
        store: `lmdb:${join(folder, way)}`,
        config: { ...settings },
        ...optionsOf(way),
      }),
      way,
    );
  const startBoth = async (settings: object): Promise<[Side, Side]> => [
    await start('fast', settings),
    await start('engine', settings),
  ];
  let sides = await startBoth(config);
  const stopBoth = () => Promise.all(sides.map(({ world }) => world.stop()));
  return {
    get sides() {
      return sides;
    },
    async ask(requestTo) {
      const before = visits();
      const fast = await sides[0].ask(requestTo(0));
      const isFast = visits() === before;
      return { seen: [fast, await sides[1].ask(requestTo(1))], isFast };
    },
    visits,
    forget: () => sides.forEach((side) => side.forget()),
    expectSameCounts: (which) => until(() => expect(sides[0].counted(), which).toEqual(sides[1].counted())),
    async restart(settings) {
      await stopBoth();
      sides = await startBoth(settings);
    },
    async stop() {
      await stopBoth();
      vi.restoreAllMocks();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The engine reads its context whenever it compares a secret or looks up a client; outside of a request there is none. */
function countVisits(): () => number {
  const { results } = vi.spyOn(Provider, 'ctx', 'get').mock;
  let [looked, visits] = [0, 0];
  return () => {
    visits += results.slice(looked).filter(({ value }) => value !== undefined).length;
    looked = results.length;
    return visits;
  };
}

/** Limits low enough to be reached, and tokens that outlive the requests of a test, except those of one API. */
const DUO = {
  client_id: 'duo',
  client_secrets: [{ value: 'env:TEST_WEB' }, { value: 'env:TEST_WEB2' }],
  grant_types: ['client_credentials'],
  scope: 'reports.read other.read',
  rate_limits: { token: '12/1m', introspection: '12/1m' },
};
export const GENERATED_WORLD = {
  trusted_proxies: ['127.0.0.1'],
  rate_limits: { token: '100/1m', introspection: '400/1m', userinfo: '20/1m' },
  lifetimes: { access_token: '1h' },
  resources: [
    { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1', 'duo'] },
    { resource: OTHER_API, scopes: ['other.read'], access_token: '5m' },
  ],
  clients: [...worldClients(), DUO],
};
/** The correct secrets of each client. */
export const GENERATED_SECRETS = {
  svc: [SECRETS.svc],
  rs1: [SECRETS.rs1],
  web: [SECRETS.web],
  post: [SECRETS.post],
  duo: [SECRETS.web, SECRETS.web2],
};

/** A form from one of these clients; `post` sends its secret in the form. */
export function clientForm(
  target: string,
  client: keyof typeof GENERATED_SECRETS,
  form: Readonly<Record<string, string>>,
): WireRequest {
  const [secret = ''] = GENERATED_SECRETS[client];
  const isInForm = client === 'post';
  const own = isInForm ? { client_id: client, client_secret: secret } : {};
  const body = Buffer.from(new URLSearchParams({ ...form, ...own }).toString());
  const authorization = isInForm ? [] : ['Authorization', `Basic ${btoa(`${client}:${secret}`)}`];
  const headers = [...authorization, 'X-Forwarded-For', '10.9.0.1', ...formHeaders(body)];
  return { method: 'POST', target, headers, body };
}

export function formHeaders(body: Buffer): string[] {
  return ['Content-Type', 'application/x-www-form-urlencoded', 'Content-Length', String(body.length)];
}

type Amount = { readonly seed: number; readonly batches: number; readonly batch: number };

/** Sends generated requests to both in sequence, each batch in a new minute. Returns how often each status occurred. */
export async function compareGenerated(
  both: BothWays,
  { seed, batches, batch }: Amount,
  make: (random: Random, side: 0 | 1) => WireRequest,
): Promise<ReadonlyMap<string, number>> {
  const statuses = new Map<string, number>();
  const add = (kind: string) => statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
  for (let number = 0; number < batches * batch; number += 1) {
    if (number % batch === 0) moveClock(MINUTE + 1);
    const requestTo = (side: 0 | 1) => make(seededRandom(seed + number), side);
    const { seen, isFast } = await both.ask(requestTo);
    const { headers, body, target } = requestTo(0);
    const which = `seed ${seed}, request ${number}: ${target} ${headers.join(' ')} ${body.toString('latin1').slice(0, 1000)}`;
    expect(seen[0], which).toEqual(seen[1]);
    add(String(seen[0].status));
    if (isFast && seen[0].status === 200) add('200, fast path');
    if (number % batch === batch - 1) await both.expectSameCounts(`seed ${seed}, counters after ${number}`);
  }
  expect(await both.sides[0].metrics()).toEqual(await both.sides[1].metrics());
  return statuses;
}
