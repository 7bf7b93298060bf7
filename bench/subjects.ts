// The requests to a service, as subjects: the same requests to Postern, to the bare engine and to another build.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { raw } from '../test/world/raw.ts';
import { ask, inLoops, type Request, wrk } from './load.ts';
import type { Figures, Subject } from './measure.ts';
import { BENCH, SCOPE } from './names.ts';
import { exchanged, refreshed, User } from './people.ts';
import type { Service } from './service.ts';

export const S1 = 'raw signatures, one process';
export const S2 = 'raw signatures, two processes';
/** Enough to keep a service busy. */
const LOOPS = 16;
const BROWSERS = 8;
/** Getting a code takes several times as long as exchanging it. */
const MAKE_FOR = 4;

export const tokenRequest = ({ issuer }: Service): Request => ({
  url: `${issuer}/oauth/token`,
  headers: BENCH,
  body: `grant_type=client_credentials&scope=${SCOPE}`,
});

export const introspectionRequest = ({ issuer }: Service, token: string): Request => ({
  url: `${issuer}/oauth/introspect`,
  headers: BENCH,
  body: `token=${token}`,
});

export const loaded = ({ name, pid }: Service, request: Request, what = ''): Subject => ({
  name: `${name}${what}`,
  slice: (seconds) => wrk(pid, request, seconds),
});

export const machineToken = (service: Service): Subject => loaded(service, tokenRequest(service));

export async function introspection(
  service: Service,
  whose: "machine's" | "person's",
  person = 1,
): Promise<Subject> {
  const text = whose === "machine's" ? await ask(tokenRequest(service)) : '';
  const { access_token: token } =
    text === ''
      ? await new User(service, person).flow()
      : (JSON.parse(text) as { readonly access_token: string });
  const request = introspectionRequest(service, token);
  const answer = JSON.parse(await ask(request)) as { readonly active: boolean };
  if (!answer.active) throw new Error(`${service.name} doesn't know its own token`);
  return loaded(service, request, `, ${whose} token`);
}

export const DOCUMENTS = { discovery: '/.well-known/openid-configuration', JWKS: '/oauth/jwks.json' };

/** A document, and a conditional request for it with its ETag. */
export async function documents(service: Service, what: keyof typeof DOCUMENTS): Promise<readonly Subject[]> {
  const target = DOCUMENTS[what];
  const url = `${service.issuer}${target}`;
  const headers = { 'if-none-match': (await fetch(url)).headers.get('etag') ?? '' };
  const { status } = await raw(service.issuer, { target, headers });
  if (status !== 304) throw new Error(`${target} with its ETag was answered ${status}`);
  return [loaded(service, { url }, `, ${what} 200`), loaded(service, { url, headers }, `, ${what} 304`)];
}

/** Each loop uses its own chain of refresh tokens. */
export function refresh(service: Service, people = 100): Subject {
  const chains: (string | undefined)[] = [];
  const stride = Math.max(1, Math.floor(people / LOOPS));
  const step = async (loop: number) => {
    const last = chains[loop] ?? (await new User(service, (loop * stride) % people).flow()).refresh_token;
    // After a failure it is unknown whether the token is used up.
    chains[loop] = undefined;
    chains[loop] = (await refreshed(service.issuer, last)).refresh_token;
  };
  return { name: service.name, slice: (seconds) => inLoops(service.pid, LOOPS, seconds, step) };
}

/** Exchanges codes. They are created before, in sessions, and that cost isn't counted. */
export function exchange(service: Service): Subject {
  const codes: Awaited<ReturnType<User['code']>>[] = [];
  const users = Array.from({ length: LOOPS / 2 }, (_, index) => new User(service, index));
  const make = async (loop: number) => {
    const code = await users[loop]?.code();
    if (code !== undefined) codes.push(code);
  };
  const spend = async () => {
    const code = codes.pop();
    if (code !== undefined) await exchanged(service.issuer, code);
  };
  return {
    name: `${service.name}, code exchange`,
    async slice(seconds) {
      await inLoops(service.pid, users.length, MAKE_FOR * seconds, make);
      return inLoops(service.pid, LOOPS, () => codes.length === 0, spend);
    },
  };
}

export async function userinfo(service: Service): Promise<Subject> {
  const { access_token: token } = await new User(service, 1).flow();
  const url = `${service.issuer}/oauth/userinfo`;
  const request = { url, headers: { authorization: `Bearer ${token}` } };
  const { sub, email, name } = JSON.parse(await ask(request)) as Partial<Record<string, string>>;
  if (!sub || !email || !name) throw new Error(`${service.name} doesn't return the claims of its user`);
  return loaded(service, request, ', userinfo');
}

/** Another user signs in each time. */
export function firstFlow(service: Service, people = 100): Subject {
  let next = 0;
  const step = () => new User(service, (next += 1) % people).flow();
  return { name: service.name, slice: (seconds) => inLoops(service.pid, LOOPS / 2, seconds, step) };
}

/** Users from the whole list take turns in each loop; their first flow, with the password, creates the session. */
export function sessionFlow(service: Service, people = 100): Subject {
  const all: User[][] = Array.from({ length: LOOPS / 2 }, () => []);
  const stride = Math.max(1, Math.floor(people / (BROWSERS * all.length)));
  const step = async (loop: number) => {
    const own = all[loop] ?? [];
    const place = loop * BROWSERS + own.length;
    const person = own.length < BROWSERS ? new User(service, (place * stride) % people) : own.shift();
    await person?.flow();
    if (person !== undefined) own.push(person);
  };
  return {
    name: `${service.name}, in a session`,
    slice: (seconds) => inLoops(service.pid, all.length, seconds, step),
  };
}

export const signatures = (processes: 1 | 2): Subject => ({
  name: processes === 1 ? S1 : S2,
  async slice(seconds) {
    const loop = async () => {
      const args = ['--no-warnings', 'bench/subjects/rsa-loop.ts', String(seconds)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      return JSON.parse(stdout) as Figures;
    };
    const all = await Promise.all(Array.from({ length: processes }, loop));
    const sum = (name: string) => all.reduce((total, one) => total + (one[name] ?? Number.NaN), 0);
    return { rate: sum('rate'), cpu: sum('cpu') / processes };
  },
});
