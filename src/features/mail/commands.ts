// `postern mail …`, and `--mail` of the commands that create links.
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { addVerb, checked, readService, type VerbOptions } from '../../cli/configuration.ts';
import { CommandError, counted, print, type CliIo } from '../../cli/io.ts';
import { addListOptions, type ListOptions, printList } from '../../cli/table.ts';
import { type SendLink, type UserContext, withUsers } from '../../cli/user-context.ts';
import type { User } from '../../users/user.ts';
import type { Config } from '../../config/config.ts';
import { viewsOf } from '../../views/view-files.ts';
import { createViews } from '../../views/views.ts';
import { addressFault, addressOf, parseServer } from './feature.ts';
import { createMailJobs, newJob } from './jobs.ts';
import { composeLetter } from './letter.ts';
import { createMailStates } from './state.ts';
import { CURES, openServer, sendMessage, toFailure } from './transport.ts';

export function registerMail(program: Command, io: CliIo): void {
  const verbs = program.command('mail').description('test email, and manage queued email');
  addVerb(verbs, 'test', 'send a test email now')
    .argument('<address>', 'where to send it', checked(addressFault))
    .action((to: string, options: VerbOptions) => test(to, options, io));
  addListOptions(addVerb(verbs, 'list', 'list queued email')).action((options: VerbOptions & ListOptions) =>
    withUsers(options, io, async ({ store, accounts }) => {
      const found = (await createMailJobs(store).list()).map(async ({ id, job }) => ({
        id,
        email: job.what,
        user: (await accounts.lookUp(job.accountId ?? ''))?.username ?? job.accountId,
        tries: job.failures,
        last_error: job.lastError ?? '',
        since: new Date(job.since).toISOString(),
      }));
      const rows = await Promise.all(found);
      const columns = ['id', 'email', 'user', 'tries', 'last_error', { key: 'since', isTime: true }] as const;
      await printList(io, options, { rows, columns, none: 'No email is queued.' });
    }),
  );
  addVerb(verbs, 'retry', 'retry queued email now')
    .argument('[id]', 'ID of one email; default: all')
    .action(changing(io, 'Retrying'));
  addVerb(verbs, 'drop', 'delete queued email')
    .argument('<id>', 'ID of the email')
    .action(changing(io, 'Dropped'));
}

const off = () => new CommandError('email is off: set mail, see docs/mail.md');

const changing =
  (io: CliIo, done: 'Retrying' | 'Dropped') => (id: string | undefined, options: VerbOptions) =>
    withUsers(options, io, async ({ store }) => {
      const jobs = createMailJobs(store);
      const found = (await jobs.list()).filter((one) => id === undefined || one.id === id);
      if (id !== undefined && found.length === 0)
        throw new CommandError(`no queued email has the ID ${id}: see "postern mail list"`);
      const now = store.clock.now();
      // Retrying an email that is being sent would send it twice.
      const free = found.filter(({ job }) => done === 'Dropped' || !job.isHeld || job.notBefore <= now);
      for (const one of free)
        await (done === 'Dropped' ? jobs.remove(one) : jobs.change(one, { notBefore: now }));
      const count = free.length;
      print(io, options, { value: { count }, text: `${done} ${counted(count, 'email')}` });
    });

async function test(to: string, options: VerbOptions, io: CliIo): Promise<void> {
  const config = await readService(options.config, io);
  if (config.mail === undefined) throw off();
  const { pages } = createViews({ ...viewsOf(config), issuer: config.issuer, onProblem: () => undefined });
  const content = composeLetter({ pages, config }, { kind: 'test', username: '' }, pages.localeFor({}));
  await sendMessage(config.mail, { id: randomUUID(), to, ...content }).catch((cause: unknown) => {
    const { reason, detail } = toFailure(cause);
    throw new CommandError(`the email was not sent (${reason}): ${detail}`, { cause });
  });
  print(io, options, { value: { sent: to }, text: `Sent a test email to ${to}` });
}

/** Checks the mail server for `postern doctor`. */
export async function probeServer({ mail }: Pick<Config, 'mail'>) {
  if (mail === undefined || parseServer(mail.server)?.folder) return undefined;
  const { server } = mail;
  const failure = await (await openServer(mail)).verify().then(() => undefined, toFailure);
  if (failure === undefined)
    return { level: 'ok', message: `${server} accepts the connection and the sign-in` } as const;
  const { reason, detail } = failure;
  const advice = CURES[reason] ?? 'Start the server, or allow connections from this machine.';
  return { level: 'problem', message: `${server} can't be used (${reason}): ${detail}`, advice } as const;
}

/** Resolves since when the recipient's server has refused the user's address. */
export async function detailsOf({ store }: UserContext, user: User): Promise<object> {
  const { refused } = await createMailStates(store.documents).get(user.id);
  return refused && refused.address === addressOf(user)
    ? { email_refused_since: new Date(refused.at).toISOString() }
    : {};
}

/** The link is created when the email is sent. */
export const sendLink: SendLink = ({ config, store }, { id, claims }) => {
  if (config.mail === undefined) throw off();
  const to = addressOf({ claims });
  if (to === undefined) return undefined;
  return async () => {
    await createMailJobs(store).add([newJob({ what: 'link', accountId: id })]);
    return { value: { mailed_to: to }, text: `The link will be sent to ${to}` };
  };
};
