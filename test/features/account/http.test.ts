// The account page over HTTP: what it shows, what a change requires, and what it ends.
import { describe, expect, it } from 'vitest';
import { signIn } from '../../world/app.ts';
import { addCarol, CAROL, idsOf, isAccountPage, isLoginPage, openAccount } from '../../world/account-page.ts';
import { type Browser, fieldOf, type Page } from '../../world/browser.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { anyStore, useWorld } from '../../world/each-store.ts';
import { begin, newBrowser, signInAs, silently, signOut } from '../../world/person.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, SPA_ORIGIN, worldClients } from '../../world/world.ts';

const OPTIONS = {
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  config: {
    ...GENEROUS,
    account: true,
    groups: { staff: 'Employees' },
    clients: worldClients({ web: { client_uri: 'https://app.example/' } }),
  },
};
const NEW = { password: 'river otter jazz 47', again: 'river otter jazz 47' };

standingClock();

/** Opens the account page in a new browser of carol, and signs in to an app there. */
async function carolAt(world: OpenWorld, client: 'web' | 'web2' = 'web') {
  const browser = newBrowser(world);
  await openAccount(world, browser);
  return signIn(world, { browser, client });
}

async function again(world: OpenWorld, browser: Browser): Promise<Page> {
  const page = await browser.open(`${world.issuer}/account`);
  const link = /class="button primary" href="([^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
  if (link === undefined) return page;
  const login = await browser.open(link);
  return browser.submit(login, '/login', { username: CAROL.username, password: CAROL.password });
}

anyStore('the account page', OPTIONS, (world) => {
  it('asks for a sign-in first, and shows the user’s data', async () => {
    await addCarol(world());
    const browser = newBrowser(world());
    const first = await browser.open(`${world().issuer}/account`);
    expect(isLoginPage(first)).toBe(true);
    const page = await openAccount(world(), browser);
    expect([isAccountPage(page), page.url]).toEqual([true, 'https://id.example/account']);
    expect(page.headers.get('cache-control')).toBe('no-store');
    for (const text of ['Carol Example', 'carol@example.com', 'This browser', 'You signed in.']) {
      expect(page.text).toContain(text);
    }
    expect(page.text).not.toContain('postern:account');
    // Password managers use this URL.
    const changing = await browser.open(`${world().issuer}/.well-known/change-password`);
    expect(changing.url).toBe('https://id.example/account');
  });

  it('MF-39: ends another session, after a sign-in of a moment ago alone, and its ids open nothing', async () => {
    const other = await carolAt(world());
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    const ids = idsOf(page, '/end-session');
    expect(ids.length).toBeGreaterThan(0);
    expect(page.text).toContain('Last active');
    for (const id of ids) expect(JSON.stringify(other.browser.cookies)).not.toContain(id);

    moveClock(6 * MINUTE);
    const stale = await browser.submit(page, '/end-session', { id: ids[0] ?? '' });
    expect([stale.status, stale.text.includes('Nothing was changed')]).toEqual([403, true]);
    expect(await silently(world(), other.browser)).toBe('signed in');
    const shown = await browser.open(`${world().issuer}/account`);
    expect([isAccountPage(shown), idsOf(shown, '/end-session')]).toEqual([true, []]);

    let now = await again(world(), browser);
    for (const id of idsOf(now, '/end-session')) now = await browser.submit(now, '/end-session', { id });
    expect(now.text).toContain('You’re signed out of that browser.');
    expect(await silently(world(), other.browser)).toBe('login_required');
    expect(await silently(world(), browser, { client_id: 'first-party' })).toBe('signed in');
  });

  it('changes the password by the old one and by the rules alone', async () => {
    const other = await carolAt(world());
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    const wrong = await browser.submit(page, '/password', { current: 'not it at all', ...NEW });
    expect([wrong.status, wrong.text.includes('Your current password is incorrect')]).toEqual([422, true]);
    const current = CAROL.password;
    expect((await browser.submit(page, '/password', { current, ...NEW, again: 'x' })).status).toBe(422);
    const short = { password: 'short', again: 'short' };
    expect((await browser.submit(page, '/password', { current, ...short })).status).toBe(422);
    expect(await silently(world(), other.browser)).toBe('signed in');

    const done = await browser.submit(page, '/password', { current, ...NEW });
    expect(done.text).toContain('Your password was changed.');
  });
});

describe('who may do it', () => {
  const world = useWorld(OPTIONS);

  it('leaves the password of a user of the file to the operator', async () => {
    const browser = newBrowser(world());
    const alice = { username: 'alice' };
    const page = await openAccount(world(), browser, alice);
    expect([isAccountPage(page), page.text.includes('name="current"')]).toEqual([true, false]);
    expect(page.text).toContain('Your administrator manages your password.');
    const csrf = fieldOf(page, 'csrf');
    const forged = await browser.post(`${world().issuer}/account/password`, {
      csrf,
      current: CAROL.password,
      ...NEW,
    });
    expect(forged.status).toBe(403);
  });

  it('MF-37: takes a form of its own page alone, from its own site, and a GET changes nothing', async () => {
    await addCarol(world());
    const other = await carolAt(world());
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    const bobs = await openAccount(world(), newBrowser(world()), {
      username: 'bob',
      password: PASSWORDS.bob,
    });
    const [id = ''] = idsOf(page, '/end-session');
    const right = { csrf: fieldOf(page, 'csrf'), id };
    const post = (act: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      browser.post(`${world().issuer}/account/${act}`, fields, headers);
    for (const act of ['password', 'end-session', 'end-others', 'withdraw']) {
      const answers = [
        await post(act, { id }),
        await post(act, { ...right, csrf: fieldOf(bobs, 'csrf') }),
        await post(act, right, { origin: 'https://evil.example' }),
        await post(act, right, { origin: SPA_ORIGIN }),
        await post(act, right, { origin: 'null' }),
        await post(act, right, { 'sec-fetch-site': 'cross-site' }),
        await post(act, right, { 'content-type': 'application/json' }),
        await post(act, right, { 'content-type': 'text/plain' }),
      ];
      expect([act, answers.map(({ status }) => status)]).toEqual([
        act,
        [403, 403, 403, 403, 403, 403, 415, 415],
      ]);
      for (const { headers } of answers) expect(headers.get('access-control-allow-origin')).toBeNull();
      const got = await browser.request(
        `${world().issuer}/account/${act}?${new URLSearchParams(right).toString()}`,
      );
      expect(got.status).toBe(405);
    }
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(await silently(world(), other.browser, { client_id: 'first-party' })).toBe('signed in');
    // The same form works, so the other fields caused the refusals.
    const done = await post('end-session', right);
    expect(done.status).toBe(303);
    expect(await silently(world(), other.browser)).toBe('login_required');
    // Sending a used form again changes nothing.
    const ended = world().recorded.audit('sign_out').length;
    await post('end-session', right);
    expect(world().recorded.audit('sign_out')).toHaveLength(ended);
  });

  it.each(['bob', 'alice'] as const)('MF-37: rejects a page from before %s signed in', async (next) => {
    const browser = newBrowser(world());
    const other = await signIn(world(), {});
    const page = await openAccount(world(), browser, { username: 'alice' });
    await signOut(world(), browser);
    const { page: login } = await begin(world(), { client_id: 'web' }, { browser });
    await signInAs(browser, login, next);
    expect((await browser.submit(page, '/end-others')).status).toBe(403);
    expect(await silently(world(), other.browser)).toBe('signed in');
  });
});
