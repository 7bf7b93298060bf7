// Forgotten passwords over HTTP and SMTP: one answer for every name, and an email to the user concerned.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMailJobs, newJob } from '../../../src/features/mail/jobs.ts';
import type { Store } from '../../../src/store/store.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { fieldOf } from '../../world/browser.ts';
import { expireCertificate, makeCertificate } from '../../world/certificate.ts';
import { MINUTE, moveClock, standingClock, until } from '../../world/clock.ts';
import { dumpOf } from '../../world/dump.ts';
import { anyStore, eachStore } from '../../world/each-store.ts';
import { isAlive } from '../../world/expect-act.ts';
import { newLink } from '../../world/one-time-link.ts';
import { begin, newBrowser, tryPassword } from '../../world/person.ts';
import { raw } from '../../world/raw.ts';
import { formPost, get, post } from '../../world/requests.ts';
import { newAuthenticatorApp, factorsOf } from '../../world/second-factors.ts';
import { limitsOf } from '../../world/stored.ts';
import { testFolder } from '../../world/temp-folder.ts';
import { startClearServer, startMailServer } from './mail-server.ts';
import {
  addPeople,
  askFor,
  fromElsewhere,
  idOfStored,
  OLD_PASSWORD,
  openLink,
  postLink,
  quiet,
  retryNow,
  signInWith,
  statusOf,
  untilTried,
} from './people.ts';

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

/** The calls of the store, without those for limits and of background work. The sender waits while `held` isn't over. */
const calls: string[] = [];
let held: Promise<unknown> = Promise.resolve();
type Call = (...args: readonly unknown[]) => Promise<unknown>;
function noteCalls(store: Store): Store {
  for (const part of ['records', 'documents', 'index'] as const)
    for (const [name, call] of Object.entries(store[part]) as [string, Call][]) {
      const noted: Call = async (...args) => {
        if (name === 'list' && args[0] === 'mail') await held;
        const { kind = args[0] } = args[0] as { kind?: unknown };
        if (name !== 'list' && kind !== 'index-marks') calls.push(`${part}.${name} ${String(kind)}`);
        return call(...args);
      };
      Object.assign(store[part], { [name]: noted });
    }
  return store;
}

eachStore(
  'a forgotten password',
  (world) => {
    beforeAll(async () => {
      server.letters.splice(0);
      await addPeople(world());
    });

    const choose = (link: string, password: string) => postLink(world(), link, { password, again: password });
    const limited = () =>
      world()
        .recorded.audit('mail')
        .filter(({ reason }) => reason === 'limited');

    it('is answered alike for every name, before anybody looks it up (ML-01); who is there and may have one gets an email (ML-02, T5, T12)', async () => {
      const known = 'anna ben dora eve nick oz pia alice'.split(' ');
      let release = () => {};
      held = new Promise<void>((resolve) => (release = resolve));
      server.seen.splice(0);
      const answers = [];
      for (const name of [...known, 'nobody', 'bob@example.com', 'x'.repeat(300)]) {
        calls.splice(0);
        const { status, text, headers } = await askFor(world(), name);
        answers.push([status, text, headers.get('location'), ...calls]);
      }
      const seen = [...server.seen, ...server.letters];
      release();
      const [first = []] = answers;
      expect(first).toEqual(expect.arrayContaining([303, `${world().issuer}/forgot/sent`]));
      expect(first.slice(-2)).toEqual(['records.save MailTyped', 'documents.put mail']);
      expect(first.join()).not.toMatch(/people|usernames|mail-addresses/);
      expect(answers).toEqual(answers.map(() => first));
      expect(seen).toEqual([]);
      await quiet(world());
      const subjects = server.letters.map(({ to, headers }) => `${to.join()}: ${headers['subject']}`);
      expect(subjects.toSorted()).toEqual([
        'alice@example.com: Your password for Postern',
        expect.stringContaining('anna@acme.example: Reset your password for Postern'),
        'bob@example.com: Your password for Postern',
        'dora@acme.example: Your invitation to Postern',
        'pia@acme.example: Reset your password for Postern',
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
      const { raw: sent, headers, to, text, link } = await letterTo('anna@acme.example');
      expect(to).toEqual(['anna@acme.example']);
      expect(headers).toMatchObject({
        from: '"Acme sign-in" <no-reply@acme.example>',
        to: 'anna@acme.example',
        'auto-submitted': 'auto-generated',
        'message-id': expect.stringMatching(/^<[\da-f]{32}@acme\.example>$/),
      });
      expect(sent).toMatch(/multipart\/alternative/);
      expect(sent).not.toMatch(/<(?:img|script|link)\b/i);
      expect(text).toContain('anna');
      expect(link).toContain(`${world().issuer}/interaction/link/`);
    });

    it('is over with the first use of its link, by POST alone (ML-07, T14); links of an operator end with it (ML-06, T2)', async () => {
      const { link = '' } = await letterTo('anna@acme.example');
      const byOperator = await newLink(world(), 'reset', idOfStored('anna'));
      await askFor(world(), 'ANNA');
      const { link: second = '' } = await letterTo('anna@acme.example', 2);
      const all = [link, second, `${world().issuer}/interaction/link/${byOperator}`];
      const statuses = () => Promise.all(all.map((one) => statusOf(world(), one)));
      await statusOf(world(), link, 'HEAD');
      for (let times = 0; times < 5; times += 1) expect(await statuses()).toEqual([200, 200, 200]);
      const [form, other] = [await openLink(world(), link), await openLink(world(), second)];
      const use = ({ post: send }: typeof form, password: string) => send({ password, again: password });
      const { headers } = await use(form, 'a-new-password-of-anna');
      expect(headers.get('location')).toBe(`${world().issuer}/interaction/done/reset`);
      for (const late of [form, other]) expect((await use(late, 'a-late-password-of-anna')).status).toBe(410);
      expect(await statuses()).toEqual([410, 410, 410]);
      for (const password of [OLD_PASSWORD, 'a-late-password-of-anna', 'a-new-password-of-anna'])
        expect((await tryPassword(world(), 'anna', password)).status).toBe(/new/.test(password) ? 200 : 401);
    });

    it('keeps the second factor, and ends the sessions of before (ML-09)', async () => {
      const [lou, browser, factors] = [idOfStored('lou'), newBrowser(world()), await factorsOf(world())];
      await signInWith(world(), browser, 'pia');
      await factors.change(lou, () => ({ oneTimeCode: newAuthenticatorApp('alice').factor }));
      const before = await factors.get(lou);
      expect(await isAlive(world(), { session: browser })).toBe(true);
      for (const name of ['lou', 'pia']) await askFor(world(), name);
      await choose((await letterTo('lou@acme.example')).link ?? '', 'a-new-password-of-lou');
      await choose((await letterTo('pia@acme.example', 2)).link ?? '', 'a-new-password-of-pia');
      expect(await isAlive(world(), { session: browser })).toBe(false);
      const page = await tryPassword(world(), 'lou', 'a-new-password-of-lou');
      expect(page.text).toContain('name="code"');
      expect(await factors.get(lou)).toEqual(before);
    });

    it('sends one mailbox three in half an hour (T1); what strangers ask for fills no list (T9)', async () => {
      await quiet(world());
      const before = world().recorded.auditLines.length;
      for (let times = 0; times < 5; times += 1) await askFor(world(), `nobody${times}@acme.example`);
      await quiet(world());
      expect(world().recorded.auditLines).toHaveLength(before);
      for (let times = 0; times < 6; times += 1) await askFor(world(), 'anna');
      await quiet(world());
      expect(linksTo('anna@acme.example')).toHaveLength(3);
      // One for all within ten seconds.
      expect([1, 2]).toContain(limited().length);
    });

    it('loses no notice by tries that fail (T8), and reads nothing that was typed for it', async () => {
      const notice = { what: 'password_changed', note: { what: 'password_changed', at: 0 } } as const;
      const mailbox = () => server.sentTo('lou@acme.example').filter(({ link }) => link === undefined);
      const before = mailbox().length;
      server.faults.auth = '535 rotated';
      calls.splice(0);
      await createMailJobs(world().openedStore).add(
        Array.from({ length: 18 }, () => newJob({ ...notice, accountId: idOfStored('lou') })),
      );
      await untilTried(world(), 18);
      delete server.faults.auth;
      await retryNow(world());
      await quiet(world());
      expect(mailbox().length - before).toBeGreaterThanOrEqual(18);
      expect(calls).not.toContain('records.find MailTyped');
    });

    it('refuses forms that are not its own (ML-19)', async () => {
      const from = fromElsewhere().headers;
      const send = (form: string, headers: Record<string, string> = {}) =>
        post(world(), '/forgot', form, { ...from, ...headers });
      expect((await send('username=anna', { origin: 'https://evil.example' })).status).toBe(403);
      expect((await send('username=anna')).status).toBe(403);
      expect((await send('{}', { 'content-type': 'application/json' })).status).toBe(415);
      const [browser, url] = [newBrowser(world()), `${world().issuer}/forgot`];
      const twice = `csrf=${fieldOf(await browser.request(url), 'csrf')}&username=anna&username=ben`;
      expect((await browser.post(url, twice, from)).status).toBe(400);
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
      await quiet(world());
      const copy = await dumpOf(world());
      expect(copy).toContain(idOfStored('anna'));
      const letters = server.letters.filter(({ link }) => link !== undefined);
      expect(letters.length).toBeGreaterThan(5);
      for (const { token, text } of letters)
        expect([copy.includes(token), copy.includes(text.slice(0, 40))]).toEqual([false, false]);
    });
  },
  { config, handStore: noteCalls },
);

eachStore(
  'email that strangers ask for too much of',
  (world) => {
    standingClock();
    beforeAll(() => addPeople(world()));

    it('is delayed, not lost, and delays no other email (T1)', async () => {
      server.letters.splice(0);
      const limits = await limitsOf(world());
      const asked = Array.from({ length: 500 }, () => limits.quotaOf('mail.asked', ''));
      await Promise.allSettled(asked.map((quota) => limits.takeInStore({}, [quota])));
      await askFor(world(), 'dora');
      await untilTried(world(), 1);
      const jobs = createMailJobs(world().openedStore);
      await jobs.add([newJob({ what: 'link', accountId: idOfStored('dora') })]);
      await letterTo('dora@acme.example');
      await until(async () => expect(await jobs.list()).toMatchObject([{ job: { lastError: 'delayed' } }]));
      moveClock(10 * MINUTE);
      await letterTo('dora@acme.example', 2);
    });

    it('never leaves a mailbox without a link that works (T1)', async () => {
      server.letters.splice(0);
      for (let times = 1; times <= 12; times += 3) {
        for (const _ of [1, 2, 3, 4]) await askFor(world(), 'pia');
        await quiet(world());
        expect(await statusOf(world(), (await letterTo('pia@acme.example', times + 2)).link ?? '')).toBe(200);
        moveClock(30 * MINUTE);
      }
    });
  },
  { config },
);

anyStore(
  'email of an issuer with a path',
  (world) => {
    beforeAll(() => addPeople(world()));

    it('has links that begin with the issuer, whatever a request says (ML-10)', async () => {
      server.letters.splice(0);
      const [browser, url] = [newBrowser(world()), `${world().issuer}/forgot`];
      const csrf = fieldOf(await browser.request(url), 'csrf');
      const { headers, ...request } = formPost({ csrf, username: 'anna' });
      const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
      const host = 'evil.example';
      const forged = { host, 'x-forwarded-host': host, forwarded: `host=${host}` };
      const target = new URL(url).pathname;
      const answer = await raw(world().base, {
        ...request,
        target,
        headers: { ...headers, ...forged, cookie },
      });
      expect([answer.status, answer.headers['location']]).toEqual([303, `${url}/sent`]);
      const { raw: sent, text, link = '' } = await letterTo('anna@acme.example');
      expect(sent).not.toContain(host);
      for (const [found] of text.matchAll(/https?:\S+/g)) expect(`${found}/`).toContain(`${world().issuer}/`);
      expect((await openLink(world(), link)).text).toContain('name="again"');
    });

    it('waits for a certificate that expired, and while STARTTLS fails, with one log line that says what to do (ML-13)', async () => {
      const folder = testFolder();
      const file = await makeCertificate(folder, 'localhost');
      await expireCertificate(folder);
      const [key, cert] = ['tls.key', 'tls.crt'].map((name) => readFileSync(path.join(folder, name), 'utf8'));
      const expired = await startMailServer({ key, cert });
      const clear = await startClearServer({ STARTTLS: '454 4.7.0 TLS not available' });
      const lines = () => world().recorded.log.filter((line) => line.includes('could not send an email'));
      const advice = expect.stringContaining('renew its certificate') as string;
      for (const [to, mail, detail] of [
        ['lou', { ...expired.mail, ca: `file:${file}` }, 'certificate has expired'],
        ['dora', { ...server.mail, server: clear.server }, expect.stringContaining('454 4.7.0') as string],
      ] as const) {
        const before = lines().length;
        await world().reload({ ...config, mail });
        await askFor(world(), to);
        await until(() => expect(lines()).toHaveLength(before + 1));
        expect(JSON.parse(lines()[before] ?? '')).toMatchObject({ reason: 'tls', detail, advice });
        await untilTried(world(), 1);
        await world().reload(config);
        await retryNow(world());
        await letterTo(`${to}@acme.example`);
      }
      expect(expired.seen.filter((what) => what !== 'connect')).toEqual([]);
      expect(clear.lines.join()).toMatch(/^EHLO \S+,STARTTLS$/);
      await expired.stop();
      clear.stop();
    });

    it('does not hold up the end of the service while the mail server hangs', async () => {
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
  { config, issuer: 'http://localhost:4000/auth' },
);

anyStore('without mail', (world) => {
  it('there is no page, link or form of it, and nothing else is different', async () => {
    const places = ['/forgot', '/forgot/sent', '/sign-up', '/sign-up/sent', `/email/${'A'.repeat(43)}`];
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
      expect(places.filter((one) => text.includes(`"${world().issuer}${one}"`))).toEqual(found);
      const pages = places.map((one) => get(world(), one, { accept: 'text/html' }));
      const answers = await Promise.all([...pages, post(world(), '/account/email', 'email=a')]);
      expect(answers.map(({ status }) => status)).toEqual(expected);
      expect(await discovery()).toEqual(before);
    }
  });
});
