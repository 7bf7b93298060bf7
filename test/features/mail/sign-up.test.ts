// Sign-up over HTTP and SMTP: one answer for every address, and a user only after the link that verifies it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NewRecord, type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { MINUTE, moveClock, standingClock, until } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { untilTold } from '../../world/expect-act.ts';
import { fieldOf } from '../../world/browser.ts';
import { begin, newBrowser, silently, tryPassword } from '../../world/person.ts';
import { post } from '../../world/requests.ts';
import { problemsOf } from '../../unit/config/config-files.ts';
import { startMailServer } from './mail-server.ts';
import {
  addPeople,
  askFor,
  fromElsewhere,
  idOfStored,
  newAddress,
  openLink,
  quiet,
  statusOf,
} from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
const withSignUp = (signUp?: object) => ({
  trusted_proxies: ['127.0.0.1'],
  groups: { staff: 'Staff' },
  mail: { ...server.mail, ...(signUp && { sign_up: signUp }) },
});
const config = withSignUp({ domains: ['acme.example', 'MÜNCHEN.example'], groups: ['staff'] });

const subjectsTo = (address: string) => server.sentTo(address).map(({ headers }) => headers['subject']);
const PASSWORD = 'seven wet umbrellas';

eachStore(
  'sign-up',
  (world) => {
    beforeAll(async () => {
      server.letters.splice(0);
      await addPeople(world());
    });
    const users = () => createStoredUsers(world().openedStore);
    const signUp = (email: string, more = fromElsewhere()) =>
      askFor(world(), email, { ...more, page: 'sign-up' });
    const isSent = () => quiet(world());
    async function linkTo(address: string) {
      await signUp(address);
      await isSent();
      const { link = '' } = server.sentTo(address).at(-1) ?? {};
      return link;
    }
    const choose = async (link: string, username: string, browser = newBrowser(world())) =>
      (await openLink(world(), link, browser)).post({ username });

    it('is answered alike for every address (ML-41), and who may have one gets an email (ML-42)', async () => {
      const known = 'anna@acme.example eve@acme.example bob@example.com nick@acme.example'.split(' ');
      const foreign = 'sub@mail.acme.example a@notacme.example a@acme.example,b@acme.example anna'.split(' ');
      const fresh = ['new@acme.example', ' NEWER@ACME.example ', 'ada@münchen.example'];
      const typed = [...fresh, ...known, ...foreign, '', 'x'.repeat(300)];
      expect((await begin(world())).page.text).toContain(`${world().issuer}/sign-up`);
      const { text: form } = await newBrowser(world()).request(`${world().issuer}/sign-up`);
      expect(form).toContain('acme.example, MÜNCHEN.example');
      const answers = [];
      for (const email of typed) {
        const { status, text, headers } = await signUp(email);
        answers.push([status, text, headers.get('location')]);
      }
      const [first] = answers;
      expect([first?.[0], first?.[2]]).toEqual([303, `${world().issuer}/sign-up/sent`]);
      expect(answers).toEqual(answers.map(() => first));
      await isSent();
      // The address of nick isn't verified, so it doesn't keep its owner out; eve is disabled.
      const sentTo = server.letters.flatMap(({ to }) => to).toSorted();
      const expected = 'NEWER@acme.example ada@münchen.example anna@acme.example new@acme.example';
      expect(sentTo).toEqual([...expected.split(' '), 'nick@acme.example']);
      expect(subjectsTo('new@acme.example')).toEqual(['Create your account at Postern']);
      expect(subjectsTo('anna@acme.example')[0]).toContain('You already have an account at Postern');
      expect(server.sentTo('anna@acme.example')[0]?.text).toContain(`${world().issuer}/forgot`);
      expect(await users().findByUsername('new')).toBeUndefined();
    });

    it('creates the user by the form alone, who then chooses a password; signs nobody in (ML-43)', async () => {
      const link = await linkTo('zoe@acme.example');
      const browser = newBrowser(world());
      const form = await openLink(world(), link);
      expect(fieldOf(form, 'username')).toBe('zoe');
      const taken = ['anna', ' ANNA ', 'alice', 'ａｎｎａ', idOfStored('anna')];
      const wrong = ['', 'a b', 'ben@acme.example', '..', '-x', 'a\u3164', '\u202eanna', 'x'.repeat(65)];
      for (const name of [...taken, ...wrong]) {
        const refused = await choose(link, name, browser);
        expect([name, refused.status]).toEqual([name, 422]);
        expect(refused.text).toContain(taken.includes(name) ? 'is taken' : 'Use only letters');
      }
      const { status, headers } = await choose(link, ' Zoë.1 ', browser);
      const next = headers.get('location') ?? '';
      expect([status, next]).toEqual([303, expect.stringContaining(`${world().issuer}/interaction/link/`)]);
      const user = await users().findByUsername('zoë.1');
      expect(user).toMatchObject({ username: 'Zoë.1', passwordHash: undefined, groups: ['staff'] });
      const claims = { email: 'zoe@acme.example', email_verified: true, locale: 'en' };
      expect(user?.claims).toEqual({ preferred_username: 'Zoë.1', ...claims });
      const row = { account_id: user?.id, action: 'add', by: 'link' };
      expect(world().recorded.audit('account_changed').at(-1)).toMatchObject(row);
      expect((await form.post({ username: 'zoe2' })).status).toBe(410);
      expect(await statusOf(world(), link)).toBe(410);
      await browser.submit(await browser.request(next), '', { password: PASSWORD, again: PASSWORD });
      expect(await silently(world(), browser, { scope: 'openid' })).toBe('login_required');
      expect((await tryPassword(world(), 'zoë.1', PASSWORD)).status).toBe(200);
      // A first password isn't a changed one.
      await untilTold(world());
      await isSent();
      expect(subjectsTo('zoe@acme.example')).toEqual(['Create your account at Postern']);
    });

    it('creates one user by one link (ML-44)', async () => {
      const link = await linkTo('twin@acme.example');
      expect((await choose(link, 'twin')).status).toBe(303);
      expect(await users().findBySort('mail-addresses', 'twin@acme.example', 5)).toHaveLength(1);
      // There is no trace either of a name that is chosen once the address is free again.
      const [twin] = await users().findBySort('mail-addresses', 'twin@acme.example', 5);
      const id = twin?.id ?? '';
      await users().setGranted(id, (before) => ({ ...before, claims: {} }));
      expect((await choose(link, 'trace')).status).toBe(410);
      const { index } = world().openedStore;
      expect(await index.page('usernames', { prefix: 'trace', limit: 1 })).toEqual([]);
      await users().setGranted(id, (before) => ({ ...before, claims: { email: 'twin@acme.example' } }));
      // Without the first browser, the address gets an invitation.
      await askFor(world(), 'twin@acme.example');
      await isSent();
      expect(subjectsTo('twin@acme.example').at(-1)).toBe('Your invitation to Postern');
      // The address of a user who was deleted is free, but not the id.
      await users().remove(id);
      expect((await choose(link, 'twin')).status).toBe(410);
      expect((await choose(await linkTo('twin@acme.example'), 'twin')).status).toBe(303);
      expect((await users().findByUsername('twin'))?.id).not.toBe(id);
    });

    it('is over once the address has a user, or its domain is no longer allowed (ML-45)', async () => {
      const [owned, closed] = [await linkTo('ann@acme.example'), await linkTo('bea@acme.example')];
      const claims = { email: 'ANN@acme.example' };
      await users().add({ id: idOfStored('ann'), username: 'ann', passwordHash: undefined, claims });
      const isOpen = async (link: string) => (await statusOf(world(), link)) === 200;
      expect([await isOpen(owned), await isOpen(closed)]).toEqual([false, true]);
      const form = await openLink(world(), closed);
      await world().reload(withSignUp({ domains: ['other.example'] }));
      expect((await form.post({ username: 'bea' })).status).toBe(410);
      expect(await users().findByUsername('bea')).toBeUndefined();
      await world().reload(withSignUp());
      expect(await isOpen(closed)).toBe(false);
      await world().reload(withSignUp({ domains: 'any' }));
      expect(await isOpen(closed)).toBe(true);
      await linkTo('bea@other.example');
      await world().reload(config);
    });

    it('is closed for a disabled user, whatever the tag of their mailbox', async () => {
      const [id, claims] = [idOfStored('tag'), { email: 'tag+1@acme.example' }];
      const before = await linkTo('tag+2@acme.example');
      await users().add({ id, username: 'tag', passwordHash: undefined, claims });
      expect(await linkTo('tag+3@acme.example')).not.toBe('');
      await createAccountStates(world().openedStore.documents).update(id, { disabled: true });
      expect(await statusOf(world(), before)).toBe(410);
      for (const one of ['eve+2@acme.example', 'tag@acme.example', 'TAG+4@acme.example'])
        expect([one, await linkTo(one)]).toEqual([one, '']);
    });

    it('refuses forms that are not its own (ML-46)', async () => {
      const link = await linkTo('cat@acme.example');
      const path = link.slice(world().issuer.length);
      const from = fromElsewhere().headers;
      for (const [at, field] of [
        ['/sign-up', 'email'],
        [path, 'username'],
      ] as const) {
        const send = (headers = {}, form = `${field}=cat`) =>
          post(world(), at, form, { ...from, ...headers });
        expect((await send({ origin: 'https://evil.example' })).status).toBe(403);
        expect((await send()).status).toBe(403);
        expect((await send({ 'content-type': 'application/json' }, '{}')).status).toBe(415);
      }
      expect(await users().findByUsername('cat')).toBeUndefined();
    });

    it('sends a mailbox three in an hour, whatever its tag, and shares the limit of /forgot (ML-47)', async () => {
      for (let times = 0; times < 3; times += 1) await signUp('lou@acme.example');
      await isSent();
      await askFor(world(), 'lou');
      for (let tag = 0; tag < 5; tag += 1) await signUp(`dan+${tag}@acme.example`);
      await isSent();
      expect(server.letters.filter(({ to }) => to.join().startsWith('dan+'))).toHaveLength(3);
      // Otherwise sign-ups would block users' password resets.
      expect(subjectsTo('lou@acme.example')).toContain('Reset your password for Postern');
      const from = fromElsewhere();
      for (let times = 0; times < 4; times += 1) await signUp('dan@acme.example', from);
      expect((await askFor(world(), 'dan', from)).status).toBe(303);
      expect((await signUp('dan@acme.example', from)).status).toBe(429);
    });
  },
  { config },
);

let broken = '';
const saved: NewRecord[] = [];
const handStore = (store: Store) => {
  const { records, documents } = store;
  const [save, put] = [records.save.bind(records), documents.put.bind(documents)];
  const refuse = async (what: string) => broken === what && Promise.reject(new StoreUnavailable());
  records.save = async (one) => (saved.push(one), await refuse(one.kind), save(one));
  documents.put = async (...write) => (await refuse(write[0]), put(...write));
  return store;
};

describe('an outage', () => {
  const world = useWorld({ config, handStore });

  it('at the username spends no link, if another user takes the name then', async () => {
    const email = newAddress();
    await askFor(world(), email, { page: 'sign-up' });
    await until(() => expect(server.sentTo(email)).toHaveLength(1));
    const { post: send } = await openLink(world(), server.sentTo(email)[0]?.link ?? '');
    const choose = async (username: string) => (await send({ username })).status;
    broken = 'usernames';
    expect(await choose('first')).toBe(503);
    broken = '';
    const other = { id: idOfStored('other'), username: 'first', passwordHash: undefined };
    await createStoredUsers(world().openedStore).add({ ...other, claims: {} });
    expect(await choose('later')).toBe(422);
    expect(await choose('later')).toBe(303);
  });
});

eachStore(
  'what a visitor typed (ML-18)',
  (world) => {
    standingClock();
    const waiting = async () => JSON.stringify(await world().openedStore.documents.list('mail'));
    const ask = async (page: 'forgot' | 'sign-up') =>
      (await askFor(world(), 'typed@acme.example', { page })).status;
    const askBoth = async () => [await ask('forgot'), await ask('sign-up')];
    it('waits in no job, and is gone after 30 minutes, if email is turned off; a 503 leaves nothing', async () => {
      for (broken of ['MailTyped', 'mail'])
        expect([await askBoth(), await waiting()]).toEqual([[503, 503], '[]']);
      server.faults.auth = '535 rotated';
      broken = '';
      expect(await askBoth()).toEqual([303, 303]);
      await until(async () => expect(await waiting()).toMatch(/new_user.*isHeld\\":false/));
      expect(await waiting()).not.toContain('typed@');
      await world().reload({ trusted_proxies: ['127.0.0.1'] });
      moveClock(30 * MINUTE);
      expect(saved.map(({ kind }) => kind)).toContain('MailTyped');
      const typed = saved.filter(({ kind, payload }) => kind !== 'MailLink' && payload.includes('typed@'));
      for (const { kind, key } of typed)
        expect(await world().openedStore.records.find(kind, key)).toBeUndefined();
      delete server.faults.auth;
      await world().reload(config);
      await until(async () => expect(await waiting()).toBe('[]'));
      expect(server.sentTo('typed@acme.example')).toEqual([]);
    });
  },
  { config, handStore },
);

it('needs domains, or any, and groups that are defined', async () => {
  const mail = { from: 'no-reply@acme.example', server: 'folder:mail' };
  const wrong = [[], 'all', ['*.acme.example'], ['a@acme.example'], undefined].map((domains) => ({
    domains,
  }));
  for (const signUp of [...wrong, { domains: 'any', groups: ['nobody'] }]) {
    const form = { issuer: 'http://localhost:3000', mail: { ...mail, sign_up: signUp } };
    const problem = /domains: must be any, or a list|groups: unknown group "nobody": add it to groups/;
    expect(await problemsOf(JSON.stringify(form))).toEqual([expect.stringMatching(problem)]);
  }
});
