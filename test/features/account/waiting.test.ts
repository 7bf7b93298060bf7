// The account page ends what was already on its way to an app: a code that nobody has exchanged yet, and a device that somebody let in.
import { describe, expect, it } from 'vitest';
import { addCarol, CAROL, idsOf, openAccount } from '../../world/account-page.ts';
import type { Browser, Page } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { askForCodes, DEVICE_CONFIG, isDonePage, letIn, poll } from '../../world/device.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, codeOf, newBrowser } from '../../world/person.ts';
import { userinfo } from '../../world/presented-tokens.ts';
import { textOf } from '../../world/requests.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { NEVER } from '../../world/turns.ts';
import type { OpenWorld } from '../../world/world.ts';

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
    config: { ...DEVICE_CONFIG, account: true, lifetimes: { consent: '30d' } },
  });
  let carol: string = CAROL.password;

  it('is worth nothing after the end of its session, the withdrawal of the app, or a new password', async () => {
    const world = place();
    await addCarol(world);
    const here = newBrowser(world);
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
    carol = next;
  });

  it('a device is among the apps, and ends with its withdrawal, also one that has not asked yet', async () => {
    const world = place();
    const browser = newBrowser(world);
    await openAccount(world, browser, { password: carol });
    const [first, waiting] = [await askForCodes(world), await askForCodes(world)];
    for (const device of [first, waiting]) expect(isDonePage(await allow(world, device, browser))).toBe(true);
    const tokens = await poll(world, first);
    expect((await userinfo(world, textOf(tokens, 'access_token'))).status).toBe(200);
    const page = await openAccount(world, browser);
    expect(idsOf(page, '/withdraw')).toContain('tv');
    const after = await browser.submit(page, '/withdraw', { id: 'tv' });
    expect(idsOf(after, '/withdraw')).not.toContain('tv');
    expect((await userinfo(world, textOf(tokens, 'access_token'))).status).toBe(401);
    const form = { client_id: 'tv' };
    const renewed = await refresh(world, textOf(tokens, 'refresh_token'), form, 'spa');
    expect(renewed.body['error']).toBe('invalid_grant');
    const late = await poll(world, waiting);
    expect([late.status, late.body['access_token']]).toEqual([400, undefined]);
  });

  it('a device that was let in goes on without the session, where it was allowed to last', async () => {
    const world = place();
    const [here, there] = [newBrowser(world), newBrowser(world)];
    for (const one of [here, there]) await openAccount(world, one, { password: carol });
    const [lasting, short] = [await askForCodes(world), await askForCodes(world, { scope: 'openid' })];
    for (const device of [lasting, short]) expect(isDonePage(await allow(world, device, there))).toBe(true);
    const [kept, ended] = [await poll(world, lasting), await poll(world, short)];
    await here.submit(await openAccount(world, here), '/end-others');
    expect((await userinfo(world, textOf(ended, 'access_token'))).status).toBe(401);
    const renewed = await refresh(world, textOf(kept, 'refresh_token'), { client_id: 'tv' }, 'spa');
    expect(renewed.status).toBe(200);
  });
});

function allow(world: OpenWorld, device: { readonly userCode: string }, browser: Browser): Promise<Page> {
  return letIn(world, device, { browser });
}
