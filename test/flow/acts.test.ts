// Each act on a user, by every way to do it: at the command line, on a page, by a one-time link. One user for each act.
import { afterAll, expect, it } from 'vitest';
import { idsOf, openAccount } from '../world/account-page.ts';
import { signIn, type SignedIn } from '../world/app.ts';
import { type Browser, fieldOf } from '../world/browser.ts';
import { runVerb } from '../world/command-line.ts';
import { eachStore } from '../world/each-store.ts';
import { type Act, AUDIT_FILE, expectAct, isAlive, type Living, type Outcome } from '../world/expect-act.ts';
import { startLogoutReceiver } from '../world/logout-receiver.ts';
import { newBrowser, type User } from '../world/person.ts';
import { codeFor, factorsOf, SoftwareKey } from '../world/second-factors.ts';
import { GENEROUS, type OpenWorld, PASSWORDS } from '../world/world.ts';
import { userVerb } from '../world/terminal.ts';

const receiver = await startLogoutReceiver();
afterAll(() => receiver.stop());

const NEW = { password: 'river otter jazz 47', again: 'river otter jazz 47' };
const OPTIONS = {
  config: {
    ...GENEROUS,
    account: true,
    audit: `file:${AUDIT_FILE}`,
    groups: { staff: 'Employees' },
    sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10, enrolment: 'self' },
    outgoing: receiver.outgoing,
    clients: receiver
      .clients('web', 'web2')
      .map((client) => (client.client_id === 'web2' ? { ...client, access: { groups: ['staff'] } } : client)),
  },
};

/** Cookies of a session that continues under a new id. */
const RENEWED = ['postern_session /', 'postern_session.sig /'];

const session = ({ browser }: SignedIn): Living => ({ session: browser });
const tokens = (app: SignedIn): Living => ({ tokens: app });
const all = (...apps: readonly SignedIn[]) => apps.flatMap((app) => [session(app), tokens(app)]);
/** The apps are notified, and their sessions and tokens end. */
const gone = (...apps: readonly SignedIn[]) => ({ apps, dead: all(...apps) });

eachStore('acts on users', OPTIONS, (place) => {
  const everybody: SignedIn[] = [];
  let count = 0;

  async function user(world: OpenWorld, ...args: readonly string[]): Promise<Record<string, unknown>> {
    const { code, stderr, result } = await userVerb(world, args, PASSWORDS.alice, runVerb);
    expect([code, stderr]).toEqual([0, '']);
    return result;
  }

  /** A new user in the store, signed in at an app, in this browser and in another one. */
  async function newUser() {
    count += 1;
    const username: User = `person${count}`;
    const { id } = await user(place(), 'add', username, '--group', 'staff');
    const enter = async (client: 'web' | 'web2', browser?: Browser) => {
      const app = await signIn(place(), { person: username, client, ...(browser && { browser }) });
      everybody.push(app);
      return app;
    };
    const [here, there] = [await enter('web'), await enter('web')];
    const login = { username, password: PASSWORDS.alice };
    return { world: place(), id: String(id), username, here, there, enter, login };
  }

  const expectOf = (act: Act, outcome: Outcome) =>
    expectAct({ world: place(), receiver, everybody }, act, outcome);

  const changed = (id: string, by: string, action: string) => ({
    event: 'account_changed',
    outcome: 'success',
    by,
    account_id: id,
    action,
  });
  const factor = (id: string, by: string, action: string, method: string) => ({
    ...changed(id, by, action),
    event: 'factor_changed',
    method,
  });
  const used = (id: string, action: string) => ({
    event: 'link_used',
    outcome: 'success',
    account_id: id,
    action,
  });
  const ended = (id: string) => ({
    event: 'sign_out',
    outcome: 'success',
    by: 'user',
    account_id: id,
    reason: 'ended_by_the_person',
  });

  const expectNothing = (act: Act) => expectOf(act, { answer: {}, audit: [] });

  it.each(['sign-out', 'disable', 'password'])('%s by an administrator ends all access', async (verb) => {
    const { world, id, username, here, there } = await newUser();
    await expectOf(
      { browser: here.browser, run: () => user(world, verb, username) },
      {
        answer: { id, username },
        audit: [changed(id, 'command_line', verb)],
        activity: [verb === 'password' ? 'password_changed' : 'sessions_ended'],
        ...gone(here, there),
      },
    );
  });

  it('enable ends nothing, and brings nothing back', async () => {
    const { world, id, username, here, there } = await newUser();
    await expectOf(
      { browser: here.browser, run: () => user(world, 'enable', username) },
      {
        answer: { id, disabled: false },
        audit: [changed(id, 'command_line', 'enable')],
        alive: [session(here), tokens(here)],
      },
    );
    const run = async () => {
      await user(world, 'disable', username);
      return user(world, 'enable', username);
    };
    await expectOf(
      { run },
      {
        answer: { id, disabled: false },
        audit: ['disable', 'enable'].map((verb) => changed(id, 'command_line', verb)),
        activity: ['sessions_ended'],
        ...gone(here, there),
      },
    );
  });

  it('delete ends everything of the user', async () => {
    const { world, id, username, here, there } = await newUser();
    await expectOf(
      { browser: here.browser, run: () => user(world, 'delete', username) },
      {
        answer: { id, deleted: true },
        audit: [changed(id, 'command_line', 'delete')],
        ...gone(here, there),
      },
    );
    const { documents } = world.openedStore;
    for (const list of ['person-sessions', 'person-grants', 'factors'])
      expect(await documents.get(list, id)).toBeUndefined();
  });

  it('set, for a group, ends the session at the app that is not for the user any more', async () => {
    const { world, id, username, here, enter } = await newUser();
    const staff = await enter('web2', here.browser);
    await expectOf(
      { browser: here.browser, run: () => user(world, 'set', username, '--remove-group', 'staff') },
      {
        answer: { id, groups: [] },
        audit: [changed(id, 'command_line', 'set')],
        apps: [staff],
        alive: [session(here), tokens(here)],
        dead: [tokens(staff)],
      },
    );
  });

  it('a password by the user ends all but this browser', async () => {
    const { world, id, here, there, login } = await newUser();
    const { browser } = here;
    const page = await openAccount(world, browser, login);
    await expectOf(
      {
        browser,
        run: () => browser.submit(page, '/password', { current: login.password, ...NEW }),
      },
      {
        answer: { status: 200, text: expect.stringContaining('Your password was changed.') as string },
        audit: [changed(id, 'user', 'password'), ended(id)],
        activity: ['password_changed'],
        cookies: RENEWED,
        apps: [there],
        alive: [session(here)],
        dead: [session(there), tokens(there), tokens(here)],
      },
    );
  });

  it('a password by a link ends all', async () => {
    const { world, id, username, here, there } = await newUser();
    const link = String((await user(world, 'reset', username))['link']);
    const browser = newBrowser(world);
    const page = await browser.open(link);
    await expectOf(
      { browser, run: () => browser.submit(page, link.slice(-43), NEW) },
      {
        answer: { status: 200 },
        audit: [changed(id, 'link', 'password'), used(id, 'reset')],
        activity: ['password_changed'],
        cookies: ['postern_device /'],
        ...gone(here, there),
      },
    );
  });

  it.each(['reset', 'enrol'] as const)('%s makes a link, and ends nothing', async (verb) => {
    const { world, id, username, here } = await newUser();
    await expectOf(
      { browser: here.browser, run: () => user(world, verb, username) },
      {
        answer: { id, link: expect.stringContaining('/interaction/link/') as string },
        audit: [changed(id, 'command_line', verb)],
        alive: [session(here), tokens(here)],
      },
    );
  });

  it('invite adds a user and makes a link', async () => {
    count += 1;
    let id = '';
    const run = async () => {
      const invited = await user(place(), 'invite', `person${count}`);
      id = String(invited['id']);
      return invited;
    };
    await expectOf(
      { run },
      {
        answer: { invited: true },
        audit: ['add', 'invite'].map((action) => ({
          ...changed('', 'command_line', action),
          account_id: expect.stringMatching(/^usr_/) as string,
        })),
      },
    );
    expect(id).toMatch(/^usr_/);
    const again = ['user', 'add', `person${count}`, '--config', place().configFile];
    await expectNothing({ run: () => runVerb(again, PASSWORDS.alice) });
  });

  it('a first factor by the user ends the sessions of other browsers, and removing it too', async () => {
    const { world, id, here, there, login } = await newUser();
    const { browser } = here;
    await openAccount(world, browser, login);
    const page = await browser.open(`${world.issuer}/account/factors?add=one_time_code`);
    await expectOf(
      {
        browser,
        run: () => browser.submit(page, '/add', { code: codeFor(page), sealed: fieldOf(page, 'sealed') }),
      },
      {
        answer: { status: 200 },
        audit: [factor(id, 'user', 'added', 'one_time_code'), factor(id, 'user', 'made', 'recovery_codes')],
        activity: ['factor_added', 'recovery_codes_made'],
        cookies: RENEWED,
        alive: [session(here), tokens(here), tokens(there)],
        dead: [session(there)],
      },
    );
    const next = await browser.open(`${world.issuer}/account/factors`);
    await expectOf(
      { browser, run: () => browser.submit(next, '/recovery-codes') },
      {
        answer: { status: 200 },
        audit: [factor(id, 'user', 'made', 'recovery_codes')],
        activity: ['recovery_codes_made'],
        alive: [session(here), tokens(here)],
      },
    );
    // If the list can't be read, the act still succeeds.
    const { documents } = world.openedStore;
    const list = await documents.get('person-sessions', id);
    await documents.put('person-sessions', id, '[', list?.version ?? 0);
    expect((await browser.submit(next, '/recovery-codes')).status).toBe(200);
    const damaged = await documents.get('person-sessions', id);
    await documents.put('person-sessions', id, list?.value ?? '', damaged?.version ?? 0);
    const last = await browser.open(`${world.issuer}/account/factors`);
    await expectOf(
      { browser, run: () => browser.submit(last, '/remove', { id: 'one-time-codes' }) },
      {
        answer: { status: 200 },
        audit: [factor(id, 'user', 'removed', 'one_time_code')],
        activity: ['factor_removed'],
        cookies: RENEWED,
        alive: [session(here), tokens(here)],
      },
    );
  });

  it('factors removed by an operator: sessions end, tokens stay', async () => {
    const { world, id, username, here } = await newUser();
    const store = await factorsOf(world);
    const key = new SoftwareKey();
    await store.change(id, () => ({ handle: key.handle, passkeys: [key.factor] }));
    await expectOf(
      { browser: here.browser, run: () => user(world, 'factors', username, '--remove', 'all') },
      {
        answer: { id, passkeys: [] },
        audit: [changed(id, 'command_line', 'factors')],
        activity: ['factor_removed'],
        alive: [tokens(here)],
      },
    );
    expect(await isAlive(world, session(here))).toBe(false);
  });

  it('damaged factors removed by an operator end everything of the user', async () => {
    const { world, id, username, here, there } = await newUser();
    const { documents } = world.openedStore;
    const run = async () => {
      const { version = 0 } = (await documents.get('factors', id)) ?? {};
      await documents.put('factors', id, '[', version);
      return user(world, 'factors', username, '--remove', 'all');
    };
    await expectOf(
      { run },
      {
        answer: { id, passkeys: [] },
        audit: [changed(id, 'command_line', 'factors')],
        ...gone(here, there),
      },
    );
  });

  it('MF-26: a first factor by a link ends the sessions of other browsers', async () => {
    const { world, id, username, here, there } = await newUser();
    const link = String((await user(world, 'enrol', username))['link']);
    const { browser } = here;
    const page = await browser.open(link);
    const fields = { code: codeFor(page), sealed: fieldOf(page, 'sealed') };
    await expectOf(
      { browser, run: () => browser.submit(page, link.slice(-43), fields) },
      {
        answer: { status: 200 },
        audit: [factor(id, 'link', 'added', 'one_time_code'), used(id, 'factors')],
        activity: ['factor_added'],
        cookies: ['postern_device /', ...RENEWED],
        // The session of this browser continues, and is asked for the factor.
        alive: [tokens(here), tokens(there)],
        dead: [session(there)],
      },
    );
  });

  it.each(['end-session', 'end-others'] as const)('%s by the user ends that one', async (act) => {
    const { world, id, here, there, login } = await newUser();
    const { browser } = here;
    const page = await openAccount(world, browser, login);
    const fields = act === 'end-session' ? { id: idsOf(page, '/end-session')[0] ?? '' } : {};
    await expectOf(
      { browser, run: () => browser.submit(page, `/${act}`, fields) },
      {
        answer: { status: 200 },
        audit: [ended(id)],
        activity: [act === 'end-session' ? 'session_ended' : 'sessions_ended'],
        apps: [there],
        alive: [session(here), tokens(here)],
        dead: [session(there)],
      },
    );
    await expectNothing({ browser, run: () => browser.submit(page, `/${act}`, fields) });
  });

  it('withdraw by the user ends the tokens of that app, and no session', async () => {
    const { world, id, here, there, login } = await newUser();
    const { browser } = here;
    const page = await openAccount(world, browser, login);
    await expectOf(
      { browser, run: () => browser.submit(page, '/withdraw', { id: 'web' }) },
      {
        answer: { status: 200, text: expect.stringContaining('no longer has access') as string },
        audit: [
          {
            event: 'consent_withdrawn',
            outcome: 'success',
            by: 'user',
            account_id: id,
            client_id: 'web',
            reason: 'withdrawn_by_the_person',
          },
        ],
        activity: ['app_withdrawn web'],
        apps: [here, there],
        alive: [session(here), session(there)],
        dead: [tokens(here), tokens(there)],
      },
    );
    await expectNothing({ browser, run: () => browser.submit(page, '/withdraw', { id: 'web' }) });
  });
});
