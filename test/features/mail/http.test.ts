// Forgotten passwords over HTTP and SMTP: one answer for every name, and an email to the user concerned.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../world/clock.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { anyStore, eachStore } from '../../world/each-store.ts';
import { dumpOf } from '../../world/dump.ts';
import { newLink } from '../../world/one-time-link.ts';
import { begin, newBrowser, tryPassword } from '../../world/person.ts';
import { get, post } from '../../world/requests.ts';
import { newAuthenticatorApp, factorsOf } from '../../world/second-factors.ts';
import { limitsOf } from '../../world/stored.ts';
import { createMailJobs, newJob } from '../../../src/features/mail/jobs.ts';
import { startMailServer } from './mail-server.ts';
import { addPeople, askFor, fieldOf, fromElsewhere, idOfStored, OLD_PASSWORD } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
const config = { mail: server.mail, trusted_proxies: ['127.0.0.1'], sign_in: { one_time_codes: true } };

/** Emails with a link, to one mailbox. */
const linksTo = (address: string) => server.sentTo(address).filter(({ link }) => link !== undefined);
async function letterTo(address: string, count = 1) {
  await until(() => expect(linksTo(address)).toHaveLength(count));
  const [letter] = linksTo(address).slice(-1);
  if (letter === undefined) throw new Error('no email');
  return letter;
}

eachStore(
  'a forgotten password',
  (world) => {
    beforeAll(async () => {
      server.letters.splice(0);
      await addPeople(world());
    });

    const choose = async (link: string, password: string) => {
      const browser = newBrowser(world());
      const csrf = fieldOf((await browser.open(link)).text, 'csrf');
      return browser.open(link, {
        method: 'POST',
        body: new URLSearchParams({ csrf, password, again: password }),
      });
    };

    it('is answered alike for every name (ML-01), and who is there and may have one gets an email (ML-02, T12)', async () => {
      const known = 'anna ben dora eve nick alice'.split(' ');
      const names = [...known, 'nobody', 'bob@example.com', 'x'.repeat(300)];
      const answers = [];
      for (const name of names) {
        const { status, text, headers } = await askFor(world(), name);
        answers.push([status, text, headers.get('location')]);
      }
      const [first] = answers;
      expect(first).toMatchObject([303, expect.any(String), `${world().issuer}/forgot/sent`]);
      expect(answers).toEqual(answers.map(() => first));
      await until(() => expect(server.letters).toHaveLength(4));
      await until(async () => expect(await world().openedStore.documents.list('mail')).toEqual([]));
      const subjects = server.letters
        .map(({ to, headers }) => `${to.join()}: ${headers['subject']}`)
        .toSorted();
      expect(subjects).toEqual([
        'alice@example.com: Your password for Postern',
        expect.stringContaining('anna@acme.example: Reset your password for Postern'),
        'bob@example.com: Your password for Postern',
        'dora@acme.example: Your invitation to Postern',
      ]);
      expect(server.sentTo('alice@example.com')[0]?.link).toBeUndefined();
    });

    it('goes to each user who shares the address that was typed, and is theirs alone (ML-21)', async () => {
      await askFor(world(), ' TEAM@acme.example');
      const named = () => [...linksTo('Team@acme.example'), ...linksTo('team@acme.example')];
      await until(() => expect(named()).toHaveLength(2));
      const [ofSue, ofTom] = ['sue', 'tom'].map((name) => named().find(({ text }) => text.includes(name)));
      expect(ofSue?.link).not.toBe(ofTom?.link);
      await choose(ofSue?.link ?? '', 'a-new-password-of-sue');
      expect((await tryPassword(world(), 'tom', 'a-new-password-of-sue')).status).toBe(401);
      expect((await tryPassword(world(), 'tom', OLD_PASSWORD)).status).toBe(200);
    });

    it('finds users by the address that they have now (ML-02, T11)', async () => {
      const users = createStoredUsers(world().openedStore);
      const ids = async (address: string) =>
        (await users.findBySort('mail-addresses', address, 5)).map(({ id }) => id);
      const ben = idOfStored('ben');
      const toEmail = (claims: object) =>
        users.setGranted(ben, (before) => ({ ...before, claims: { ...claims } }));
      await toEmail({ email: 'Ben@acme.example' });
      expect(await ids('ben@acme.example')).toEqual([ben]);
      await toEmail({ email: 'ben@other.example' });
      expect([await ids('ben@acme.example'), await ids('ben@other.example')]).toEqual([[], [ben]]);
      // An index entry alone sends no email: the user record decides.
      await world().openedStore.index.put('mail-addresses', 'anna@acme.example', ben);
      expect(await ids('anna@acme.example')).toEqual([idOfStored('anna')]);
      await toEmail({ email: 'ben@other.example', email_verified: false });
      expect(await ids('ben@other.example')).toEqual([]);
    });

    it('has headers that no program answers, one recipient without a name (T16), and text beside the HTML', async () => {
      const { raw, headers, to, text, link } = await letterTo('anna@acme.example');
      expect(to).toEqual(['anna@acme.example']);
      expect(headers).toMatchObject({
        from: '"Acme sign-in" <no-reply@acme.example>',
        to: 'anna@acme.example',
        'auto-submitted': 'auto-generated',
        'message-id': expect.stringMatching(/^<[\da-f]{32}@acme\.example>$/),
      });
      expect(raw).toMatch(/multipart\/alternative/);
      expect(raw).not.toMatch(/<(?:img|script|link)\b/i);
      expect(text).toContain('anna');
      expect(link).toContain(`${world().issuer}/interaction/link/`);
    });

    it('is over with the first use of its link, by POST alone (ML-07, T14); links of an operator end with it (ML-06, T2)', async () => {
      const { link = '' } = await letterTo('anna@acme.example');
      const byOperator = await newLink(world(), 'reset', idOfStored('anna'));
      await askFor(world(), 'ANNA');
      const { link: second = '' } = await letterTo('anna@acme.example', 2);
      const all = [link, second, `${world().issuer}/interaction/link/${byOperator}`];
      const statuses = async () =>
        Promise.all(all.map(async (one) => (await newBrowser(world()).request(one)).status));
      await newBrowser(world()).request(link, { method: 'HEAD' });
      for (let times = 0; times < 5; times += 1) expect(await statuses()).toEqual([200, 200, 200]);
      const done = await choose(link, 'a-new-password-of-anna');
      expect(done.url).toBe(`${world().issuer}/interaction/done/reset`);
      expect(await statuses()).toEqual([410, 410, 410]);
      expect((await tryPassword(world(), 'anna', OLD_PASSWORD)).status).toBe(401);
    });

    it('keeps the second factor (ML-09)', async () => {
      const app = newAuthenticatorApp('alice');
      const factors = await factorsOf(world());
      await factors.change(idOfStored('lou'), () => ({ oneTimeCode: app.factor }));
      await askFor(world(), 'lou');
      const { link = '' } = await letterTo('lou@acme.example');
      await choose(link, 'a-new-password-of-lou');
      const page = await tryPassword(world(), 'lou', 'a-new-password-of-lou');
      expect(page.text).toContain('name="code"');
      expect((await factors.get(idOfStored('lou'))).oneTimeCode).toBeDefined();
    });

    it('sends links that begin with the issuer, whatever a request says (ML-10)', async () => {
      const headers = {
        ...fromElsewhere().headers,
        'x-forwarded-host': 'evil.example',
        forwarded: 'host=evil.example',
      };
      await askFor(world(), 'anna', { headers });
      const letter = await letterTo('anna@acme.example', 3);
      expect(letter.raw).not.toContain('evil.example');
      expect(letter.link).toContain(world().issuer);
    });

    it('sends one mailbox three in an hour (T1)', async () => {
      await askFor(world(), 'anna');
      await until(() =>
        expect(
          world()
            .recorded.audit('mail')
            .filter(({ reason }) => reason === 'limited'),
        ).toHaveLength(1),
      );
      expect(linksTo('anna@acme.example')).toHaveLength(3);
    });

    it('is recorded as limited once in a while, however often strangers ask (T9)', async () => {
      for (let times = 0; times < 4; times += 1) await askFor(world(), 'anna');
      await until(async () => expect(await world().openedStore.documents.list('mail')).toEqual([]));
      const rows = world()
        .recorded.audit('mail')
        .filter(({ reason }) => reason === 'limited');
      expect(rows.length).toBeLessThan(4);
    });

    it('loses no notice by tries that fail (T8)', async () => {
      const jobs = createMailJobs(world().openedStore);
      const notice = { what: 'password_changed', note: { what: 'password_changed', at: 0 } } as const;
      const mailbox = () => server.sentTo('lou@acme.example').filter(({ link }) => link === undefined);
      const before = mailbox().length;
      server.faults.auth = '535 rotated';
      await jobs.add(Array.from({ length: 18 }, () => newJob({ ...notice, accountId: idOfStored('lou') })));
      await until(async () => {
        for (const { job } of await jobs.list()) expect([job.failures, job.isHeld]).toEqual([1, false]);
      });
      delete server.faults.auth;
      for (const one of await jobs.list()) await jobs.change(one, { notBefore: Date.now() });
      await until(async () => expect(await jobs.list()).toEqual([]));
      expect(mailbox().length - before).toBeGreaterThanOrEqual(18);
    });

    it('refuses forms that are not its own (ML-19)', async () => {
      const from = fromElsewhere().headers;
      const send = (form: string, headers: Record<string, string> = {}) =>
        post(world(), '/forgot', form, { ...from, ...headers });
      expect((await send('username=anna', { origin: 'https://evil.example' })).status).toBe(403);
      expect((await send('username=anna')).status).toBe(403);
      expect((await send('{}', { 'content-type': 'application/json' })).status).toBe(415);
      const browser = newBrowser(world());
      const csrf = fieldOf((await browser.request(`${world().issuer}/forgot`)).text, 'csrf');
      const twice = `csrf=${csrf}&username=anna&username=ben`;
      const init = { method: 'POST', body: new URLSearchParams(twice), headers: from };
      expect((await browser.request(`${world().issuer}/forgot`, init)).status).toBe(400);
      const queued = await world().openedStore.documents.list('mail');
      expect(queued.filter(({ value }) => value.includes('"forgot"'))).toEqual([]);
    });

    it('can be asked for five times in ten minutes by one address (ML-05)', async () => {
      const from = fromElsewhere();
      for (let times = 0; times < 5; times += 1)
        expect((await askFor(world(), 'zoe', from)).status).toBe(303);
      const refused = await askFor(world(), 'zoe6', from);
      expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true]);
      expect(refused.text).toContain('<h1>');
      expect(JSON.stringify(await world().openedStore.documents.list('mail'))).not.toContain('zoe6');
    });

    it('leaves no token, link or text in a copy of the store, and no job with a typed name (ML-18)', async () => {
      await until(async () => expect(await world().openedStore.documents.list('mail')).toEqual([]));
      const copy = await dumpOf(world());
      expect(copy).toContain(idOfStored('anna'));
      const letters = server.letters.filter(({ link }) => link !== undefined);
      expect(letters.length).toBeGreaterThan(5);
      for (const { token, text } of letters)
        expect([copy.includes(token), copy.includes(text.slice(0, 40))]).toEqual([false, false]);
    });

    it('waits while strangers ask for too much, which delays no other email (T1)', async () => {
      const limits = await limitsOf(world());
      const asked = Array.from({ length: 500 }, () => limits.quotaOf('mail.asked', ''));
      await Promise.allSettled(asked.map((quota) => limits.takeInStore({}, [quota])));
      await askFor(world(), 'dora');
      const jobs = createMailJobs(world().openedStore);
      await until(async () =>
        expect(await jobs.list()).toMatchObject([{ job: { failures: 1, isHeld: false } }]),
      );
      await jobs.add([newJob({ what: 'link', accountId: idOfStored('dora') })]);
      await letterTo('dora@acme.example', 2);
      await until(async () => expect(await jobs.list()).toHaveLength(1));
    });
  },
  { config },
);

anyStore(
  'a mail server that hangs',
  (world) => {
    it('does not hold up the end of the service', async () => {
      await addPeople(world());
      server.seen.splice(0);
      let release = () => {};
      server.faults.hold = new Promise<void>((resolve) => (release = resolve));
      await askFor(world(), 'anna');
      await until(() => expect(server.seen).toContain('data'));
      const start = performance.now();
      await world().server.stop();
      expect(performance.now() - start).toBeLessThan(10_000);
      release();
      delete server.faults.hold;
    });
  },
  { config },
);

anyStore('without mail', (world) => {
  it('there is no page, link or form of it, and nothing else is different', async () => {
    const paths = ['/forgot', '/forgot/sent', '/sign-up', '/sign-up/sent', `/email/${'A'.repeat(43)}`];
    const discovery = () => get(world(), '/.well-known/openid-configuration').then(({ body }) => body);
    const before = await discovery();
    const mail = { ...server.mail, sign_up: { domains: 'any' } };
    for (const [settings, found, expected] of [
      [{}, [], [404, 404, 404, 404, 404, 404]],
      [{ account: true }, [], [404, 404, 404, 404, 404, 404]],
      [{ mail: server.mail }, ['/forgot'], [200, 200, 404, 404, 410, 404]],
      [{ account: true, mail }, ['/forgot', '/sign-up'], [200, 200, 200, 200, 410, 403]],
      [{}, [], [404, 404, 404, 404, 404, 404]],
    ] as const) {
      await world().reload(settings);
      const { text } = (await begin(world())).page;
      expect(paths.filter((path) => text.includes(`"${world().issuer}${path}"`))).toEqual(found);
      const pages = paths.map((path) => get(world(), path, { accept: 'text/html' }));
      const answers = await Promise.all([...pages, post(world(), '/account/email', 'email=a')]);
      expect(answers.map(({ status }) => status)).toEqual(expected);
      expect(await discovery()).toEqual(before);
    }
  });
});
