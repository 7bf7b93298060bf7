// Load that has to remember something from one request to the next, as a process of its own: chains of refresh tokens,
// whole flows, sign-ins, and machine tokens at an even pace. Told what to do line by line on standard input; says what it found.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_BASIC, personName, WEB_BASIC } from './names.ts';
import { Person, type Tokens, tokensOf } from './person.ts';
import { Connection, type WireAnswer } from './wire.ts';

/**
 * `flow`: sign-in with the password and consent. `session flow`: consent alone, in a browser that has a session. `sign-in`: the
 * request with the password. `paced`: `rate` machine tokens a second, however long they take, and timed from when each was due.
 * `mixed`: some of everything.
 */
export type Mode = 'refresh' | 'flow' | 'session flow' | 'sign-in' | 'paced' | 'mixed';
export type GeneratorOptions = {
  readonly mode: Mode;
  readonly issuer: string;
  /** Connections. */
  readonly parallel: number;
  readonly people: number;
  /** Requests a second, of `paced`. */
  readonly rate?: number;
};
export type Order =
  | { readonly order: 'prepare' | 'go'; readonly seconds: number }
  /** That much of the work, unmeasured. */
  | { readonly order: 'warm'; readonly count: number };
export type Found = {
  readonly done: number;
  readonly refused: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** Sign-in pages that are opened before a second of sending passwords: more than two cores can hash. */
const PAGES_A_SECOND = 300;
/** Who is told to come back does so after that long. */
const COME_BACK_MS = 1000;
/** People with a session on each connection. */
const BROWSERS = 8;

type Work = {
  readonly prepare: (seconds: number) => Promise<void>;
  /** One piece of work on connection `index`. False: nothing is left to do. */
  readonly step: (index: number) => Promise<boolean | 'refused'>;
};

const options = JSON.parse(process.argv[2] ?? '{}') as GeneratorOptions;
const { issuer, parallel, people, rate = 100 } = options;
const connections = Array.from({ length: parallel }, () => new Connection(issuer));
let nextPerson = 0;

/** The next one after `stride` others. */
function newPerson(connection: Connection, stride = 1): Person {
  nextPerson = (nextPerson + stride) % people;
  return new Person(issuer, personName(nextPerson), connection);
}

async function refreshOn(connection: Connection, refreshToken: string): Promise<Tokens> {
  const body = `grant_type=refresh_token&refresh_token=${refreshToken}`;
  return tokensOf(await connection.ask({ method: 'POST', target: '/oauth/token', headers: WEB_BASIC, body }));
}

async function asService(connection: Connection, target: string, body: string): Promise<WireAnswer> {
  const answer = await connection.ask({ method: 'POST', target, headers: BENCH_BASIC, body });
  if (answer.status !== 200) throw new Error(`${target} answered ${answer.status}`);
  return answer;
}

const machineToken = (connection: Connection) =>
  asService(connection, '/oauth/token', 'grant_type=client_credentials&scope=reports.read');

/** What only prepares may fail a few times: a store that is late on a busy machine is answered with 503. */
async function patiently<T>(action: () => Promise<T>, tries = 5): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (tries <= 1) throw error;
    await sleep(COME_BACK_MS);
    return patiently(action, tries - 1);
  }
}

async function startChain(connection: Connection): Promise<string> {
  const { refreshToken } = await patiently(() => newPerson(connection).flow());
  return refreshToken;
}

function refreshing(): Work {
  const chains: string[] = [];
  return {
    async prepare() {
      if (chains.length > 0) return;
      const started = await Promise.all(connections.map(startChain));
      chains.push(...started);
    },
    async step(index) {
      const connection = connectionAt(index);
      try {
        chains[index] = (await refreshOn(connection, chains[index] ?? '')).refreshToken;
      } catch (error) {
        // Whether the token is spent is not known.
        chains[index] = await startChain(connection);
        throw error;
      }
      return true;
    },
  };
}

function flowing(): Work {
  return {
    prepare: () => Promise.resolve(),
    async step(index) {
      await newPerson(connectionAt(index)).flow();
      return true;
    },
  };
}

async function signedIn(person: Person): Promise<Person> {
  await person.flow();
  return person;
}

/** People from all over the list take turns on each connection. */
function flowingInSessions(): Work {
  const stride = Math.max(1, Math.floor(people / (BROWSERS * parallel)));
  const browsers: Person[][] = connections.map(() => []);
  return {
    async prepare() {
      await Promise.all(
        connections.map(async (connection, index) => {
          const own = browsers[index];
          while (own !== undefined && own.length < BROWSERS) {
            own.push(await patiently(() => signedIn(newPerson(connection, stride))));
          }
        }),
      );
    },
    async step(index) {
      const own = browsers[index] ?? [];
      const person = own.shift();
      if (person === undefined) return false;
      own.push(person);
      await person.flowInSession();
      return true;
    },
  };
}

/** Only the request with the password is timed. */
function signingIn(): Work {
  type Opened = { readonly person: Person; readonly form: Awaited<ReturnType<Person['openLogin']>> };
  const pages: Opened[][] = connections.map(() => []);
  return {
    async prepare(seconds) {
      const each = Math.ceil((PAGES_A_SECOND * seconds) / parallel) + 1;
      await Promise.all(
        connections.map(async (connection, index) => {
          const own = pages[index];
          while (own !== undefined && own.length < each) {
            const person = newPerson(connection);
            own.push({ person, form: await patiently(() => person.openLogin()) });
          }
        }),
      );
    },
    async step(index) {
      const opened = pages[index]?.pop();
      if (opened === undefined) return false;
      return opened.person.trySignIn(opened.form);
    },
  };
}

/** What a day of a service looks like, in small: to each sign-in three flows in its session and many requests of programs. */
async function aDay(connection: Connection): Promise<void> {
  const person = newPerson(connection);
  await person.flow();
  for (let turn = 0; turn < 3; turn += 1) {
    let { refreshToken } = await person.flowInSession();
    for (let time = 0; time < 2; time += 1) {
      const renewed = await refreshOn(connection, refreshToken);
      refreshToken = renewed.refreshToken;
      await asService(connection, '/oauth/introspect', `token=${renewed.accessToken}`);
    }
    for (let time = 0; time < 8; time += 1) {
      const { text } = await machineToken(connection);
      const { access_token: token } = JSON.parse(text) as Record<string, string>;
      if (time % 2 === 0) await asService(connection, '/oauth/introspect', `token=${token}`);
    }
  }
}

function mixed(): Work {
  return {
    prepare: () => Promise.resolve(),
    async step(index) {
      await aDay(connectionAt(index));
      return true;
    },
  };
}

function connectionAt(index: number): Connection {
  const connection = connections[index];
  if (connection === undefined) throw new TypeError(`there is no connection ${index}`);
  return connection;
}

let failures = 0;

/** Counted as refused; who gets too many of those says that it is no result. */
function tellFailure(error: unknown): 'refused' {
  failures += 1;
  if (failures <= 3) process.stderr.write(`${issuer}: ${String(error).slice(0, 200)}\n`);
  return 'refused';
}

/** Until `isOver` says so, looked at before each piece of work. */
async function inLoops({ step }: Work, isOver: () => boolean): Promise<Found> {
  const times: number[] = [];
  let refused = 0;
  const started = performance.now();
  await Promise.all(
    connections.map(async (_connection, index) => {
      while (!isOver()) {
        const from = performance.now();
        const outcome = await step(index).catch(tellFailure);
        if (outcome === false) return;
        if (outcome === 'refused') {
          refused += 1;
          await sleep(COME_BACK_MS);
        } else times.push(performance.now() - from);
      }
    }),
  );
  return toFound(times, refused, (performance.now() - started) / 1000);
}

async function paced(seconds: number): Promise<Found> {
  const times: number[] = [];
  const free = [...connections];
  const waiting: ((connection: Connection) => void)[] = [];
  const started = performance.now();

  async function one(due: number): Promise<void> {
    const connection = free.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    await machineToken(connection);
    times.push(performance.now() - due);
    const next = waiting.shift();
    if (next === undefined) free.push(connection);
    else next(connection);
  }

  const sent: Promise<void>[] = [];
  for (let count = 0; count < rate * seconds; count += 1) {
    const due = started + (count * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    // From when it could be sent: timers of this process are early or late by a millisecond, which isn't the service's doing.
    const now = performance.now();
    sent.push(one(Math.min(now, Math.max(due, now - 1))));
  }
  await Promise.all(sent);
  return toFound(times, 0, (performance.now() - started) / 1000);
}

function toFound(times: readonly number[], refused: number, seconds: number): Found {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { done: times.length, refused, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

const works: Readonly<Record<Mode, () => Work>> = {
  refresh: refreshing,
  flow: flowing,
  'session flow': flowingInSessions,
  'sign-in': signingIn,
  paced: flowing,
  mixed,
};
const work = works[options.mode]();

function follow(given: Order): Promise<Found | void> {
  if (given.order === 'warm') {
    let left = given.count;
    return inLoops(work, () => (left -= 1) < 0);
  }
  const { order, seconds } = given;
  if (order === 'prepare') return work.prepare(seconds);
  if (options.mode === 'paced') return paced(seconds);
  const started = performance.now();
  return inLoops(work, () => performance.now() - started > seconds * 1000);
}

for await (const line of createInterface({ input: process.stdin })) {
  const found = await follow(JSON.parse(line) as Order);
  process.stdout.write(`${JSON.stringify(found ?? {})}\n`);
}
