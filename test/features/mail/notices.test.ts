// Notices: their occasions, their language and their frequency.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { composeLetter } from '../../../src/features/mail/letter.ts';
import { sendMessage } from '../../../src/features/mail/transport.ts';
import { checkViews } from '../../../src/features/view-tools/check-views.ts';
import { createViews } from '../../../src/views/views.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import EN from '../../../views/locales/en.json' with { type: 'json' };
import { openAccount } from '../../world/account-page.ts';
import { fieldOf } from '../../world/browser.ts';
import { HOUR, moveClock, standingClock, until } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, newBrowser, tryPassword } from '../../world/person.ts';
import { codeFor, factorsOf } from '../../world/second-factors.ts';
import { limitsOf } from '../../world/stored.ts';
import { putFile, tempFolder } from '../../world/temp-folder.ts';
import { GENEROUS, PEOPLE } from '../../world/world.ts';
import { startMailServer, toLetter } from './mail-server.ts';
import { addPeople, askFor, idOfStored, OLD_PASSWORD, quiet, signInWith } from './people.ts';

const TEXTS: Readonly<Record<string, string>> = EN;
const server = await startMailServer();
afterAll(() => server.stop());

describe('notices', () => {
  const world = useWorld({ config: { mail: server.mail, account: true } });
  beforeAll(() => addPeople(world()));

  it('of a new browser: none of the first sign-in, nor of a browser that is known (ML-22)', async () => {
    const [known, fresh] = [newBrowser(world()), newBrowser(world())];
    const signIn = (browser: typeof known) =>
      signInWith(world(), browser, 'anna', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' });
    await signIn(known);
    await signIn(known);
    await quiet(world());
    expect(server.letters).toEqual([]);
    await signIn(fresh);
    await until(() => expect(server.letters).toHaveLength(1));
    await signIn(fresh);
    await quiet(world());
    const [{ text } = { text: '' }] = server.letters;
    expect(server.letters).toHaveLength(1);
    expect(text).toContain('anna hat sich mit einem neuen Browser angemeldet.');
    expect(text).toMatch(/\d{4}.* UTC\r?\nFirefox auf Linux\r?\n127\.0\.0\.0\/24\r?\n/);
    expect(text).toContain(`${world().issuer}/account`);
    // No email names the app (ML-12).
    expect(text).not.toContain('Web app');
  });

  it("that can't be stored are an error in the log, and change no page of what is done", async () => {
    const [browser, username] = [newBrowser(world()), 'lou'];
    const page = await openAccount(world(), browser, { username, password: OLD_PASSWORD });
    const { documents } = world().openedStore;
    const put = documents.put.bind(documents);
    documents.put = async (collection, id, value, version) =>
      value.includes('"noted"')
        ? Promise.reject(new TypeError('a bug'))
        : put(collection, id, value, version);
    const fields = { current: OLD_PASSWORD, password: 'river otter jazz 47', again: 'river otter jazz 47' };
    const done = await browser.submit(page, '/password', fields);
    documents.put = put;
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('Your password was changed.')]);
    const logged = world().recorded.log.filter((line) => line.includes('its user could not be notified'));
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 50, err: { message: 'a bug' } },
    ]);
    await quiet(world());
  });

  it('are at most twenty a day (ML-22)', async () => {
    server.letters.splice(0);
    const jobs = createMailJobs(world().openedStore);
    const note = { what: 'new_browser', at: 1, place: { browser: '', network: '' } };
    const job = { what: 'new_browser', accountId: idOfStored('anna'), note } as const;
    await jobs.add(Array.from({ length: 25 }, (_, index) => ({ id: `n${index}`, ...job })));
    await quiet(world());
    // One was sent above.
    expect(server.letters).toHaveLength(19);
    // Whoever knows the password can cause these, and silences no other notice by it (T1).
    const changed = { what: 'password_changed', accountId: idOfStored('anna') } as const;
    await jobs.add([{ id: 'changed', ...changed, note: { ...note, what: 'password_changed' } }]);
    await until(() => expect(server.letters).toHaveLength(20));
    // One record for all within ten seconds.
    const limited = world()
      .recorded.audit('mail')
      .find(({ reason }) => reason === 'limited');
    expect(limited).toMatchObject({ outcome: 'failure', account_id: idOfStored('anna') });
  });

  it('of one email that breaks delay no other, and change no page (ML-15)', async () => {
    const signInPage = async () => (await begin(world())).page.text.replaceAll(/[\w-]{16,}/g, '');
    const before = await signInPage();
    server.letters.splice(0);
    server.seen.splice(0);
    server.faults.rcpt = '550 no such user';
    const jobs = createMailJobs(world().openedStore);
    await jobs.add([{ id: 'refused', what: 'link', accountId: idOfStored('dora') }]);
    await until(() =>
      expect(world().recorded.audit('mail').at(-1)).toMatchObject({
        outcome: 'failure',
        action: 'link',
        reason: 'refused',
        account_id: idOfStored('dora'),
      }),
    );
    delete server.faults.rcpt;
    await quiet(world());
    expect(server.seen).toEqual(['connect', 'auth']);
    expect(await signInPage()).toBe(before);
    await jobs.add([{ id: 'right', what: 'link', accountId: idOfStored('lou') }]);
    await until(() => expect(server.sentTo('lou@acme.example')).toHaveLength(1));
    expect(world().recorded.log.some((line) => line.includes('gave up sending an email'))).toBe(true);
    // The email is removed from the store a moment after the server has it.
    await until(async () => {
      const metrics = await (await fetch(`${world().management}/metrics`)).text();
      expect(metrics).toMatch(/postern_mail_total\{kind="link",outcome="refused"\} [1-9]/);
      expect(metrics).toMatch(/postern_mail_waiting 0\n/);
    });
  });
});

describe('notices of what a user does, and of what a stranger tries', () => {
  const sign_in = { one_time_codes: true, recovery_codes: 10, enrolment: 'self' };
  const world = useWorld({ config: { ...GENEROUS, mail: server.mail, account: true, sign_in } });
  standingClock();
  beforeAll(() => addPeople(world()));

  const subjectsTo = (address: string) => server.sentTo(address).map(({ headers }) => headers['subject']);
  const subjectOf = (kind: string) => TEXTS[`mail.${kind}.subject`]?.replace('{{name}}', 'Postern');
  async function untilSent(address: string, kinds: readonly string[]) {
    const expected = new Set(kinds.map(subjectOf));
    await until(() => expect(new Set(subjectsTo(address))).toEqual(expected));
  }
  /** Returns the browser and the page for the second factor. */
  async function reachStep(password: string) {
    const { browser, page } = await begin(world(), { prompt: 'login' });
    return { browser, page: await browser.submit(page, '/login', { username: 'lou', password }) };
  }

  it('has one for a new password, each change of factors, a used recovery code and guesses', async () => {
    server.letters.splice(0);
    const [lou, password] = ['lou@acme.example', 'a-new-password-of-lou'];
    const own = newBrowser(world());
    const account = await openAccount(world(), own, { username: 'lou', password: OLD_PASSWORD });
    await own.submit(account, '/password', { current: OLD_PASSWORD, password, again: password });
    const url = `${world().issuer}/account/factors`;
    const add = await own.open(`${url}?add=one_time_code`);
    const made = await own.submit(add, '/add', { code: codeFor(add), sealed: fieldOf(add, 'sealed') });
    const [recoveryCode = ''] = /[\dA-Z]{4}(?:-[\dA-Z]{4}){5}/.exec(made.text) ?? [];
    const first = ['password_changed', 'factor_added', 'recovery_codes_made'];
    await untilSent(lou, first);
    const lost = await reachStep(password);
    await lost.browser.submit(lost.page, '/code', { recovery_code: recoveryCode });
    await untilSent(lou, [...first, 'new_browser', 'recovery_code_used']);
    server.letters.splice(0);
    const factors = await factorsOf(world());
    await factors.change(idOfStored('lou'), ({ oneTimeCode }) => ({
      oneTimeCode: oneTimeCode && { ...oneTimeCode, failures: 79 },
    }));
    const guesser = await reachStep(password);
    await guesser.browser.submit(guesser.page, '/code', { code: '000000' });
    await untilSent(lou, ['codes_failed']);
    await own.submit(await own.open(url), '/remove', { id: 'one-time-codes' });
    await untilSent(lou, ['codes_failed', 'factor_removed']);
  });

  it('has one for passwords that failed until the limit', async () => {
    const limits = await limitsOf(world());
    const { validAfter } = await createAccountStates(world().openedStore.documents).get(PEOPLE.alice);
    const attempt = { account: PEOPLE.alice, since: `0.${validAfter}.0`, exists: true, device: undefined };
    for (let count = 1; count < 80; count += 1) {
      moveClock(HOUR);
      await limits.takeSignInAttempt({ ...attempt, address: `203.0.${count}.7` });
    }
    moveClock(HOUR);
    await tryPassword(world(), 'alice', 'wrong');
    await untilSent('alice@example.com', ['passwords_failed']);
  });
});

describe("an operator's views (ML-24)", () => {
  const [issuer, link] = ['https://id.example', 'https://id.example/interaction/link/abc'];
  function compose(files: Readonly<Record<string, string>>, name = 'Acme', locale = 'en') {
    const overrideFolder = tempFolder();
    for (const [file, text] of Object.entries(files)) putFile(path.join(overrideFolder, file), text);
    const problems: string[] = [];
    const views = { overrideFolder, branding: { name } };
    const { pages } = createViews({ ...views, issuer, onProblem: ({ file }) => problems.push(file) });
    const model = { kind: 'reset', username: `anna<script>${name}`, link } as const;
    const letter = composeLetter({ pages, config: { ...views, issuer } }, model, locale);
    return { problems, faults: JSON.stringify(checkViews(views)), letter };
  }

  it('ours replace a layout that throws, and print every name as it is (ML-12)', async () => {
    const name = `Acme <b>\u202e\r\nBcc: x@evil.example\r\n\r\n${'long '.repeat(2000)}`;
    const { faults, letter, problems } = compose({ 'letter.ejs': '<%= nope.nope %>' }, name);
    expect([problems, faults]).toEqual([['letter.ejs'], expect.stringContaining('letter.ejs')]);
    expect(letter.html).toContain('anna&lt;script&gt;Acme &lt;b&gt;');
    expect(letter.html).not.toMatch(/<script|<b>/);
    server.letters.splice(0);
    await sendMessage(server.settings, { id: 'one', to: 'anna@acme.example', ...letter });
    const [sent] = server.letters;
    expect([sent?.to, sent?.link, sent?.headers['bcc']]).toEqual([['anna@acme.example'], link, undefined]);
    const names = 'auto-submitted content-type date from message-id mime-version subject to';
    expect(Object.keys(sent?.headers ?? {}).toSorted()).toEqual(names.split(' '));
  });

  it('without the link are left out, and `views check` says so', () => {
    const { faults, letter } = compose({ 'letter.ejs': '<p>Hello</p>' });
    expect([letter.html, letter.text.includes(link)]).toEqual([undefined, true]);
    expect(faults).toContain('"file":"letter.ejs","message":"does not print link: ');
  });

  it('may lack texts, which are then ours, as may placeholders, which `views check` names', () => {
    const texts = { 'mail.reset.subject': 'Ciao da {{name}}', 'mail.reset.after': 'Ciao {{who}}' };
    const { faults, letter } = compose({ 'locales/it.json': JSON.stringify(texts) }, 'Acme', 'it');
    expect(faults).toMatch(/locales\/it\.json[^}]*\{\{who\}\}/);
    expect(letter.subject).toBe('Ciao da Acme');
    for (const part of ['Use this link to choose a new password', link, 'Ciao {{who}}'])
      expect([letter.text, letter.html].map((text) => text?.includes(part))).toEqual([true, true]);
  });
});

describe('email to a folder, as docs/mail.md begins', () => {
  const world = useWorld({
    config: { mail: { from: 'no-reply@example.com', server: 'folder:mail' } },
  });
  beforeAll(() => addPeople(world()));

  it('is a file with a link that works', async () => {
    await askFor(world(), 'anna');
    const folder = path.join(world().folder, 'mail');
    await until(() =>
      expect(readdirSync(folder)).toEqual(
        ['eml', 'txt'].map((ending) => expect.stringMatching(`^[\\da-f]{32}\\.${ending}$`)),
      ),
    );
    const [file = '', plain = ''] = readdirSync(folder);
    const raw = readFileSync(path.join(folder, file), 'utf8').replaceAll(/\r?\n/g, '\r\n');
    const { link = '', headers } = toLetter([], raw);
    expect(headers['to']).toBe('anna@acme.example');
    // Not wrapped, so that it can be copied.
    expect(readFileSync(path.join(folder, plain), 'utf8')).toContain(`\n${link}\n`);
    expect((await newBrowser(world()).open(link)).text).toContain('name="again"');
  });
});
