// One-time links from an administrator: a first password, a new one, a trusted browser. Each has one purpose, works once,
// and signs no user in.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Browser, formOf, type Page } from '../world/browser.ts';
import { newBrowser, silently, titleOf, tryPassword } from '../world/person.ts';
import { limitsOf } from '../world/stored.ts';
import { NEVER } from '../world/turns.ts';
import { GENEROUS, type World, WORLD_ENV, type WorldOptions } from '../world/world.ts';
import { DAY, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { anyStore, eachStore } from '../world/each-store.ts';
import { runVerb } from '../world/command-line.ts';
import { type RunVerb, useEnvironment, userVerb } from '../world/terminal.ts';
import { startTwoProcesses } from '../world/two-processes.ts';
import { useStarted } from '../world/started.ts';

const PASSWORD = 'river otter jazz 47';
const OTHER = 'quiet lantern moss 12';

useEnvironment(() => WORLD_ENV);

async function linkOf(
  world: Pick<World, 'configFile'>,
  args: readonly string[],
  run?: RunVerb,
): Promise<string> {
  const { code, stderr, result } = await userVerb(world, args, '', run);
  expect([code, stderr]).toEqual([0, '']);
  return String(result['link']);
}

const tokenOf = (link: string) => link.slice(-43);
const chosen = (password = PASSWORD) => ({ password, again: password });

/** Opens a link and submits its form. */
async function follow(
  world: World,
  link: string,
  fields = chosen(),
  browser = newBrowser(world),
): Promise<Page> {
  return browser.submit(await browser.open(link), tokenOf(link), fields);
}

const isIn = (page: Page) => page.status === 200 && titleOf(page).includes('wants access to your account');
const isTrusted = ({ cookies }: Browser) => cookies.some(({ name }) => name === 'postern_device');
/** The text of the page without the link's token. */
const wordsOf = ({ text }: Page, link: string) => text.replaceAll(tokenOf(link), '').replaceAll(/\s+/g, ' ');

describe.each(['lmdb', 'redis'] as const)('one-time links, two processes on %s', (store) => {
  const two = useStarted(() => startTwoProcesses(store));
  const world = () => two().nodes[0];
  const other = () => two().nodes[1];

  /** Expects the same page as for an invented link, on both nodes. */
  async function expectDead(link: string): Promise<void> {
    const madeUp = `${world().issuer}/interaction/link/${'A'.repeat(43)}`;
    for (const node of two().nodes) {
      const [page, strange] = await Promise.all([link, madeUp].map((one) => newBrowser(node).open(one)));
      expect([page?.status, strange?.status]).toEqual([410, 410]);
      expect(wordsOf(page as Page, link)).toBe(wordsOf(strange as Page, madeUp));
    }
  }

  it('MF-41: opened by scanners as often as they like, an invitation sets one password, once', async () => {
    const done = await userVerb(world(), [
      'invite',
      'Carol',
      '--claim',
      'email=carol@example.com',
      '--group',
      'x',
    ]);
    expect([done.code, done.stderr]).toEqual([1, expect.stringContaining('unknown group')]);
    const link = await linkOf(world(), ['invite', 'Carol', '--claim', 'email=carol@example.com']);
    expect(link).toMatch(/\/interaction\/link\/[\w-]{43}$/);
    // A user without a password can't sign in, and the page doesn't reveal why.
    const [invited, nobody] = [
      await tryPassword(world(), 'carol', PASSWORD),
      await tryPassword(world(), 'carla', PASSWORD),
    ];
    expect([invited.status, nobody.status]).toEqual([401, 401]);
    expect(titleOf(invited)).toBe(titleOf(nobody));

    for (const node of two().nodes) {
      for (let count = 0; count < 10; count += 1) {
        for (const method of ['GET', 'HEAD']) {
          const page = await newBrowser(node).request(link, { method });
          expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
          expect(page.headers.get('cache-control')).toBe('no-store');
          expect(page.text.includes('name="password"')).toBe(method === 'GET');
        }
      }
    }

    const browsers = Array.from({ length: 4 }, (_none, index) =>
      newBrowser(index % 2 === 0 ? world() : other()),
    );
    const pages = await Promise.all(browsers.map((browser) => browser.open(link)));
    const answers = await Promise.all(
      browsers.map((browser, index) => browser.submit(pages[index] as Page, tokenOf(link), chosen())),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410, 410, 410]);
    expect(browsers.filter(isTrusted)).toHaveLength(1);
    const [winner] = browsers.filter(isTrusted);
    expect(await silently(world(), winner as Browser)).toBe('login_required');
    await expectDead(link);
    for (const node of two().nodes) expect(isIn(await tryPassword(node, 'carol', PASSWORD))).toBe(true);
    expect((await userVerb(world(), ['list', 'carol'])).result).toMatchObject({
      invited: false,
      source: 'store',
    });
  });

  it('MF-45: only the newest of a purpose works, and none after a new password, disabling or deleting', async () => {
    const first = await linkOf(world(), ['invite', 'dora']);
    const listed = (await userVerb(world(), ['list'])).result as unknown as readonly Record<
      string,
      unknown
    >[];
    expect(listed.filter(({ invited }) => invited).map(({ username }) => username)).toEqual(['dora']);
    const second = await linkOf(world(), ['reset', 'dora']);
    await expectDead(first);
    expect((await newBrowser(other()).open(second)).status).toBe(200);
    await userVerb(world(), ['password', 'dora'], PASSWORD);
    await expectDead(second);

    const disabled = await linkOf(world(), ['reset', 'dora']);
    await userVerb(world(), ['disable', 'dora']);
    await expectDead(disabled);
    await userVerb(world(), ['enable', 'dora']);
    await expectDead(disabled);
    const deleted = await linkOf(world(), ['reset', 'dora']);
    expect((await newBrowser(world()).open(deleted)).status).toBe(200);
    await userVerb(world(), ['delete', 'dora']);
    await expectDead(deleted);
  });

  it('is refused for users of the file, and where another verb is meant', async () => {
    const refused = async (...args: string[]) => {
      const { code, stderr } = await userVerb(world(), args);
      expect(code).toBeGreaterThan(0);
      return stderr;
    };
    const inFile = expect.stringMatching(/^alice is defined in .*users\.json: edit that file instead\n$/);
    expect(await refused('reset', 'alice')).toEqual(inFile);
    await linkOf(world(), ['invite', 'hans', '--claim', 'name=Hans']);
    expect(await refused('invite', 'HANS')).toBe('user "HANS" already exists\n');
    await userVerb(world(), ['disable', 'hans']);
    expect(await refused('reset', 'hans')).toContain('hans is disabled');
    await userVerb(world(), ['enable', 'hans']);
    await userVerb(world(), ['password', 'hans'], PASSWORD);
    expect(await refused('reset', 'nobody')).toContain('there is no user');
  });
});

const LINKS = {
  config: {
    rate_limits: { ...GENEROUS.rate_limits, authorization: '15/1m' },
    trusted_proxies: ['127.0.0.1'],
  },
  rotationTimer: NEVER,
};

eachStore('a one-time link', LINKS, (world) => {
  standingClock();
  const link = (...args: string[]) => linkOf(world(), args, runVerb);
  const used = () => world().recorded.audit('link_used');

  it('takes a password by the rules, from its own page, and a refused one leaves it as it was', async () => {
    const browser = newBrowser(world());
    const reset = await link('invite', 'ida');
    let page = await browser.open(reset);
    expect(page.text).toContain('At least 15 characters');
    const refused = [
      [chosen('Zq7!'), 'Too short.'],
      [chosen('a'.repeat(1025)), 'Too long.'],
      [chosen('passwordpassword'), 'Too easy to guess.'],
      [chosen('ida-ida-ida-ida-ida'), 'Too easy to guess.'],
      [{ password: PASSWORD, again: OTHER }, 'The passwords don’t match.'],
    ] as const;
    for (const [fields, words] of refused) {
      page = await browser.submit(page, tokenOf(reset), fields);
      expect([page.status, page.text]).toEqual([422, expect.stringContaining(words)]);
      expect(page.text).not.toContain(fields.password);
    }
    const { action, fields } = formOf(page, tokenOf(reset));
    const send = (form: Record<string, string>, headers: Record<string, string> = {}) =>
      browser.post(action, form, headers);
    const all = { ...fields, ...chosen() };
    expect((await send(chosen())).status).toBe(403);
    expect((await send({ ...all, csrf: 'x' })).status).toBe(403);
    expect((await send(all, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await send(all, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await send(all, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await tryPassword(world(), 'ida', PASSWORD)).status).toBe(401);
    const { status, headers } = await send(all);
    expect([status, headers.get('location')]).toEqual([303, `${world().issuer}/interaction/done/invite`]);
    expect(isIn(await tryPassword(world(), 'ida', PASSWORD))).toBe(true);
  });

  it('MF-44: goes to no other site, into no line and not into the store', async () => {
    await userVerb(world(), ['add', 'lena'], PASSWORD, runVerb);
    const reset = await link('reset', 'lena');
    const page = await newBrowser(world()).open(reset);
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
    const { host } = new URL(world().issuer);
    const loaded = [
      ...page.text.matchAll(/<(?:link|script|img|source)\b[^>]*(?:href|src|srcset)="([^"]+)"/g),
    ];
    expect(loaded.map(([, url = '']) => new URL(url, reset).host)).toEqual(loaded.map(() => host));
    expect(loaded).not.toEqual([]);
    await follow(world(), reset, chosen(OTHER));
    await newBrowser(world()).open(reset);
    const lines = [...world().recorded.log, ...world().recorded.auditLines].join('');
    expect(lines).not.toContain(tokenOf(reset));
    const data = await readFile(path.join(world().folder, 'data', 'data.mdb'), 'latin1').catch(
      () => undefined,
    );
    if (data !== undefined) {
      expect(data).toContain('OneTimeLink');
      expect(data).not.toContain(tokenOf(reset));
    }
    const { result } = await userVerb(world(), ['list', 'lena'], '', runVerb);
    const of = { account_id: result['id'], address: expect.any(String) as string, action: 'reset' };
    expect(used().slice(-2)).toMatchObject([
      { ...of, outcome: 'success' },
      { ...of, outcome: 'failure', reason: 'used' },
    ]);
  });

  it('F1-22: in a loop checks ten passwords an hour, and keeps no other link waiting', async () => {
    const [looped, other] = [await link('invite', 'olga'), await link('invite', 'pia')];
    const browser = newBrowser(world());
    const page = await browser.open(looped);
    const loop = Array.from({ length: 14 }, async () =>
      browser.submit(page, tokenOf(looped), chosen('short')),
    );
    const done = follow(world(), other);
    const statuses = (await Promise.all(loop)).map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([...Array<number>(10).fill(422), 429, 429, 429, 429]);
    expect((await done).status).toBe(200);
    const hit = world().recorded.audit('limit_reached').at(-1);
    expect(hit).toMatchObject({ limit: 'new_passwords' });
  });

  it('ends after a day, by the clock of the store', async () => {
    const url = await link('invite', 'mia');
    const browser = newBrowser(world());
    const open = await browser.open(url);
    // The command line uses the machine's own clock, which continues meanwhile.
    moveClock(DAY - 20 * MINUTE);
    expect((await newBrowser(world()).open(url)).status).toBe(200);
    moveClock(40 * MINUTE);
    expect((await newBrowser(world()).open(url)).status).toBe(410);
    moveClock(MINUTE);
    expect((await browser.submit(open, tokenOf(url), chosen())).status).toBe(410);
    expect(used().at(-1)).toMatchObject({ outcome: 'failure', reason: 'unknown' });
    // The audit trail gets the next failure, too.
    moveClock(MINUTE);
  });

  it('F1-22: is made up a limited number of times by an address and a network, for one record', async () => {
    const before = used().length;
    const open = async (address: string) => {
      const url = `${world().issuer}/interaction/link/${'C'.repeat(43)}`;
      return (await newBrowser(world()).request(url, { headers: { 'x-forwarded-for': address } })).status;
    };
    const statuses: number[] = [];
    for (let count = 0; count < 62; count += 1) statuses.push(await open('192.0.2.7'));
    expect(statuses).toEqual([...Array<number>(60).fill(410), 429, 429]);
    const limits = await limitsOf(world());
    for (let count = 0; count < 540; count += 1) await limits.takeDeadLink(`192.0.2.${20 + (count % 9)}`);
    expect([await open('192.0.2.99'), await open('192.0.3.1')]).toEqual([429, 410]);
    expect(used().slice(before)).toMatchObject([{ reason: 'unknown', times: 1 }]);
    const hit = world().recorded.audit('limit_reached');
    expect(hit.slice(-2).map(({ limit }) => limit)).toEqual(['links.address', 'links.network']);
  });

  it('is limited by address', async () => {
    let status = 0;
    for (let count = 0; count < 200 && status !== 429; count += 1) {
      const url = `${world().issuer}/interaction/link/${'B'.repeat(43)}`;
      const headers = { 'x-forwarded-for': '198.51.100.9' };
      status = (await newBrowser(world()).request(url, { method: 'POST', headers })).status;
    }
    expect(status).toBe(429);
  });
});

/** Runs while a link is being used, after it was found valid. */
let meanwhile: () => Promise<unknown> = () => Promise.resolve();

const INTERRUPTED = {
  rotationTimer: NEVER,
  handStore: (store) => ({
    ...store,
    documents: {
      ...store.documents,
      async put(collection, ...rest) {
        if (collection === 'account-state') await meanwhile();
        return store.documents.put(collection, ...rest);
      },
    },
  }),
} satisfies WorldOptions;

anyStore('what happens while a new password is being judged', INTERRUPTED, (world) => {
  it('a link sets no password once the user is disabled or has another password', async () => {
    await userVerb(world(), ['add', 'nora'], PASSWORD, runVerb);
    for (const [changed, input] of [
      ['password', PASSWORD],
      ['disable', ''],
    ] as const) {
      const link = await linkOf(world(), ['reset', 'nora'], runVerb);
      meanwhile = () => userVerb(world(), [changed, 'nora'], input, runVerb);
      expect((await follow(world(), link, chosen(OTHER))).status, changed).toBe(410);
    }
    meanwhile = () => Promise.resolve();
    await userVerb(world(), ['enable', 'nora'], '', runVerb);
    expect((await tryPassword(world(), 'nora', OTHER)).status).toBe(401);
    expect(isIn(await tryPassword(world(), 'nora', PASSWORD))).toBe(true);
  });
});
