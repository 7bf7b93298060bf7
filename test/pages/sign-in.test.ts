// Signing in as users do it: the right page at the right time, one account or another, and never a dead end.
import { describe, expect, it } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { formOf } from '../world/browser.ts';
import { begin, complete, enterPassword, newBrowser, signInAs, silently, titleOf } from '../world/person.ts';
import { changeAccount } from '../world/store-access.ts';
import { CALLBACK, GENEROUS, PASSWORDS, PEOPLE, worldClients } from '../world/world.ts';
import { HOUR, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';

const HOME = 'https://app.example/';
const config = { ...GENEROUS, clients: worldClients({ web: { client_uri: 'https://app.example/' } }) };

describe('the sign-in page', () => {
  const world = useWorld({ config });

  it('is one form, with the app, the service and the hint of the app', async () => {
    const { page } = await begin(world(), { login_hint: 'alice@example.com' });
    expect(page.text).toContain('to continue to <strong><bdi>Web app</bdi></strong>');
    expect(page.text).toContain('<span class="brand-name">Postern</span>');
    expect(page.text).toMatch(/name="username"[^>]*value="alice@example\.com"/);
    const form = /<form[^>]*\/login"[\s\S]*?<\/form>/.exec(page.text)?.[0] ?? '';
    expect(form).toContain('autocomplete="username"');
    expect(form).toContain('autocomplete="current-password"');
  });

  it('asks for the password alone with prompt=login and with max_age, of who is signed in', async () => {
    const { browser } = await complete(world());
    for (const parameters of [{ prompt: 'login' }, { max_age: '0', prompt: 'login' }]) {
      const { page } = await begin(world(), parameters, { browser });
      expect(titleOf(page), JSON.stringify(parameters)).toBe('Sign in');
      expect(page.text).toMatch(/name="username"[^>]*value="alice"/);
      expect(page.text).toMatch(/name="password"[^>]*autofocus/);
    }
    expect(await silently(world(), browser)).toBe('signed in');
  });

  it('LG-33: knows one person by every form of the name', async () => {
    for (const typed of ['Alice', ' alice ', 'ALICE', 'ａｌｉｃｅ']) {
      const { browser, page } = await begin(world());
      const next = await browser.submit(page, '/login', { username: typed, password: PASSWORDS.alice });
      expect(titleOf(next), typed).toBe('Web app wants access to your account');
      expect(next.text).toContain('<bdi>alice</bdi>');
    }
    const { browser, page } = await begin(world());
    const cyrillic = await browser.submit(page, '/login', { username: 'аlice', password: PASSWORDS.alice });
    expect(cyrillic.status).toBe(401);
  });

  it('LG-31: refuses a huge form before any work, and takes a long password for what it is', async () => {
    const { browser, page } = await begin(world());
    const send = (password: string) => browser.send(page, '/login', { username: 'alice', password });
    expect((await send('x'.repeat(1_000_000))).status).toBe(413);
    for (const length of [64, 256, 1025, 10_000]) expect((await send('x'.repeat(length))).status).toBe(401);
    expect((await signInAs(browser, page, 'alice')).status).toBe(200);
  });
});

describe('choosing an account', () => {
  const world = useWorld({ config });
  const select = { prompt: 'select_account' };

  it('asks who goes on, and goes on as who is signed in', async () => {
    const { browser } = await complete(world());
    const { page } = await begin(world(), select, { browser });
    expect(titleOf(page)).toBe('Choose an account');
    expect(page.text).toContain('<bdi>Alice Example</bdi>');
    const done = await browser.submit(page, '/continue');
    expect(done.url).toContain(`${CALLBACK}?code=`);
  });

  it('signs in as somebody else, without the other one’s session', async () => {
    const { browser } = await complete(world());
    const before = browser.cookies.find(({ name }) => name === 'postern_session')?.value;
    const { page } = await begin(world(), select, { browser });
    const other = /<a class="button" href="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const login = await browser.open(other.replaceAll('&amp;', '&'));
    expect(login.text).toMatch(/name="username"[^>]*value=""/);
    const consent = await signInAs(browser, login, 'bob');
    expect(consent.text).toContain('<bdi>bob</bdi>');
    expect((await browser.submit(consent, '/consent')).url).toContain(`${CALLBACK}?code=`);
    expect(browser.cookies.find(({ name }) => name === 'postern_session')?.value).not.toBe(before);
  });

  it('leads back from "another account" to the choice', async () => {
    const { browser } = await complete(world());
    const { page } = await begin(world(), select, { browser });
    const login = await browser.open(`${page.url}?account=other`);
    const back = /<a class="button quiet" href="([^"]+)"/.exec(login.text)?.[1] ?? '';
    expect(titleOf(await browser.open(back))).toBe('Choose an account');
  });

  it('is a sign-in where nobody is signed in, and asked once', async () => {
    const { browser, page } = await begin(world(), select);
    expect(titleOf(page)).toBe('Sign in');
    expect(titleOf(await signInAs(browser, page, 'alice'))).toBe('Web app wants access to your account');
    expect(await silently(world(), newBrowser(world()), { prompt: 'none' })).toBe('login_required');
  });

  it('can be cancelled, and needs the token of its page', async () => {
    const { browser } = await complete(world());
    const { page } = await begin(world(), select, { browser });
    const forged = await browser.submit(page, '/continue', { csrf: 'x' });
    expect(forged.status).toBe(403);
    const cancelled = await browser.submit(page, '/cancel');
    expect(new URL(cancelled.url).searchParams.get('error')).toBe('access_denied');
  });

  it('is a sign-in for who was disabled meanwhile', async () => {
    const { browser } = await complete(world(), 'bob');
    const { page } = await begin(world(), select, { browser });
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      expect((await browser.submit(page, '/continue')).status).toBe(400);
      expect(titleOf(await browser.open(page.url))).toBe('Sign in');
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
  });

  it('is offered on the consent page too: the other person is asked, and grants for themselves', async () => {
    const { browser, page: consent } = await enterPassword(world());
    const login = await browser.open(`${consent.url}?account=other`);
    expect(titleOf(login)).toBe('Sign in');
    const next = await signInAs(browser, login, 'bob', '/switch');
    expect(titleOf(next)).toBe('Web app wants access to your account');
    expect(next.text).toContain('<bdi>bob</bdi>');
    expect((await browser.submit(next, '/consent')).url).toContain(`${CALLBACK}?code=`);
    // LG-12: the consent page of alice can't be submitted any more.
    expect((await browser.submit(consent, '/consent')).status).toBe(400);
  });

  it('LG-01: the token of the consent is not one for changing the account', async () => {
    const { browser, page: consent } = await enterPassword(world());
    const { action, fields } = formOf(consent, '/consent');
    const form = { ...fields, username: 'bob', password: PASSWORDS.bob };
    const answer = await browser.post(action.replace('/consent', '/switch'), form);
    expect(answer.status).toBe(403);
  });
});

describe('never a dead end', () => {
  const service = {
    client_id: 'named-service',
    client_name: 'Secret project',
    client_secret: 'env:TEST_SVC',
    grant_types: ['client_credentials'],
    scope: 'reports.read',
  };
  const world = useWorld({
    config: {
      ...config,
      clients: [...worldClients({ web: { client_uri: 'https://app.example/' } }), service],
    },
  });
  const link = `<a class="button primary" href="${HOME}" rel="noreferrer">Back to Web app</a>`;

  it('LG-10: a finished sign-in says so, by form, by link and by the engine’s own address', async () => {
    const { browser, page } = await begin(world());
    const consent = await signInAs(browser, page, 'alice');
    await browser.submit(consent, '/consent');
    for (const stale of [
      await browser.submit(page, '/login', { username: 'alice', password: PASSWORDS.alice }),
      await browser.submit(consent, '/consent'),
      await browser.submit(consent, '/cancel'),
      await browser.open(page.url),
      await browser.open(`${world().issuer}/oauth/authorize/${consent.url.split('/').at(-1)}`),
    ]) {
      expect([stale.status, titleOf(stale)]).toEqual([400, 'This page has expired']);
    }
  });

  it('two tabs: the second sign-in goes on as well, and so does a third that was opened before both', async () => {
    const browser = newBrowser(world());
    const tabs = [];
    for (let tab = 0; tab < 3; tab += 1) tabs.push((await begin(world(), {}, { browser })).page);
    for (const page of tabs) {
      let next = await signInAs(browser, page, 'alice');
      if (next.text.includes('/consent"')) next = await browser.submit(next, '/consent');
      expect(next.url).toContain(`${CALLBACK}?code=`);
    }
  });

  it('a page of another browser, or with cookies off, says so', async () => {
    const { page } = await begin(world());
    const elsewhere = await newBrowser(world()).open(page.url);
    expect([elsewhere.status, titleOf(elsewhere)]).toEqual([400, 'Cookies are required']);
    const { action, fields } = formOf(page, '/login');
    const form = { ...fields, username: 'alice', password: PASSWORDS.alice };
    const posted = await newBrowser(world()).post(action, form);
    expect([posted.status, titleOf(posted)]).toEqual([400, 'Cookies are required']);
  });

  it('names no service to a caller that sends its id', async () => {
    for (const [path, title] of [
      ['/oauth/authorize', 'Something went wrong'],
      ['/oauth/logout', 'You’re already signed out'],
    ] as const) {
      const page = await newBrowser(world()).open(`${world().issuer}${path}?client_id=named-service`);
      expect(titleOf(page)).toBe(title);
      expect(page.text).not.toContain('Secret project');
    }
  });

  it('is an explanation where the app asked for something wrong, with its link', async () => {
    const page = await newBrowser(world()).open(
      authorizationUrl(world(), { redirect_uri: 'https://evil.example/' }),
    );
    expect([page.status, titleOf(page)]).toEqual([400, 'This app isn’t set up correctly']);
    expect(page.text).toContain(link);
    expect(page.text).not.toMatch(/(href|src|action)="[^"]*evil/);
  });
});

describe('LG-35: a session', () => {
  standingClock();
  const world = useWorld({
    config: { ...config, lifetimes: { session: '1h', session_absolute: '3h' } },
  });

  it("ends when it wasn't used for that long", async () => {
    const { browser } = await complete(world());
    moveClock(1 * HOUR - 1);
    expect(await silently(world(), browser)).toBe('signed in');
    moveClock(1 * HOUR + 1);
    expect(await silently(world(), browser)).toBe('login_required');
  });

  it('ends at its absolute end, however much it is used', async () => {
    const { browser } = await complete(world());
    for (let used = 0; used < 5; used += 1) {
      moveClock(35 * MINUTE);
      expect(await silently(world(), browser), `${used}`).toBe('signed in');
    }
    moveClock(5 * MINUTE + 1);
    expect(await silently(world(), browser)).toBe('login_required');
  });

  it('begins anew with a new sign-in', async () => {
    const { browser } = await complete(world());
    for (let used = 0; used < 4; used += 1) {
      moveClock(40 * MINUTE);
      const { page } = await begin(world(), { prompt: 'login' }, { browser });
      await signInAs(browser, page, 'alice');
    }
    moveClock(40 * MINUTE);
    expect(await silently(world(), browser)).toBe('signed in');
  });
});
