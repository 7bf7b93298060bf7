// Users without a password, who only have a passkey: how they sign in, and what must not lock them out.
import { expect, it } from 'vitest';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { addCarol, CAROL } from '../../world/account-page.ts';
import { type Browser, fieldOf, type Page } from '../../world/browser.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, newBrowser, titleOf } from '../../world/person.ts';
import {
  factorsOf,
  givePasskey,
  newRecoveryCodes,
  ownFactors,
  passkeyOptionsOf,
  setFactors,
  SoftwareKey,
  withAddForms,
} from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';

const CONFIG = { ...GENEROUS, sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 } };
const place = useWorld({
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  people: { bob: { password_hash: undefined } },
  config: CONFIG,
});

/** The link that `postern user enrol bob` prints. */
const enrolLink = async (world: OpenWorld) =>
  oneTimeLinkUrl(world.issuer, await newLink(world, 'factors', PEOPLE.bob));

async function signInByPasskey(
  world: OpenWorld,
  browser: Browser,
  url: string,
  key: SoftwareKey,
): Promise<Page> {
  const page = await browser.open(url);
  return browser.submit(page, '/passkey', { response: key.assert(world, page) });
}

it('a link adds a passkey that verified its user, and nothing that they could not sign in with', async () => {
  await setFactors(place(), 'bob');
  const link = await enrolLink(place());
  const browser = newBrowser(place());
  const page = await browser.open(link);
  expect([page.status, page.text.includes('class="secret"')]).toEqual([200, false]);
  const token = link.slice(-43);
  const key = new SoftwareKey();
  for (const fields of [
    { code: '123456', sealed: 'x' },
    { response: new SoftwareKey({ verifiesUser: false }).create(place(), page) },
  ]) {
    const refused = await browser.submit(page, token, fields);
    expect([refused.status, (await ownFactors(place(), 'bob')).passkeys]).toEqual([422, []]);
  }
  const done = await browser.submit(page, token, {
    response: key.create(place(), page),
    handle: fieldOf(page, 'handle'),
  });
  expect([done.status, done.url.includes(token)]).toEqual([200, false]);
  expect((await ownFactors(place(), 'bob')).passkeys).toHaveLength(1);
  const { page: login } = await begin(place(), {}, { browser });
  const response = key.assert(place(), login, { userHandle: fieldOf(page, 'handle') });
  const added = await browser.submit(login, '/passkey', { response });
  expect(added.text).toContain('A passkey was added');
});

it("the last one can't be removed, until there is another", async () => {
  const key = await givePasskey(place(), 'bob');
  const browser = newBrowser(place());
  const list = await signInByPasskey(place(), browser, `${place().issuer}/account/factors`, key);
  const page = await withAddForms(browser, list);
  const refused = await browser.submit(page, '/remove', { id: key.id });
  expect(refused.status).toBe(422);
  expect((await ownFactors(place(), 'bob')).passkeys).toHaveLength(1);
  // A passkey that can't sign them in doesn't count as another one.
  expect(passkeyOptionsOf(page)['authenticatorSelection']).toMatchObject({ userVerification: 'required' });
  const weak = new SoftwareKey({ verifiesUser: false });
  const response = weak.create(place(), page);
  expect((await browser.submit(page, '/add', { response, handle: fieldOf(page, 'handle') })).status).toBe(
    422,
  );
  const other = new SoftwareKey();
  const added = await browser.submit(page, '/add', {
    response: other.create(place(), page),
    handle: fieldOf(page, 'handle'),
  });
  expect([added.status, (await ownFactors(place(), 'bob')).passkeys.length]).toEqual([200, 2]);
  await browser.submit(added, '/remove', { id: key.id });
  expect((await ownFactors(place(), 'bob')).passkeys.map(({ id }) => id)).toEqual([other.id]);
});

it('recovery codes go with the last factor, and a password that nobody has is never right', async () => {
  const { recoveryCodes } = await newRecoveryCodes(place(), 'alice');
  const key = await givePasskey(place(), 'alice', { recoveryCodes });
  const browser = newBrowser(place());
  const page = await signInByPasskey(place(), browser, `${place().issuer}/account/factors`, key);
  await browser.submit(page, '/remove', { id: key.id });
  const left = await ownFactors(place());
  expect([left.passkeys, left.recoveryCodes]).toEqual([[], []]);

  for (const password of ['', 'undefined', 'bob-password-22']) {
    const { browser: stranger, page: login } = await begin(place());
    const answer = await stranger.submit(login, '/login', { username: 'bob', password });
    expect([answer.status, titleOf(answer)]).toEqual([401, 'Sign in']);
  }
});

it('a user of the store isn’t let in while the file has the login name', async () => {
  await addCarol(place());
  const key = new SoftwareKey();
  const store = await factorsOf(place());
  await store.change(CAROL.id, () => ({ handle: key.handle, passkeys: [key.factor] }));
  await store.claimHandle(key.handle, CAROL.id);
  await store.claimCredential(key.id, CAROL.id);
  const enter = () => signInByPasskey(place(), newBrowser(place()), `${place().issuer}/account/factors`, key);
  expect((await enter()).status).toBe(200);
  await place().reload(CONFIG, { alice: { username: 'Carol' } });
  expect((await enter()).status).toBe(401);
  expect(place().recorded.audit('sign_in').at(-1)).toMatchObject({
    account_id: CAROL.id,
    reason: 'disabled',
  });
  await place().reload(CONFIG);
  expect((await enter()).status).toBe(200);
});
