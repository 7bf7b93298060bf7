// RD-28: nodes whose clocks are off, on one Redis. Each is the built service with a Date that is minutes ahead or behind.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { Balancer } from '../chaos/balancer.ts';
import { createClients } from '../chaos/clients.ts';
import { type Command, startFleet } from '../chaos/fleet.ts';
import { History } from '../chaos/history.ts';
import { describeHistory } from '../chaos/rolling.ts';
import { publishedKids } from '../keys/nodes.ts';
import { startRedis } from '../world/servers.ts';
import { DEFAULT_SCOPE } from '../world/authorization-request.ts';
import { begin, codeOf, complete, finishPages, newBrowser, signInAs } from '../world/person.ts';
import { userinfo } from '../world/presented-tokens.ts';
import type { Answer } from '../world/requests.ts';
import { clientCredentials, redeem } from '../world/token-endpoint.ts';
import type { World } from '../world/world.ts';
import { giveOneTimeCodes } from '../world/second-factors.ts';
import { openStore } from '../../src/store/open.ts';
import { MACHINE_MS } from '../world/clock.ts';
import { runCli } from '../world/process.ts';
import { useStarted } from '../world/started.ts';

/** Seconds; the first node creates the key ring. */
const AHEAD = [120, -120, 0];
const SECONDS = 4;
/** Each of them happens, however slow the machine is. */
const ACTS = ['sign in', 'redeem', 'refresh', 'revoke', 'introspect', 'machine token'];

/** The service on a machine with another time of day; it measures durations correctly. */
function withClock(seconds: number): Command {
  const code = `
    const Right = Date;
    const now = () => Right.now() + ${seconds} * 1000;
    globalThis.Date = class Date extends Right {
      constructor(...args) { if (args.length === 0) super(now()); else super(...args); }
      static now() { return now(); }
    };`;
  const url = `data:text/javascript,${encodeURIComponent(code)}`;
  return [process.execPath, '--import', url, path.resolve('dist/main.js')];
}

const server = useStarted(() => startRedis());
const fleet = useStarted(() =>
  startFleet(server().url, (index) => withClock(AHEAD[index] ?? 0), {
    sign_in: { one_time_codes: true },
  }),
);

describe('nodes whose clocks are four minutes apart', () => {
  it('RD-28: serve each other’s sign-ins, codes and tokens, each request on another node', async () => {
    const history = new History();
    const balancer = new Balancer(fleet().worlds, 60);
    const clients = createClients(fleet().issuer, balancer, history);
    const endsAt = performance.now() + SECONDS * 1000;
    const isOver = () =>
      performance.now() > endsAt && ACTS.every((name) => (history.counts[`${name} done`] ?? 0) > 0);
    await Promise.all([...Array.from({ length: 6 }, () => clients.live(isOver)), clients.work(isOver)]);
    const text = describeHistory(history, balancer);
    expect(balancer.complaints, text).toEqual([]);
    expect(history.violations(), text).toEqual([]);
    expect(history.lost(), text).toEqual([]);
  });

  it('RD-28: agree on what came before a person was signed out everywhere, and on what came after', async () => {
    const before = await Promise.all(fleet().worlds.map(signInAt));
    const { configFile } = fleet().worlds[2] ?? {};
    const signOut = ['user', 'sign-out', 'alice', '--config', configFile ?? ''];
    expect(await runCli(signOut)).toMatchObject({ code: 0 });
    for (const { access_token: token } of before) {
      for (const world of fleet().worlds) expect((await userinfo(world, String(token))).status).toBe(401);
    }
    // A token issued in the very same second would be revoked as well.
    await sleep(1500);
    const after = await Promise.all(fleet().worlds.map(signInAt));
    for (const { access_token: token } of after) {
      for (const world of fleet().worlds) expect((await userinfo(world, String(token))).status).toBe(200);
    }
  });

  it('RD-28: agree on which key signs, also right after one was taken out of use', async () => {
    const signers = async () =>
      Promise.all(fleet().worlds.map(async (world) => kidOf((await clientCredentials(world)).body)));
    const [leaked = ''] = await signers();
    expect(await signers()).toEqual([leaked, leaked, leaked]);
    const { configFile } = fleet().worlds[2] ?? {};
    expect(await runCli(['keys', 'compromise', leaked, '--config', configFile ?? ''])).toMatchObject({
      code: 0,
    });
    await expect.poll(signers, { timeout: 5000 + MACHINE_MS }).not.toContain(leaked);
    const [fresh = ''] = await signers();
    expect(await signers()).toEqual([fresh, fresh, fresh]);
    for (const world of fleet().worlds) expect((await publishedKids(world))[0]).toBe(fresh);
  });

  it('F1-07: take a one-time code by the clock of Redis, once in all', async () => {
    const openedStore = await openStore({ engine: 'redis', url: server().url });
    const app = await giveOneTimeCodes({ openedStore, issuer: fleet().issuer }, 'bob');
    await openedStore.close();
    const opens = async (index: number, code: string) => {
      const world = fleet().worlds[index];
      if (world === undefined) throw new Error('there is no such node');
      const browser = newBrowser(world);
      const { page } = await begin(world, {}, { browser });
      const done = await browser.submit(await signInAs(browser, page, 'bob'), '/code', { code });
      return codeOf(await finishPages(browser, done, 'bob')) !== undefined;
    };
    // The code of an app that follows each node's own clock, two minutes off.
    for (const [index, periods] of [4, -4].entries())
      expect(await opens(index, app.code(periods))).toBe(false);
    const code = app.code();
    expect([await opens(0, code), await opens(1, code), await opens(2, code)]).toEqual([true, false, false]);
    expect(await opens(1, app.code(1))).toBe(true);
  });

  it('RD-28: each of them says by how much it is off', () => {
    const said = fleet().nodes.map(
      ({ process: { stdout, stderr } }) =>
        /clock is (\d+ s \w+ \w* ?this machine's)/.exec(stdout() + stderr())?.[1],
    );
    expect(said).toEqual(["120 s behind this machine's", "120 s ahead of this machine's", undefined]);
  });
});

/** Signs in on one node, from the first request to the tokens. */
async function signInAt(world: World): Promise<Answer['body']> {
  const answer = await redeem(world, await complete(world, 'alice', { scope: DEFAULT_SCOPE }));
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

function kidOf({ access_token: token }: Answer['body']): string | undefined {
  return decodeProtectedHeader(String(token)).kid;
}
