// Reads a password from the terminal without echo, or from a pipe. Never from the command line, which other users of
// the machine can read.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type PasswordContext, passwordFault } from '../users/password-rules.ts';
import { CommandError, type CliIo } from './io.ts';

/** Reads a new password: typed twice, or all of stdin without its last newline. Throws CommandError. */
export async function readPassword(io: CliIo, context: PasswordContext): Promise<string> {
  const password = io.stdin.isTTY ? await askTwice(io) : (await text(io.stdin)).replace(/\r?\n$/, '');
  if (/[\r\n\u2028\u2029]/.test(password))
    throw new CommandError('stdin has more than one line: it must contain only the password');
  const fault = await passwordFault(password, context);
  if (fault) throw new CommandError(fault);
  return password;
}

async function askTwice({ stdin, stderr }: CliIo): Promise<string> {
  // readline echoes the typed text to this stream.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    stderr.write('Password: ');
    const first = await terminal.question('');
    stderr.write('\nConfirm password: ');
    const second = await terminal.question('');
    stderr.write('\n');
    if (first !== second) throw new CommandError("the passwords don't match");
    return first;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError('no password was entered', { cause: error });
  } finally {
    terminal.close();
  }
}
