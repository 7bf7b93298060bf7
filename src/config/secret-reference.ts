// Reads the secret that a reference (`env:NAME` or `file:PATH`) points to. No message contains a secret.
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { orReport, type Path, ValueFault } from './problems.ts';
import { readRegular } from './document.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';

const LARGEST_SECRET_KIB = 64;

export type SecretFiles = ServiceForm['secret_files'];

type ReferenceSource = Readonly<{
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Called with every file that is looked for, including missing files. */
  noteFile?: ((file: string) => void) | undefined;
  /** false where secrets aren't available, as in CI: a reference then resolves to a value derived from its own text. */
  readSecrets?: boolean | undefined;
  /** `private` rejects a file that other users can read, or that users other than the owner can write. */
  secretFiles?: SecretFiles | undefined;
}>;

export type SecretContext = ReferenceSource & { readonly issuerIsLoopback: boolean };

/** Text that isn't a reference is the value itself. Relative paths start in `folder`. Throws ValueFault. */
export async function resolveReference(
  reference: string,
  folder: string,
  source: ReferenceSource,
): Promise<string> {
  if (source.readSecrets === false && isReference(reference)) return standIn(reference);
  if (reference.startsWith('env:')) return fromEnvironment(reference.slice('env:'.length), source.env);
  if (reference.startsWith('file:')) return fromFile(reference.slice('file:'.length), folder, source);
  if (/^(sha256:|\$argon2)/i.test(reference))
    throw new ValueFault('is a hash: set it as hash in an entry of client_secrets');
  return reference;
}

/** Resolves the secret at `path` of `entry`, or undefined after reporting its fault. `instead`: the alternatives to plain text. */
export async function readSecret(
  { folder, report }: Entry<object>,
  [path, reference]: readonly [path: Path, reference: string],
  context: SecretContext,
  instead = 'env:NAME or file:PATH',
): Promise<string | undefined> {
  const read = resolveReference(reference, folder, context);
  const secret = await orReport(read, (message) => report(path, message));
  if (secret !== undefined && !isReference(reference) && !context.issuerIsLoopback)
    report(path, `plain text requires an issuer on localhost: use ${instead}`);
  return secret;
}

export const isReference = (text: string) => /^(env|file):/.test(text);

/** A placeholder as long and as random as a real key, and equal for equal references. */
const standIn = (reference: string): string =>
  createHash('sha256').update(reference, 'utf8').digest('base64url');

function fromEnvironment(name: string, env = process.env): string {
  // Not repeated: text that isn't a name may be the secret itself.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new ValueFault('env: must be followed by the name of an environment variable');
  const value = env[name];
  if (value === undefined) throw new ValueFault(`env:${name} is not set in the environment`);
  if (value === '') throw new ValueFault(`env:${name} is empty`);
  return value;
}

async function fromFile(
  path: string,
  folder: string,
  { noteFile, secretFiles = 'private' }: ReferenceSource,
): Promise<string> {
  if (path === '') throw new ValueFault('file: must be followed by the path of a file');
  const file = resolve(folder, path);
  noteFile?.(file);
  const { content, mode } = await readRegular(file, LARGEST_SECRET_KIB).catch((error: Error) => {
    throw new ValueFault(`file:${path} ${error.message}`);
  });
  const open = secretFiles === 'private' ? openFileFault(file, mode) : undefined;
  if (open) throw new ValueFault(open);
  // Editors and `echo` end a file with a newline that isn't part of the secret.
  const value = content.toString().replace(/\r?\n$/, '');
  if (value === '') throw new ValueFault(`file:${path} is empty`);
  return value;
}

/** A group may read: systemd credentials and Kubernetes with fsGroup rely on that. Windows has no such modes. */
function openFileFault(file: string, mode: number): string | undefined {
  if (process.platform === 'win32' || (mode & 0o026) === 0) return undefined;
  const [all, fixed] = [mode & 0o777, mode & 0o750].map((bits) => bits.toString(8).padStart(3, '0'));
  return `${file} contains a secret, but other users can read or change it (mode ${all}): run chmod ${fixed} ${file}`;
}
