// An SMTP server with STARTTLS and a password, in this process, and the emails that it accepted.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { makeCertificate } from '../../world/certificate.ts';

export type Letter = Readonly<{
  to: readonly string[];
  /** The message as it was sent. */
  raw: string;
  /** Unfolded headers by lower-case name; the last of each name. */
  headers: Readonly<Record<string, string>>;
  /** The text part. */
  text: string;
  /** The first link of the text part, below the issuer. */
  link: string | undefined;
  token: string;
}>;

export const CREDENTIALS = { username: 'postern', password: 'smtp-password-of-the-tests' };

type Faults = { rcpt?: string; data?: string; auth?: string; hold?: Promise<unknown> };

const smtpError = (line: string) =>
  Object.assign(new Error(line.slice(4)), { responseCode: Number(line.slice(0, 3)) });

function decode(part: string): string {
  const [head = '', ...body] = part.split('\r\n\r\n');
  const content = body.join('\r\n\r\n');
  if (/base64/i.test(head)) return Buffer.from(content, 'base64').toString('utf8');
  if (!/quoted-printable/i.test(head)) return content;
  const bytes = content
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

export function toLetter(to: readonly string[], raw: string): Letter {
  const [head = ''] = raw.split('\r\n\r\n', 1);
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const [, boundary] = /boundary="([^"]+)"/.exec(head) ?? [];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`).slice(1);
  const plain = decode((parts.find((part) => /text\/plain/i.test(part)) ?? '').trimStart());
  const [link] = /https?:\/\/\S+\/(?:interaction\/link|email)\/\S+/.exec(plain) ?? [];
  return { to, raw, headers, text: plain, link, token: link?.split('/').at(-1) ?? '' };
}

/** `faults` are its answers instead, from the next email on. */
export async function startMailServer(options: SMTPServerOptions = {}, host = 'localhost') {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-smtp-'));
  const certificate = readFileSync(await makeCertificate(folder, host), 'utf8');
  const letters: Letter[] = [];
  const seen: string[] = [];
  const faults: Faults = {};
  const server = new SMTPServer({
    key: readFileSync(path.join(folder, 'tls.key')),
    cert: certificate,
    authMethods: ['PLAIN', 'LOGIN'],
    onConnect: (_session, done) => (seen.push('connect'), done()),
    onAuth({ username, password }, _session, done) {
      seen.push('auth');
      const isRight = username === CREDENTIALS.username && password === CREDENTIALS.password;
      if (faults.auth !== undefined || !isRight) return done(smtpError(faults.auth ?? '535 wrong'));
      return done(null, { user: username });
    },
    onRcptTo: (_address, _session, done) => done(faults.rcpt ? smtpError(faults.rcpt) : null),
    onData(stream, { envelope }, done) {
      // A client that disconnects halfway sends nothing.
      void text(stream).then(
        async (raw) => {
          seen.push('data');
          await faults.hold;
          if (faults.data !== undefined) return done(smtpError(faults.data));
          const to = envelope.rcptTo.map(({ address }) => address);
          letters.push(toLetter(to, raw));
          return done();
        },
        () => undefined,
      );
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listen = (port: number) =>
    new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', () => resolve()));
  await listen(0);
  const { port } = server.server.address() as AddressInfo;
  const mail = {
    from: '"Acme sign-in" <no-reply@acme.example>',
    server: `${options.secure ? 'smtps' : 'smtp'}://localhost:${port}`,
    ...CREDENTIALS,
    ca: `file:${path.join(folder, 'tls.crt')}`,
  };
  return {
    letters,
    /** The clients' actions. */
    seen,
    faults,
    port,
    /** The `mail` section of the configuration, and what is read from it. */
    mail,
    settings: { ...mail, ca: certificate, replyTo: undefined },
    sentTo: (address: string) => letters.filter(({ to }) => to.includes(address)),
    async stop() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server without TLS, which accepts every command except those in `answers`. `lines` are the commands, and an email, if one is sent. */
export async function startClearServer(answers: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const all: typeof answers = { EHLO: '250-localhost\r\n250-AUTH PLAIN\r\n250 STARTTLS', ...answers };
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 localhost\r\n');
    createInterface({ input: socket }).on('line', (line) => {
      lines.push(line);
      socket.write(`${all[line.split(' ', 1)[0] ?? ''] ?? '250 OK'}\r\n`);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return { lines, server: `smtp://localhost:${port}`, stop: () => void server.close() };
}
