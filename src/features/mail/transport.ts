// Delivers one email to the server, or to the folder in the configuration.
import { createHash, randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createFolder } from '../../observability/folder.ts';
import type { JobFailure } from '../../store/outbox.ts';
import type { composeLetter } from './letter.ts';
import { type MailSettings, mailAddress, parseSender, parseServer } from './feature.ts';

/** Shorter than a job's first wait (sender.ts). Also limits a server that answers slowly, because TIMES only limit each silence. */
const WHOLE_MS = 50_000;
const TIMES = { dnsTimeout: 8000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
/** No message can name a file or a URL as its content. */
const CLOSED = { disableFileAccess: true, disableUrlAccess: true };

/** Reasons by nodemailer's error code, else by the first digit of the response. */
const REASONS: Readonly<Record<string, string>> = {
  EAUTH: 'auth',
  ETLS: 'tls',
  EDNS: 'name',
  ETIMEDOUT: 'timeout',
  EABORT: 'timeout',
  4: 'busy',
  5: 'sender',
};

/** Advice by reason, the same as in docs/mail.md. */
export const CURES: Readonly<Record<string, string>> = {
  auth: 'Correct username and password of mail.',
  tls: "Turn on STARTTLS at the server, renew its certificate, or set mail.ca. mail.server must have the certificate's name.",
  name: 'Correct the host in mail.server.',
  folder: 'Let the service write to the folder in mail.server, and free space on its disk.',
};

class FolderError extends Error {}

type SmtpError = Error & { code?: string; response?: string; responseCode?: number; command?: string };

/**
 * Only a response about this recipient or text is final. 535 for a wrong password may come while it is rotated, and X.7.X of RFC 3463, such
 * as "relay access denied", is about the sender.
 */
export function toFailure(error: unknown): JobFailure {
  const { code = '', response = '', responseCode = 0, command = '', message } = error as SmtpError;
  if (error instanceof FolderError) return { reason: 'folder', detail: message, mayPass: true };
  const isFinal = /^(RCPT TO|DATA)$/.test(command) && /^5\d\d(?![ -]5\.7\.)/.test(response);
  const usual = REASONS[code] ?? REASONS[Math.trunc(responseCode / 100)] ?? 'connection';
  const other = /certificate|SSL|TLS/i.test(message) ? 'tls' : usual;
  return { reason: isFinal ? 'refused' : other, detail: message.split('\n', 1)[0] ?? '', mayPass: !isFinal };
}

/** Loads nodemailer at the first email, not at the start. Rejects with an error for `toFailure`. */
export async function openServer({ server, username, password, ca }: MailSettings) {
  const { createTransport } = await import('nodemailer');
  const { host = '', port, isTls = true } = parseServer(server) ?? {};
  return createTransport({
    ...CLOSED,
    ...TIMES,
    host,
    port,
    secure: isTls,
    // Without it, a server that offers no STARTTLS gets the password and email in clear text.
    requireTLS: !isTls,
    tls: { minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    ...(username !== undefined && { auth: { user: username, pass: password ?? '' } }),
  });
}

/** Also writes the text to a separate file, because its lines may be wrapped in the email. */
async function writeTo(folder: string, name: string, message: { readonly text: string }): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const made = await createTransport({ ...CLOSED, streamTransport: true, buffer: true }).sendMail(message);
  for (const [ending, content] of Object.entries({ txt: message.text, eml: made.message as Buffer })) {
    const file = path.join(folder, `${name}.${ending}`);
    // A new file, so that other writers to the folder can't redirect it.
    const fresh = `${file}.${randomUUID()}`;
    try {
      createFolder(folder);
      await writeFile(fresh, content, { mode: 0o600, flag: 'wx' });
      await rename(fresh, file);
    } catch (cause) {
      await rm(fresh, { force: true }).catch(() => undefined);
      throw new FolderError((cause as Error).message, { cause });
    }
  }
}

type Message = ReturnType<typeof composeLetter> & Readonly<{ id: string; to: string; ends?: AbortSignal[] }>;

/** `id`: the same for each try. */
export async function sendMessage(settings: MailSettings, given: Message): Promise<void> {
  const { id, to, ends = [], ...content } = given;
  const [address, from] = [mailAddress(to), parseSender(settings.from)];
  if (address === undefined || from === undefined) throw new TypeError('not an address');
  const name = createHash('sha256').update(id).digest('hex').slice(0, 32);
  const message = {
    ...content,
    // Not as text, which is parsed as a list, and without a name.
    envelope: { from: from.address, to: [address] },
    from,
    to: { name: '', address },
    replyTo: settings.replyTo && parseSender(settings.replyTo),
    messageId: `<${name}@${from.address.split('@')[1]}>`,
    // RFC 3834 §5: prevents vacation replies.
    headers: { 'Auto-Submitted': 'auto-generated' },
    signal: AbortSignal.any([AbortSignal.timeout(WHOLE_MS), ...ends]),
  };
  const { folder } = parseServer(settings.server) ?? {};
  if (folder) await writeTo(folder, name, message);
  else await (await openServer(settings)).sendMail(message);
}
