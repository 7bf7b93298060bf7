// What an administrator ends, and what a user begins right afterwards, while the clock of the service stands still.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { hashPassword } from '../../src/users/passwords.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import type { Browser } from '../world/browser.ts';
import { newBrowser, silently } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE } from '../world/world.ts';
import { standingClock } from '../world/clock.ts';
import { eachStore } from '../world/each-store.ts';
import { runVerb } from '../world/command-line.ts';

const CONFIG = { ...GENEROUS, lifetimes: { consent: '10d' } };
const [FIRST, SECOND] = ['river otter jazz 47', 'quiet lantern moss 12'];

type User = { readonly username: string; readonly password: string };

async function changeUser(
  world: OpenWorld,
  [verb = '', ...rest]: readonly string[],
  input = '',
): Promise<void> {
  const done = await runVerb(['user', verb, ...rest, '--config', world.configFile], input);
  expect([done.code, done.stderr]).toEqual([0, '']);
}

/** Ends everything of a user, and resolves the password that is valid from then on. */
type Act = (world: OpenWorld) => Promise<string>;

const signOut: Act = async (world) => {
  await changeUser(world, ['sign-out', 'alice']);
  return PASSWORDS.alice;
};
const disableAndEnable: Act = async (world) => {
  await changeUser(world, ['disable', 'bob']);
  await changeUser(world, ['enable', 'bob']);
  return PASSWORDS.bob;
};
const setPasswordOfStore: Act = async (world) => {
  await changeUser(world, ['password', 'carol'], `${SECOND}\n`);
  return SECOND;
};
let filePasswords = 0;
/** Uses the standing clock, unlike the command line. */
const setPasswordOfFile: Act = async (world) => {
  filePasswords += 1;
  const password = `${SECOND} ${filePasswords}`;
  const alice = { id: PEOPLE.alice, username: 'alice', password_hash: await hashPassword(password) };
  await writeFile(path.join(world.folder, 'changed.json'), JSON.stringify({ users: [alice] }));
  await world.reload({ ...CONFIG, users_from: 'changed.json' });
  return password;
};

type Parameters = Readonly<Record<string, string>>;

/** Goes to the app and back. `wasAsked`: the user had to consent. */
async function enterApp(world: OpenWorld, browser: Browser, person: User, parameters: Parameters = {}) {
  let page = await browser.open(authorizationUrl(world, parameters));
  if (page.text.includes('name="password"')) page = await browser.submit(page, '/login', { ...person });
  const wasAsked = page.text.includes('/consent"');
  if (wasAsked) page = await browser.submit(page, '/consent');
  const code = new URL(page.url).searchParams.get('code');
  expect(code, page.text).not.toBeNull();
  return { code: code ?? '', wasAsked };
}

/** Creates a session, an access token, a refresh token, a consent, and an unused code. */
async function beginAll(world: OpenWorld, person: User, browser = newBrowser(world)) {
  const { code, wasAsked } = await enterApp(world, browser, person);
  const { body } = await redeem(world, { code });
  const offline = { scope: 'openid offline_access', prompt: 'consent' };
  const long = await redeem(world, await enterApp(world, browser, person, offline));
  const waiting = await enterApp(world, browser, person, { prompt: 'none' });
  return {
    browser,
    wasAsked,
    accessToken: String(body['access_token']),
    refreshToken: String(long.body['refresh_token']),
    code: waiting.code,
  };
}

type Begun = Awaited<ReturnType<typeof beginAll>>;

async function outcomes(world: OpenWorld, { browser, accessToken, refreshToken, code }: Begun) {
  return {
    session: await silently(world, browser),
    userinfo: (await userinfo(world, accessToken)).status,
    introspection: (await introspect(world, accessToken, 'web'))['active'],
    introspectedRefreshToken: (await introspect(world, refreshToken, 'web'))['active'],
    code: (await redeem(world, { code })).status,
    refresh: (await refresh(world, refreshToken)).status,
  };
}

const ALIVE = {
  session: 'signed in',
  userinfo: 200,
  introspection: true,
  introspectedRefreshToken: true,
  code: 200,
  refresh: 200,
};
const DEAD = {
  session: 'login_required',
  userinfo: 401,
  introspection: false,
  introspectedRefreshToken: false,
  code: 400,
  refresh: 400,
};

eachStore('within one second', { config: CONFIG }, (world) => {
  standingClock();
  beforeAll(() => changeUser(world(), ['add', 'carol'], `${FIRST}\n`));

  it.each<readonly [string, Act, User]>([
    ['postern user sign-out', signOut, { username: 'alice', password: PASSWORDS.alice }],
    ['postern user disable and enable', disableAndEnable, { username: 'bob', password: PASSWORDS.bob }],
    ['postern user password', setPasswordOfStore, { username: 'carol', password: FIRST }],
    ['another password in the file', setPasswordOfFile, { username: 'alice', password: PASSWORDS.alice }],
  ])('RT-10: %s ends what was before, and leaves what begins after it', async (_name, act, who) => {
    const before = await beginAll(world(), who);
    const person = { ...who, password: await act(world()) };
    expect(await outcomes(world(), before)).toEqual(DEAD);

    const after = await beginAll(world(), person);
    // The earlier consent has ended too; the new one counts from now on.
    expect(after.wasAsked).toBe(true);
    expect((await enterApp(world(), newBrowser(world()), person)).wasAsked).toBe(false);
    // The earlier browser can sign in again, which restores nothing.
    expect(await outcomes(world(), await beginAll(world(), person, before.browser))).toEqual(ALIVE);
    expect(await outcomes(world(), before)).toMatchObject({ userinfo: 401, introspection: false });
    expect(await outcomes(world(), after)).toEqual(ALIVE);
  });

  it('RT-10: a second act of the same second ends what began after the first', async () => {
    const who = { username: 'alice', password: await setPasswordOfFile(world()) };
    const between = await beginAll(world(), who);
    await setPasswordOfFile(world());
    expect(await outcomes(world(), between)).toEqual(DEAD);
  });
});
