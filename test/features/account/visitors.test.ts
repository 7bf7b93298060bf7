// The account page: who may open it, from where, and who must sign in first.
import { describe, expect, it } from 'vitest';
import { createAccountStates } from '../../../src/users/account-state.ts';
import type { Factors } from '../../../src/users/factors.ts';
import { addCarol, CAROL, idsOf, isAccountPage, isLoginPage, openAccount } from '../../world/account-page.ts';
import { DAY, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { complete, newBrowser, silently } from '../../world/person.ts';
import { factorsOf, newAuthenticatorApp, setFactors } from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, PASSWORDS, PEOPLE, worldClients } from '../../world/world.ts';

standingClock();

const CONFIG = { ...GENEROUS, account: true };
const SIGN_IN = { passkeys: true, one_time_codes: true, recovery_codes: 10, enrolment: 'self' };
const ALICE = { username: 'alice' };

describe('the way to the account page', () => {
  const world = useWorld({ config: CONFIG });

  it('leads those who decline to sign in to the page of the issuer', async () => {
    const browser = newBrowser(world());
    const login = await browser.open(`${world().issuer}/account`);
    const home = await browser.submit(login, '/cancel');
    expect(home.url).toBe(`${world().issuer}/`);
  });
});

describe('two browsers of one user', () => {
  const world = useWorld({ config: CONFIG });

  it('each mark their own session, and one that the other ended can do nothing any more', async () => {
    await addCarol(world());
    const [here, there] = [newBrowser(world()), newBrowser(world())];
    await openAccount(world(), here);
    const theirs = await openAccount(world(), there);
    const mine = await openAccount(world(), here);
    expect([idsOf(mine, '/end-session').length, idsOf(theirs, '/end-session').length]).toEqual([1, 1]);
    expect(idsOf(mine, '/end-session')).not.toEqual(idsOf(theirs, '/end-session'));
    const ended = await here.submit(mine, '/end-session');
    expect(idsOf(ended, '/end-session')).toEqual([]);
    for (const action of ['/end-session', '/end-others', '/password']) {
      expect([action, (await there.submit(theirs, action)).status]).toEqual([action, 403]);
    }
    expect(isLoginPage(await there.open(`${world().issuer}/account`))).toBe(true);
    expect(isAccountPage(await here.open(`${world().issuer}/account`))).toBe(true);
    // The same form again ends nothing, and logs nothing.
    const again = await here.submit(mine, '/end-session');
    expect([isAccountPage(again), again.url]).toEqual([true, `${world().issuer}/account`]);
  });

  it('a page stops working once the user is disabled or signed out everywhere', async () => {
    const states = createAccountStates(world().openedStore.documents);
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    await states.update(CAROL.id, { disabled: true });
    const refused = await browser.submit(page, '/password', { current: CAROL.password });
    expect([refused.status, refused.text.includes('Nothing was changed')]).toEqual([403, true]);
    await states.update(CAROL.id, { disabled: false });
    moveClock(MINUTE);
    const next = await openAccount(world(), browser);
    expect(isAccountPage(next)).toBe(true);
    await states.update(CAROL.id, { validAfter: Math.floor(Date.now() / 1000) + 1 });
    expect((await browser.submit(next, '/end-others')).status).toBe(403);
    expect(isLoginPage(await browser.open(`${world().issuer}/account`))).toBe(true);
  });
});

describe('where users need a second factor', () => {
  const world = useWorld({
    issuer: 'https://id.example',
    rotationTimer: NEVER,
    config: { ...CONFIG, sign_in: SIGN_IN },
  });

  it('and an app alone needs it, the page is open after a password', async () => {
    const config = { ...CONFIG, sign_in: SIGN_IN };
    await world().reload({ ...config, clients: worldClients({ web: { sign_in: { require: 'passkey' } } }) });
    await setFactors(world(), 'alice');
    expect(isAccountPage(await openAccount(world(), newBrowser(world()), ALICE))).toBe(true);
    await world().reload(config);
  });

  it.each<readonly [string, Partial<Factors>]>([
    ['is too weak', { oneTimeCode: newAuthenticatorApp('alice').factor }],
    ['ended with a change of factors', { sessionsSince: 7 }],
  ])('the page is of nobody whose session %s', async (_how, change) => {
    const browser = newBrowser(world());
    await setFactors(world(), 'alice');
    const page = await openAccount(world(), browser, ALICE);
    expect(isAccountPage(page)).toBe(true);
    await (await factorsOf(world())).change(PEOPLE.alice, () => change);
    expect((await browser.submit(page, '/end-others')).status).toBe(403);
    expect(isAccountPage(await browser.open(`${world().issuer}/account`))).toBe(false);
  });

  it('the page is open in their grace, and after it at the end of the enrolment alone', async () => {
    await world().reload({ ...CONFIG, sign_in: { ...SIGN_IN, second_factor: 'required', grace: '7d' } });
    await setFactors(world(), 'bob');
    const bob = { username: 'bob', password: 'bob-password-22' };
    await openAccount(world(), newBrowser(world()), bob);
    moveClock(7 * DAY - 1);
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser, bob);
    expect(isAccountPage(page)).toBe(true);
    moveClock(1);
    expect((await browser.submit(page, '/end-others')).status).toBe(403);
    const after = await openAccount(world(), browser, bob);
    expect([isAccountPage(after), after.text.includes('/enrol"')]).toEqual([false, true]);
    await world().reload({ ...CONFIG, sign_in: SIGN_IN });
  });
});

describe('where the page is off', () => {
  const world = useWorld({ config: GENEROUS });

  it('nothing is written for it, no matter who signs in', async () => {
    const { browser } = await complete(world());
    expect(await silently(world(), browser, { client_id: 'first-party' })).toBe('signed in');
    const { documents } = world().openedStore;
    for (const collection of ['person-sessions', 'person-grants']) {
      expect(await documents.list(collection)).toEqual([]);
    }
  });

  it('what it has kept stays in the store and opens nothing, until the page is on again', async () => {
    const browser = newBrowser(world());
    const bob = { username: 'bob', password: PASSWORDS.bob };
    const at = async (end: string) => (await browser.open(`${world().issuer}/account${end}`)).status;
    await world().reload({ ...GENEROUS, account: true });
    const signIn = (await browser.request(`${world().issuer}/account`)).headers.get('location') ?? '';
    expect(isAccountPage(await openAccount(world(), browser, bob))).toBe(true);
    await world().reload(GENEROUS);
    expect([await at(''), await at('/callback'), await at('/factors')]).toEqual([404, 404, 404]);
    expect((await browser.open(`${world().issuer}/.well-known/change-password`)).status).toBe(404);
    expect((await newBrowser(world()).open(signIn)).status).toBe(400);
    expect(await world().openedStore.documents.list('person-sessions')).toHaveLength(1);
    await world().reload({ ...GENEROUS, account: true });
    expect(isAccountPage(await browser.open(`${world().issuer}/account`))).toBe(true);
  });
});
