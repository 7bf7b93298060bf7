// The account page ends what was already on its way to an app: a code that nobody has exchanged yet.
import { describe, expect, it } from 'vitest';
import { addCarol, CAROL, openAccount } from '../../world/account-page.ts';
import type { Page } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, codeOf, newBrowser } from '../../world/person.ts';
import { redeem } from '../../world/token-endpoint.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld } from '../../world/world.ts';

standingClock();

/** A browser of carol's at an app, with the code that the app has not used. */
async function withCode(world: OpenWorld, password: string, scope = 'openid') {
  const browser = newBrowser(world);
  await openAccount(world, browser, { password });
  const { page } = await begin(world, { scope }, { browser });
  const left = page.text.includes('/consent"') ? await browser.submit(page, '/consent') : page;
  const code = codeOf(left);
  expect(code).toBeDefined();
  return { browser, code };
}

describe('what is on its way to an app', () => {
  const place = useWorld({
    rotationTimer: NEVER,
    config: { ...GENEROUS, account: true, lifetimes: { consent: '30d' } },
  });

  it('is worth nothing after the end of its session, the withdrawal of the app, or a new password', async () => {
    const world = place();
    await addCarol(world);
    const here = newBrowser(world);
    const carol = CAROL.password;
    const next = 'seven wet umbrellas';
    const acts: Readonly<Record<string, (page: Page) => Promise<Page>>> = {
      nothing: (page) => Promise.resolve(page),
      'end-others': (page) => here.submit(page, '/end-others'),
      withdraw: (page) => here.submit(page, '/withdraw', { id: 'web' }),
      password: (page) => here.submit(page, '/password', { current: carol, password: next, again: next }),
    };
    for (const [what, act] of Object.entries(acts)) {
      await openAccount(world, here, { password: carol });
      const { code } = await withCode(world, carol);
      expect((await act(await openAccount(world, here))).status).toBe(200);
      const { status } = await redeem(world, { code });
      expect([what, status]).toEqual([what, what === 'nothing' ? 200 : 400]);
    }
  });
});
