// Reads what a secret reference points to: `env:NAME` or `file:PATH`. Owns references only; no message here ever
// holds a secret, and what a good secret is, is in secret-strength.ts.
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readFault } from './document.ts';

const LARGEST_SECRET_BYTES = 65_536;

/** What a reference is read against. */
export type ReferenceContext = {
  readonly env: NodeJS.ProcessEnv;
  /** Where relative paths start. */
  readonly folder: string;
};

export type Resolved =
  | { readonly kind: 'value'; readonly value: string; readonly isPlain: boolean }
  | { readonly kind: 'fault'; readonly message: string };

/** The value behind `reference`, or why there is none. Text that is no reference stands for itself. */
export async function resolveReference(reference: string, context: ReferenceContext): Promise<Resolved> {
  if (reference.startsWith('env:')) return fromEnvironment(reference.slice('env:'.length), context.env);
  if (reference.startsWith('file:')) return fromFile(reference.slice('file:'.length), context.folder);
  if (/^sha256:/i.test(reference))
    return fault('is a hash: write it as an entry of client_secrets with hash:');
  return { kind: 'value', value: reference, isPlain: true };
}

function fromEnvironment(name: string, env: NodeJS.ProcessEnv): Resolved {
  // Not repeated: what isn't a name may be the secret itself.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return fault('env: must be followed by the name of an environment variable');
  const value = env[name];
  if (value === undefined) return fault(`env:${name} is not set in the environment`);
  return value === '' ? fault(`env:${name} is empty`) : { kind: 'value', value, isPlain: false };
}

async function fromFile(path: string, folder: string): Promise<Resolved> {
  try {
    const file = resolve(folder, path);
    if ((await stat(file)).size > LARGEST_SECRET_BYTES)
      return fault(`file:${path} is too large for a secret`);
    // Editors and `echo` end a file with a newline that isn't part of the secret.
    const value = (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
    return value === '' ? fault(`file:${path} is empty`) : { kind: 'value', value, isPlain: false };
  } catch (error) {
    return fault(`file:${path} ${readFault(error)}`);
  }
}

function fault(message: string): Resolved {
  return { kind: 'fault', message };
}
