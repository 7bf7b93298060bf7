// Several tabs of one browser at the same time: each gets a code that works, and the browser stays signed in. A request that arrives
// between the commit of another tab and its response has the earlier cookie of the session, and may be refused (docs/decisions/store.md).
import { expect, it } from 'vitest';
import { authorizationUrl, type CodeClient, REDIRECT_URIS } from '../world/authorization-request.ts';
import type { Browser, Page } from '../world/browser.ts';
import { finishPages, newBrowser, redirectOf } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import type { Answer } from '../world/requests.ts';
import { rounds } from '../world/rounds.ts';
import { redeem } from '../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld, type World } from '../world/world.ts';
import { eachStore } from '../world/each-store.ts';

const ROUNDS = rounds(100, 12);
/** Without offline_access a code and its tokens are bound to the session and end with it. */
const SCOPE = 'openid reports.read';

eachStore('tabs of one browser', { config: GENEROUS }, (world) => {
  it(`two tabs that come back at once get codes that work, in ${ROUNDS} rounds`, async () => {
    const tabs = await signedInBrowser(world());
    for (let round = 0; round < ROUNDS; round += 1) {
      // Two apps, the same app twice, and an app without any page beside one with a page.
      const [left, right] = [['web', 'web2'] as const, ['web', 'web'] as const][round % 2] ?? ['web', 'web'];
      const steps = [
        await lastStep(
          world(),
          tabs.browser,
          authorizationUrl(world(), { client_id: left, scope: SCOPE, prompt: 'consent' }),
        ),
        round % 4 < 2
          ? await lastStep(
              world(),
              tabs.browser,
              authorizationUrl(world(), { client_id: right, scope: SCOPE, prompt: 'consent' }),
            )
          : () =>
              tabs.browser.request(
                authorizationUrl(world(), { client_id: right, scope: SCOPE, prompt: 'none' }),
              ),
      ];
      const pages = await Promise.all(steps.map((step) => step()));
      await expectCodes(world(), pages, [left, right], round);
      await tabs.expectIntact(round);
    }
  });

  it('two tabs of a new browser get codes that work, whatever they ask to allow first', async () => {
    for (let round = 0; round < rounds(20, 8); round += 1) {
      const browser = newBrowser(world());
      await finishLogin(browser, authorizationUrl(world(), { client_id: 'native', scope: 'openid' }));
      const clients = round % 2 === 0 ? (['web', 'web2'] as const) : (['web', 'web'] as const);
      const steps = [];
      for (const client of clients)
        steps.push(
          await lastStep(world(), browser, authorizationUrl(world(), { client_id: client, scope: SCOPE })),
        );
      const pages = await Promise.all(steps.map((step) => step()));
      await expectCodes(world(), pages, clients, round);
    }
  });

  it(`a page that comes back twice at once gives one code that works, in ${ROUNDS} rounds`, async () => {
    const tabs = await signedInBrowser(world());
    for (let round = 0; round < ROUNDS; round += 1) {
      const step = await lastStep(
        world(),
        tabs.browser,
        authorizationUrl(world(), { scope: SCOPE, prompt: 'consent' }),
      );
      const pages = await Promise.all([step(), step()]);
      const won = pages.filter(({ status }) => status === 303);
      expect(won, `round ${round}`).toHaveLength(1);
      await expectCode(world(), won[0], 'web', round);
      await tabs.expectIntact(round);
    }
  });
});

/** A signed-in browser, with an access token that is valid as long as its session. */
async function signedInBrowser(world: World) {
  const browser = newBrowser(world);
  for (const client of ['web', 'web2'] as const) {
    const page = await browser.open(authorizationUrl(world, { client_id: client, scope: SCOPE }));
    expect((await finishPages(browser, page, 'alice')).url).toContain('code=');
  }
  const silent = authorizationUrl(world, { scope: SCOPE, prompt: 'none' });
  const { body } = await redeemPage(world, await browser.request(silent), 'web');
  return {
    browser,
    async expectIntact(round: number) {
      const earlier = await introspect(world, String(body['access_token']));
      expect(earlier['active'], `an earlier token in round ${round}`).toBe(true);
      const again = await browser.request(silent);
      expect(redirectOf(again).query, `signed in after round ${round}`).toHaveProperty('code');
    },
  };
}

async function finishLogin(browser: Browser, url: string): Promise<void> {
  expect((await finishPages(browser, await browser.open(url), 'alice')).url).toContain('code=');
}

/** The last step after everything at `url` has been allowed: on lmdb, to send that form; otherwise, to follow the redirect. */
async function lastStep(world: OpenWorld, browser: Browser, url: string): Promise<() => Promise<Page>> {
  const page = await browser.open(url);
  const form = /<form[^>]*action="([^"]*\/consent)"/.exec(page.text)?.[1] ?? '';
  const csrf = /name="csrf" value="([^"]*)"/.exec(page.text.slice(page.text.indexOf(form)))?.[1] ?? '';
  const send = () => browser.post(form, { csrf });
  if (world.openedStore.records.exchange !== undefined) return send;
  const next = (await send()).headers.get('location') ?? '';
  return () => browser.request(next);
}

async function redeemPage(world: World, page: Page, client: CodeClient): Promise<Answer> {
  const { target, query } = redirectOf(page);
  expect(target).toBe(REDIRECT_URIS[client]);
  return redeem(world, { code: query['code'], client });
}

async function expectCodes(
  world: World,
  pages: readonly Page[],
  clients: readonly CodeClient[],
  round: number,
): Promise<void> {
  const isLate = ({ status, headers }: Page) =>
    status === 400 || headers.get('location')?.includes('error=login_required') === true;
  const late = pages.filter(isLate);
  expect(late.length, `late in round ${round}`).toBeLessThan(pages.length);
  for (const { headers } of late) expect(headers.getSetCookie().join()).not.toContain('session');
  for (const [index, page] of pages.entries())
    if (!late.includes(page)) await expectCode(world, page, clients[index] ?? 'web', round);
}

async function expectCode(world: World, page: Page | undefined, client: CodeClient, round: number) {
  if (page === undefined) throw new Error('no page');
  const answer = await redeemPage(world, page, client);
  expect([answer.status, answer.body['error']], `round ${round}`).toEqual([200, undefined]);
}
