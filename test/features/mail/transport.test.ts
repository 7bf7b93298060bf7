// Email over real SMTP: always with TLS, to one address, and the meaning of a server's answers.
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { probeServer } from '../../../src/features/mail/commands.ts';
import { mailAddress, parseSender, parseServer } from '../../../src/features/mail/feature.ts';
import { createSender } from '../../../src/features/mail/sender.ts';
import { sendMessage, toFailure } from '../../../src/features/mail/transport.ts';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { testFolder } from '../../world/temp-folder.ts';
import { startClearServer, startMailServer } from './mail-server.ts';

const servers = {
  right: await startMailServer(),
  implicit: await startMailServer({ secure: true }),
  plain: await startMailServer({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }),
  other: await startMailServer({}, 'other.example'),
};
type Name = keyof typeof servers;
afterAll(() => Promise.all(Object.values(servers).map((server) => server.stop())));
beforeEach(() => {
  for (const server of Object.values(servers)) {
    server.letters.splice(0);
    server.seen.splice(0);
  }
});

const MESSAGE = { id: 'one', to: 'anna@acme.example', subject: 'Subject', text: 'Text', html: '<p>Text</p>' };
/** Sends an email; resolves to the failure or the received email. */
const send = (name: Name, settings = {}, message = {}) =>
  sendMessage({ ...servers[name].settings, ...settings }, { ...MESSAGE, ...message }).then(
    () => servers[name].letters,
    toFailure,
  );

describe('an email', () => {
  it.each(['right', 'implicit'] as const)('is sent with TLS: %s', async (name) => {
    expect(await send(name)).toMatchObject([
      { to: ['anna@acme.example'], text: expect.stringContaining('Text') },
    ]);
  });

  it.each([
    ['a server without STARTTLS (T4)', 'plain', {}],
    ['a certificate that nobody trusts', 'right', { ca: undefined }],
    ['a certificate of another name', 'other', {}],
    ['a certificate that nobody trusts, from the start', 'implicit', { ca: undefined }],
  ] as const)('waits for %s, and nothing is said there (ML-13)', async (_, name, settings) => {
    expect(await send(name, settings)).toMatchObject({ reason: 'tls', mayPass: true });
    expect(servers[name].seen.filter((what) => what !== 'connect')).toEqual([]);
  });

  it.each(['454 4.7.0 TLS not available', '421 4.3.2 closing', '501 no parameters'])(
    'waits for a server that answers STARTTLS with %s, and nothing else is said there (ML-13)',
    async (answer) => {
      const { lines, server, stop } = await startClearServer({ STARTTLS: answer });
      const detail = expect.stringContaining(answer) as string;
      expect(await send('right', { server })).toEqual({ reason: 'tls', detail, mayPass: true });
      expect(lines.map((line) => line.split(' ', 1)[0])).toEqual(['EHLO', 'STARTTLS']);
      stop();
    },
  );

  it.each([
    ['auth', { auth: '535 5.7.8 wrong' }, 'auth', true],
    ['auth that fails for now (ML-13)', { auth: '454 4.7.0 later' }, 'auth', true],
    ['a busy server', { data: '451 later' }, 'busy', true],
    ['a full mailbox for now', { rcpt: '452 full' }, 'busy', true],
    ['greylisting', { rcpt: '450 4.2.0 greylisted' }, 'busy', true],
    ['a server that relays nothing', { rcpt: '550 5.7.1 relaying denied' }, 'sender', true],
    ['a domain that may not send', { data: '550 5.7.26 unauthenticated' }, 'sender', true],
    ['a recipient that is not there (ML-15)', { rcpt: '550 no such user' }, 'refused', false],
    ['a text that is taken for spam', { data: '554 spam' }, 'refused', false],
  ])('after %s waits or ends (T6)', async (_, faults, reason, mayPass) => {
    const { faults: now } = servers.right;
    Object.assign(now, faults);
    const failure = await send('right');
    for (const name of Object.keys(faults)) delete now[name as keyof typeof now];
    expect(failure).toMatchObject({ reason, mayPass });
  });

  it('waits for a server that never ends an answer', async () => {
    const short = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.timeout(200));
    servers.right.faults.hold = new Promise(() => {});
    expect(await send('right')).toMatchObject({ reason: 'timeout', mayPass: true });
    // The next attempt begins after a minute.
    expect(short.mock.lastCall?.[0]).toBeLessThan(60_000);
    short.mockRestore();
    delete servers.right.faults.hold;
  });

  it('waits for a server that is away', async () => {
    expect(await send('right', { server: 'smtp://localhost:9' })).toMatchObject({
      reason: 'connection',
      mayPass: true,
    });
  });

  it('has the same Message-ID each time, and one line for a subject of several (ML-12)', async () => {
    await send('right');
    await send('right', {}, { subject: `Two\r\nBcc: x@evil.example ${'long '.repeat(200)}` });
    const [first, second] = servers.right.letters;
    expect(second?.headers['message-id']).toBe(first?.headers['message-id']);
    expect(second?.to).toEqual(['anna@acme.example']);
    expect(second?.headers['bcc']).toBeUndefined();
  });

  it.each([
    ['a file', { text: { path: '/etc/hostname' } as unknown as string }],
    ['a URL', { html: { href: 'http://localhost:9/' } as unknown as string }],
    ['a whole file', { raw: { path: '/etc/hostname' } }],
  ])('has no content from %s (T5)', async (_, content) => {
    expect(await send('right', {}, content)).toMatchObject({ detail: expect.stringMatching(/rejected/) });
    expect(servers.right.letters).toEqual([]);
  });
});

it('the sender leaves no timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const app = { log: undefined, storeNow: Date.now };
  await createSender({ app } as unknown as Parameters<typeof createSender>[0]).stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('postern doctor', () => {
  it.each([
    ['a server that is set up rightly', 'right', {}, {}, 'ok', undefined],
    ['a password that is wrong', 'right', {}, { auth: '535 wrong' }, 'problem', /username and password/],
    ['a server without STARTTLS (T4)', 'plain', {}, {}, 'problem', /Turn on STARTTLS/],
    ['a certificate of another name', 'other', {}, {}, 'problem', /the certificate's name/],
    ['a name that is none', 'right', { server: 'smtp://nowhere.invalid' }, {}, 'problem', /Correct the host/],
    ['no server', 'right', { server: 'smtp://localhost:9' }, {}, 'problem', /Start the server/],
    ['a folder', 'right', { server: 'folder:/tmp/mail' }, {}, undefined, undefined],
  ] as const)('reports %s, and sends nothing', async (_, name, settings, faults, level, advice) => {
    Object.assign(servers[name].faults, faults);
    const found = await probeServer({ mail: { ...servers[name].settings, ...settings } });
    delete servers[name].faults.auth;
    expect(found?.level).toBe(level);
    if (advice) expect(found?.advice).toMatch(advice);
    expect(servers[name].letters).toEqual([]);
    if (name !== 'right') expect(servers[name].seen).not.toContain('auth');
  });
});

describe('an address (T3)', () => {
  it.each<readonly [unknown, string | undefined]>([
    ['anna@acme.example', 'anna@acme.example'],
    ["o'brien+tag@acme.example", "o'brien+tag@acme.example"],
    ['anna@Bücher.example', 'anna@xn--bcher-kva.example'],
    ['anna@ACME.example', 'anna@acme.example'],
    ['anna@mailhost', 'anna@mailhost'],
    ...[
      ...'a@acme.example, x@evil.example|Bob <x@evil.example> <bob@acme.example>|"a b"@acme.example|'.split(
        '|',
      ),
      ...'a(x@evil.example)@acme.example|group: a@acme.example;|a@b@acme.example|a@[127.0.0.1]'.split('|'),
      ...'a@127.0.0.1|a@acme..example|.a@acme.example|a..b@acme.example|a\u200b@acme.example'.split('|'),
      ...'a@ac\u200bme.example|a@\u202eacme.example|a @acme.example|a@-acme.example'.split('|'),
      ...'a@acme.example.|änna@acme.example|@acme.example|a@acme.example\r\nBcc: x@evil.example'.split('|'),
      `${'a'.repeat(65)}@acme.example`,
      `a@${'a.'.repeat(126)}example`,
    ].map((value) => [value, undefined] as const),
    [['a@acme.example', 'x@evil.example'], undefined],
    [{ address: 'x@evil.example' }, undefined],
    [undefined, undefined],
  ])('%j is %j', (value, address) => {
    expect(mailAddress(value)).toBe(address);
  });

  it.each([
    ['"Acme" <no-reply@acme.example>', { name: 'Acme', address: 'no-reply@acme.example' }],
    ['Acme <no-reply@acme.example>', { name: 'Acme', address: 'no-reply@acme.example' }],
    ['no-reply@acme.example', { name: '', address: 'no-reply@acme.example' }],
    ['Acme <a@acme.example> <x@evil.example>', undefined],
    ['Acme\r\nBcc: x@evil.example <a@acme.example>', undefined],
  ])('a sender %j is %j', (value, sender) => {
    expect(parseSender(value)).toEqual(sender);
  });

  it.each<readonly [string, object | undefined]>([
    ['smtp://mail.acme.example', { host: 'mail.acme.example', port: 587, isTls: false }],
    ['smtps://mail.acme.example', { host: 'mail.acme.example', port: 465, isTls: true }],
    ['smtp://mail.acme.example:65535', { port: 65_535 }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525, isTls: false }],
    ['folder:../mail', { folder: '../mail' }],
    ...[
      ...'smtp://user:secret@mail.acme.example mail.acme.example http://mail.acme.example smtp://'.split(' '),
      ...'smtp://mail.acme.example:0 smtps://mail.acme.example:65536 folder:'.split(' '),
    ].map((value) => [value, undefined] as const),
  ])('a server %j is %j', (value, target) => {
    const found = parseServer(value);
    expect(found).toEqual(target && { ...found, ...target });
  });
});

it('a folder that others may write to leads nowhere else', async () => {
  const folder = testFolder();
  const name = createHash('sha256').update(MESSAGE.id).digest('hex').slice(0, 32);
  symlinkSync(path.join(folder, 'stolen'), path.join(folder, `${name}.eml.new`));
  symlinkSync(path.join(folder, 'stolen'), path.join(folder, `${name}.eml`));
  await sendMessage({ ...servers.right.settings, server: `folder:${folder}` }, MESSAGE);
  expect(existsSync(path.join(folder, 'stolen'))).toBe(false);
  expect(readFileSync(path.join(folder, `${name}.eml`), 'utf8')).toContain('Subject: Subject');
});
