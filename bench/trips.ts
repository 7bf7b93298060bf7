// Which store operations a request waits for, one after the other. Counted, not timed: the figures are the same on any machine.
import { BENCH_BASIC, personName } from './names.ts';
import { DELAY_MS, startCountingProxy, type CountingProxy, type Heard } from './counting-proxy.ts';
import { Person, type Tokens } from './person.ts';
import { startPostern } from './postern.ts';
import { Connection, type WireAnswer, type WireRequest } from './wire.ts';
import { startRedis } from '../test/world/servers.ts';
import { WEB_BASIC } from './names.ts';

/** One HTTP request. Each wave is what was sent without waiting for one another. */
export type RequestTrips = {
  readonly request: string;
  /** Sequential: waves that the answer waited for. */
  readonly sequential: number;
  /** Commands of those waves. */
  readonly commands: number;
  readonly waves: readonly (readonly string[])[];
  /** Sent after the answer, or not waited for. */
  readonly behind: readonly string[];
};

export type ActionTrips = { readonly action: string; readonly requests: readonly RequestTrips[] };

/** Long enough for what is sent behind an answer, and short of the next look at the keys. */
const QUIET_MS = 150;
/** What a process looks at by itself, whatever is asked. */
const BACKGROUND = /^HGET document keys|^(PING|INFO|HELLO|AUTH|SELECT|ROLE|CLIENT)\b/;

export async function measureTrips(folder: string): Promise<readonly ActionTrips[]> {
  const redis = await startRedis();
  const proxy = await startCountingProxy(redis.port);
  const service = await startPostern({ name: 'trips', store: proxy.url, folder });
  const connection = new Connection(service.issuer);
  const counter = new TripCounter(proxy);
  const ask = (request: WireRequest) => counter.ask(connection, request);
  const token = { method: 'POST', target: '/oauth/token', headers: BENCH_BASIC } as const;
  const machine = { ...token, body: 'grant_type=client_credentials&scope=reports.read' };
  const flow = (index: number) => {
    const person = new Person(service.issuer, personName(index), counter.counted(connection));
    return person.flow();
  };
  try {
    // The first of everything loads scripts and gets to know the client.
    for (let warm = 0; warm < 2; warm += 1) {
      await everything({ ask, flow, machine, index: warm });
      counter.take();
    }
    return await everything({
      ask,
      flow,
      machine,
      index: 2,
      take: (action) => ({ action, requests: counter.take() }),
    });
  } finally {
    connection.close();
    await service.stop();
    await proxy.stop();
    await redis.stop();
  }
}

type Everything = {
  readonly ask: (request: WireRequest) => Promise<WireAnswer>;
  readonly flow: (index: number) => Promise<Tokens>;
  readonly machine: WireRequest;
  readonly index: number;
  readonly take?: (action: string) => ActionTrips;
};

async function everything(parts: Everything): Promise<ActionTrips[]> {
  const { ask, flow, machine, index, take = (action) => ({ action, requests: [] }) } = parts;
  const done: ActionTrips[] = [];
  const introspect = (token: string) =>
    ask({ method: 'POST', target: '/oauth/introspect', headers: BENCH_BASIC, body: `token=${token}` });
  const asWeb = (target: string, body: string) => ask({ method: 'POST', target, headers: WEB_BASIC, body });
  const record = (action: string) => done.push(take(action));

  const answer = await ask(machine);
  record('client_credentials');
  await introspect((JSON.parse(answer.text) as { access_token: string }).access_token);
  record('introspection of a machine token');
  const tokens = await flow(index);
  record('code flow, first sign-in and consent');
  await introspect(tokens.accessToken);
  record("introspection of a person's token");
  await ask({
    method: 'GET',
    target: '/oauth/userinfo',
    headers: { authorization: `Bearer ${tokens.accessToken}` },
  });
  record('userinfo');
  const next = await asWeb('/oauth/token', `grant_type=refresh_token&refresh_token=${tokens.refreshToken}`);
  record('refresh');
  const { refresh_token: refreshToken } = JSON.parse(next.text) as Record<string, string>;
  await asWeb('/oauth/introspect', `token=${refreshToken}`);
  record('introspection of a refresh token');
  await asWeb('/oauth/revoke', `token=${refreshToken}`);
  record('revocation of a refresh token');
  return done;
}

class TripCounter {
  readonly #proxy: CountingProxy;
  #requests: RequestTrips[] = [];

  constructor(proxy: CountingProxy) {
    this.#proxy = proxy;
  }

  /** What was counted since the last call. */
  take(): readonly RequestTrips[] {
    const taken = this.#requests;
    this.#requests = [];
    return taken;
  }

  /** The same connection, counted. */
  counted(connection: Connection): Connection {
    const ask = (request: WireRequest) => this.ask(connection, request);
    return { ask, close: () => connection.close() } as unknown as Connection;
  }

  async ask(connection: Connection, request: WireRequest): Promise<WireAnswer> {
    const start = this.#proxy.heard.length;
    const answer = await connection.ask(request);
    const answeredAt = performance.now();
    if (answer.status >= 400) throw new Error(`${request.target}: ${answer.status} ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    const own = this.#proxy.heard.slice(start).filter(({ command }) => !BACKGROUND.test(command));
    const waves = toWaves(own);
    const waited = waves.filter(({ atMs }) => atMs <= answeredAt - DELAY_MS + 2);
    this.#requests.push({
      request: `${request.method} ${pathOf(request.target)}`,
      sequential: waited.length,
      commands: waited.reduce((sum, { commands }) => sum + commands.length, 0),
      waves: waited.map(({ commands }) => commands),
      behind: waves.filter((wave) => !waited.includes(wave)).flatMap(({ commands }) => commands),
    });
    return answer;
  }
}

/** What comes less than a delay after the first of a wave can't have waited for it. */
function toWaves(heard: readonly Heard[]) {
  const waves: { readonly atMs: number; readonly commands: string[] }[] = [];
  for (const { atMs, command } of heard) {
    const last = waves.at(-1);
    if (last !== undefined && atMs < last.atMs + DELAY_MS - 2) last.commands.push(command);
    else waves.push({ atMs, commands: [command] });
  }
  return waves;
}

/** Without what differs each time. */
function pathOf(target: string): string {
  const [path = ''] = target.split('?');
  return path.replace(/(\/interaction|\/authorize)\/[\w-]{15,}/, '$1/…');
}
