// Reads what a secret reference points to: `env:NAME` or `file:PATH`. No message here ever holds a secret.
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { readFault } from './document.ts';
import { readRegular, statRegular } from './regular-file.ts';
import type { ServiceForm } from './schema.ts';

const LARGEST_SECRET_BYTES = 65_536;

export type SecretFiles = ServiceForm['secret_files'];

/** What all references of one configuration are read against. */
type ReferenceSource = Readonly<{
  env: NodeJS.ProcessEnv;
  /** Called with every file that is looked for, also one that isn't there. */
  noteFile?: ((file: string) => void) | undefined;
  /** false where the secrets aren't, as in CI: a reference then stands for a value made from its own text. */
  readSecrets?: boolean | undefined;
  /** `private` refuses a file that others may read, or that anybody but its owner may write. */
  secretFiles?: SecretFiles | undefined;
}>;

/** What the secrets of one configuration are judged by. */
export type SecretContext = ReferenceSource & { readonly issuerIsLoopback: boolean };

export type Resolved = { readonly value: string; readonly isPlain: boolean } | { readonly fault: string };

/**
 * The value behind `reference`, or why there is none. Text that is no reference stands for itself; relative paths start in
 * `folder`.
 */
export async function resolveReference(
  reference: string,
  folder: string,
  source: ReferenceSource,
): Promise<Resolved> {
  if (source.readSecrets === false && isReference(reference)) return standIn(reference);
  if (reference.startsWith('env:')) return fromEnvironment(reference.slice('env:'.length), source.env);
  if (reference.startsWith('file:')) return fromFile(reference.slice('file:'.length), folder, source);
  if (/^(sha256:|\$argon2)/i.test(reference))
    return fault('is a hash: set it as hash in an entry of client_secrets');
  return { value: reference, isPlain: true };
}

/** The same for a reference on the command line: relative paths start where the command was given. */
export function resolveArgument(reference: string): Promise<Resolved> {
  // No configuration could say otherwise for a mount that can't do better.
  return resolveReference(reference, process.cwd(), { env: process.env, secretFiles: 'any_mode' });
}

/** Whether this points to a secret instead of being one. */
export const isReference = (text: string): boolean => /^(env|file):/.test(text);

/** As long and as mixed as a real key, and the same for the same reference. */
function standIn(reference: string): Resolved {
  const value = createHash('sha256').update(reference, 'utf8').digest('base64url');
  return { value, isPlain: false };
}

function fromEnvironment(name: string, env: NodeJS.ProcessEnv): Resolved {
  // Not repeated: what isn't a name may be the secret itself.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return fault('env: must be followed by the name of an environment variable');
  const value = env[name];
  if (value === undefined) return fault(`env:${name} is not set in the environment`);
  return value === '' ? fault(`env:${name} is empty`) : { value, isPlain: false };
}

async function fromFile(
  path: string,
  folder: string,
  { noteFile, secretFiles = 'private' }: ReferenceSource,
): Promise<Resolved> {
  if (path === '') return fault('file: must be followed by the path of a file');
  const file = resolve(folder, path);
  noteFile?.(file);
  try {
    const { size, mode } = await statRegular(file);
    if (size > LARGEST_SECRET_BYTES) return fault(`file:${path} is too large for a secret`);
    const open = secretFiles === 'private' ? openFileFault(file, mode) : undefined;
    if (open) return fault(open);
    // Editors and `echo` end a file with a newline that isn't part of the secret.
    const value = (await readRegular(file)).toString().replace(/\r?\n$/, '');
    return value === '' ? fault(`file:${path} is empty`) : { value, isPlain: false };
  } catch (error) {
    return fault(`file:${path} ${readFault(error)}`);
  }
}

/** Group-readable is fine: systemd hands credentials over so, and Kubernetes with fsGroup. Windows has no such modes. */
function openFileFault(file: string, mode: number): string | undefined {
  const writable = mode & 0o022;
  const readable = mode & 0o004;
  if (process.platform === 'win32' || (writable === 0 && readable === 0)) return undefined;
  const [all, fixed] = [mode & 0o777, mode & 0o750].map((bits) => bits.toString(8).padStart(3, '0'));
  const what = readable === 0 ? 'users other than its owner can write to it' : 'all users can read it';
  return `${file} contains a secret, but ${what} (mode ${all}): run chmod ${fixed} ${file}`;
}

const fault = (message: string): Resolved => ({ fault: message });
