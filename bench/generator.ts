// Load that has to remember something from one request to the next, as a process of its own: chains of refresh tokens,
// whole sign-ins, and machine tokens at an even pace. Told what to do line by line on standard input; says what it found.
import { createInterface } from 'node:readline';
import { BENCH_BASIC, personName, WEB_BASIC } from './names.ts';
import { Person, tokensOf } from './person.ts';
import { Connection, type WireAnswer } from './wire.ts';

/** `paced`: `rate` machine tokens a second, however long they take, and timed from when each was due. */
export type Mode = 'refresh' | 'flow' | 'sign-in' | 'paced';
export type GeneratorOptions = {
  readonly mode: Mode;
  readonly issuer: string;
  /** Connections. */
  readonly parallel: number;
  readonly people: number;
  /** Requests a second, of `paced`. */
  readonly rate?: number;
};
export type Order = { readonly order: 'prepare' | 'go'; readonly seconds: number };
export type Found = {
  readonly done: number;
  readonly refused: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** Sign-in pages that are opened before a second of sending passwords: more than this machine can hash. */
const PAGES_A_SECOND = 400;

type Work = {
  readonly prepare: (seconds: number) => Promise<void>;
  /** One piece of work on connection `index`. False: nothing is left to do. */
  readonly step: (index: number) => Promise<boolean | 'refused'>;
};

const options = JSON.parse(process.argv[2] ?? '{}') as GeneratorOptions;
const { issuer, parallel, people, rate = 100 } = options;
const connections = Array.from({ length: parallel }, () => new Connection(issuer));
let nextPerson = 0;

function newPerson(connection: Connection): Person {
  nextPerson = (nextPerson + 1) % people;
  return new Person(issuer, personName(nextPerson), connection);
}

function refreshing(): Work {
  const chains: string[] = [];
  return {
    async prepare() {
      if (chains.length > 0) return;
      const started = await Promise.all(connections.map((connection) => newPerson(connection).flow()));
      chains.push(...started.map(({ refreshToken }) => refreshToken));
    },
    async step(index) {
      const body = `grant_type=refresh_token&refresh_token=${chains[index]}`;
      const request = { method: 'POST', target: '/oauth/token', headers: WEB_BASIC, body } as const;
      chains[index] = tokensOf(await connectionAt(index).ask(request)).refreshToken;
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
            own.push({ person, form: await person.openLogin() });
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

function connectionAt(index: number): Connection {
  const connection = connections[index];
  if (connection === undefined) throw new TypeError(`there is no connection ${index}`);
  return connection;
}

async function inLoops({ step }: Work, seconds: number): Promise<Found> {
  const times: number[] = [];
  let refused = 0;
  const started = performance.now();
  await Promise.all(
    connections.map(async (_connection, index) => {
      while (performance.now() - started < seconds * 1000) {
        const from = performance.now();
        const outcome = await step(index);
        if (outcome === false) return;
        if (outcome === 'refused') refused += 1;
        else times.push(performance.now() - from);
      }
    }),
  );
  return toFound(times, refused, (performance.now() - started) / 1000);
}

async function paced(seconds: number): Promise<Found> {
  const body = 'grant_type=client_credentials&scope=reports.read';
  const times: number[] = [];
  const free = [...connections];
  const waiting: ((connection: Connection) => void)[] = [];
  const started = performance.now();

  async function one(due: number): Promise<void> {
    const connection = free.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const request = { method: 'POST', target: '/oauth/token', headers: BENCH_BASIC, body } as const;
    const { status }: WireAnswer = await connection.ask(request);
    if (status !== 200) throw new Error(`a token request was answered ${status}`);
    times.push(performance.now() - due);
    const next = waiting.shift();
    if (next === undefined) free.push(connection);
    else next(connection);
  }

  const sent: Promise<void>[] = [];
  for (let count = 0; count < rate * seconds; count += 1) {
    const due = started + (count * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    // From when it could be sent: timers of this process may be late by a millisecond, which isn't the service's doing.
    sent.push(one(Math.max(due, performance.now() - 1)));
  }
  await Promise.all(sent);
  return toFound(times, 0, (performance.now() - started) / 1000);
}

function toFound(times: readonly number[], refused: number, seconds: number): Found {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { done: times.length, refused, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

const works = { refresh: refreshing, flow: flowing, 'sign-in': signingIn, paced: flowing };
const work = works[options.mode]();

for await (const line of createInterface({ input: process.stdin })) {
  const { order, seconds } = JSON.parse(line) as Order;
  if (order === 'prepare') {
    if (options.mode !== 'paced') await work.prepare(seconds);
    process.stdout.write('{}\n');
  } else {
    const found = options.mode === 'paced' ? await paced(seconds) : await inLoops(work, seconds);
    process.stdout.write(`${JSON.stringify(found)}\n`);
  }
}
