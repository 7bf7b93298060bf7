// Notices: their occasions, their language and their frequency.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composeLetter } from '../../../src/features/mail/letter.ts';
import { checkViews } from '../../../src/features/view-tools/check-views.ts';
import { createViews } from '../../../src/views/views.ts';
import type { Browser } from '../../world/browser.ts';
import { until } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, newBrowser } from '../../world/person.ts';
import { tempFolder } from '../../world/temp-folder.ts';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { startMailServer, toLetter } from './mail-server.ts';
import { addPeople, askFor, idOfStored, OLD_PASSWORD } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());

describe('notices', () => {
  const world = useWorld({ config: { mail: server.mail, account: true } });
  beforeAll(() => addPeople(world()));

  async function signIn(browser: Browser): Promise<void> {
    const { page } = await begin(world(), { prompt: 'login' }, { browser });
    const after = await browser.submit(page, '/login', { username: 'anna', password: OLD_PASSWORD });
    expect(after.text).not.toContain('name="password"');
  }
  const quiet = () =>
    until(async () => {
      const { documents } = world().openedStore;
      expect([...(await documents.list('mail')), ...(await documents.list('user-events'))]).toEqual([]);
    });

  it('of a new browser: none of the first sign-in, nor of a browser that is known (ML-22)', async () => {
    const [known, fresh] = [newBrowser(world()), newBrowser(world())];
    await signIn(known);
    await signIn(known);
    await quiet();
    expect(server.letters).toEqual([]);
    await signIn(fresh);
    await until(() => expect(server.letters).toHaveLength(1));
    await signIn(fresh);
    await quiet();
    const [letter] = server.letters;
    expect(server.letters).toHaveLength(1);
    expect(letter?.text).toContain('anna hat sich mit einem neuen Browser angemeldet.');
    expect(letter?.text).toMatch(/\d{4}.* UTC\r?\n(?:.*\n)?127\.0\.0\.0\/24\r?\n/);
    expect(letter?.text).toContain(`${world().issuer}/account`);
  });

  it('are at most twenty a day (ML-22)', async () => {
    server.letters.splice(0);
    const jobs = createMailJobs(world().openedStore);
    const note = { what: 'new_browser', at: 1, place: { browser: '', network: '' } };
    const all = Array.from(
      { length: 25 },
      (_, index) => ({ id: `n${index}`, what: 'new_browser', accountId: idOfStored('anna'), note }) as const,
    );
    await jobs.add(all);
    await quiet();
    // One was sent above.
    expect(server.letters).toHaveLength(19);
    // One record for all within ten seconds.
    const limited = world()
      .recorded.audit('mail')
      .find(({ reason }) => reason === 'limited');
    expect(limited).toMatchObject({ outcome: 'failure', account_id: idOfStored('anna') });
  });

  it('of one email that breaks delay no other', async () => {
    server.letters.splice(0);
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

describe("an operator's layout (ML-24)", () => {
  const folder = tempFolder();
  const branding = { name: 'Acme <b>' };
  const link = 'https://id.example/interaction/link/abc';
  function compose(template: string) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'letter.ejs'), template);
    const problems: string[] = [];
    const { pages } = createViews({
      overrideFolder: folder,
      branding,
      issuer: 'https://id.example',
      onProblem: ({ file }) => problems.push(file),
    });
    const model = { kind: 'reset', username: 'anna<script>', link } as const;
    return {
      problems,
      ...composeLetter({ pages, config: { branding, issuer: 'https://id.example' } }, model, 'en'),
    };
  }

  it('that throws is replaced by ours, and its text is escaped (ML-12)', () => {
    const { html = '', problems, text } = compose('<%= nope.nope %>');
    expect(problems).toEqual(['letter.ejs']);
    expect(html).toContain('anna&lt;script&gt;');
    expect(html).not.toContain('<script');
    expect(html).toContain(link);
    expect(text).toContain(link);
    expect(checkViews({ overrideFolder: folder, branding }).map(({ file }) => file)).toContain('letter.ejs');
  });

  it('that lost the link is left out', () => {
    const { html, text } = compose('<p>Hello</p>');
    expect([html, text.includes(link)]).toEqual([undefined, true]);
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
