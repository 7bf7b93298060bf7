// A process that does one thing many times, on several nodes in turn: `node many.ts tokens|sign-ins COUNT [ISSUER BASE]...`. Prints a
// line for each, with when it began and ended (epoch milliseconds) and what became of it: `done`, or `broken` off by a 503 or a 429.
// Ends with 1 at anything else. By itself, because a test runner slows down and grows over hundreds of thousands of requests.
import { Agent, request as httpRequest } from 'node:http';
import { DEFAULT_SCOPE } from '../world/authorization-request.ts';
import { begin, codeOf, finishPages } from '../world/person.ts';
import { textOf } from '../world/requests.ts';
import { basic, redeem, refresh } from '../world/token-endpoint.ts';
import type { World } from '../world/world.ts';

type Node = Pick<World, 'issuer' | 'base'>;
type Deed = (node: Node) => Promise<void>;

const AT_ONCE = 32;

/** A store that is late on a busy machine is no failure of what is asked here, nor is who has to wait for their turn. */
class Broken extends Error {}

function expectOk(what: string, status: number | undefined): void {
  if (status === 503 || status === 429) throw new Broken(what);
  if (status !== 200) throw new Error(`${what} was refused with ${status}`);
}

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const TOKEN_REQUEST = 'grant_type=client_credentials&scope=reports.read';

async function takeToken({ base }: Node): Promise<void> {
  const headers = {
    authorization: basic('svc'),
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': TOKEN_REQUEST.length,
  };
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = httpRequest(`${base}/oauth/token`, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', reject).end(TOKEN_REQUEST);
  });
  expectOk('a token', status);
}

/** A person in a browser of their own, who signs in and consents; the app uses the code and then its refresh token. */
async function signIn(node: Node): Promise<void> {
  const { browser, page: first } = await begin(node, { scope: DEFAULT_SCOPE, prompt: 'consent' });
  const page = await finishPages(browser, first, 'alice');
  const code = codeOf(page);
  if (code === undefined) {
    expectOk('a sign-in', page.status);
    // One person in so many browsers at once was made to wait at the password, too often to come to the end.
    throw new Broken('a sign-in');
  }
  const redeemed = await redeem(node, { code });
  expectOk('a code', redeemed.status);
  expectOk('a refresh', (await refresh(node, textOf(redeemed, 'refresh_token'))).status);
}

const DEEDS: Readonly<Record<string, Deed>> = { tokens: takeToken, 'sign-ins': signIn };
const [what = '', count = '', ...places] = process.argv.slice(2);
const deed = DEEDS[what];
const nodes = places.flatMap((issuer, index) =>
  index % 2 === 0 ? [{ issuer, base: places[index + 1] ?? issuer }] : [],
);
if (deed === undefined || nodes.length === 0) throw new TypeError('what, how often, and where?');

function orBroken(error: unknown): string {
  if (error instanceof Broken) return 'broken';
  throw error;
}

let left = Number(count);
async function work(doIt: Deed): Promise<void> {
  while (left > 0) {
    left -= 1;
    const node = nodes[left % nodes.length];
    const began = Date.now();
    const outcome = node && (await doIt(node).then(() => 'done', orBroken));
    process.stdout.write(`${began} ${Date.now()} ${outcome}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, () => work(deed)));
agent.destroy();
