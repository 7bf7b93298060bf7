// Reads the secret that a reference (`env:NAME` or `file:PATH`) points to. No message contains a secret.
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Path } from './problems.ts';
import { readFault, readRegular } from './document.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';

const LARGEST_SECRET_KIB = 64;

export type SecretFiles = ServiceForm['secret_files'];

/** The sources and settings for all references of one configuration. */
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

/** The settings that the secrets of one configuration are checked against. */
export type SecretContext = ReferenceSource & { readonly issuerIsLoopback: boolean };

type Resolved = { readonly value: string; readonly isPlain: boolean } | { readonly fault: string };

/**
 * Resolves the value of `reference`, or a fault. Text that isn't a reference is the value itself. Relative paths start in
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

/** Resolves the secret at `path` of `entry`, or undefined after reporting its fault. `instead`: the alternatives to plain text. */
export async function readSecret(
  { folder, report }: Entry<object>,
  [path, reference]: readonly [path: Path, reference: string],
  context: SecretContext,
  instead = 'env:NAME or file:PATH',
): Promise<string | undefined> {
  const resolved = await resolveReference(reference, folder, context);
  if ('fault' in resolved) {
    report(path, resolved.fault);
    return undefined;
  }
  if (resolved.isPlain && !context.issuerIsLoopback)
    report(path, `plain text requires an issuer on localhost: use ${instead}`);
  return resolved.value;
}

/** Whether this points to a secret instead of being one. */
export const isReference = (text: string): boolean => /^(env|file):/.test(text);

/** A placeholder as long and as random as a real key, and equal for equal references. */
function standIn(reference: string): Resolved {
  const value = createHash('sha256').update(reference, 'utf8').digest('base64url');
  return { value, isPlain: false };
}

function fromEnvironment(name: string, env = process.env): Resolved {
  // Not repeated: text that isn't a name may be the secret itself.
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
    const { content, mode } = await readRegular(file, LARGEST_SECRET_KIB);
    const open = secretFiles === 'private' ? openFileFault(file, mode) : undefined;
    if (open) return fault(open);
    // Editors and `echo` end a file with a newline that isn't part of the secret.
    const value = content.toString().replace(/\r?\n$/, '');
    return value === '' ? fault(`file:${path} is empty`) : { value, isPlain: false };
  } catch (error) {
    return fault(`file:${path} ${readFault(error)}`);
  }
}

/** A group may read: systemd credentials and Kubernetes with fsGroup rely on that. Windows has no such modes. */
function openFileFault(file: string, mode: number): string | undefined {
  if (process.platform === 'win32' || (mode & 0o026) === 0) return undefined;
  const [all, fixed] = [mode & 0o777, mode & 0o750].map((bits) => bits.toString(8).padStart(3, '0'));
  return `${file} contains a secret, but other users can read or change it (mode ${all}): run chmod ${fixed} ${file}`;
}

const fault = (message: string): Resolved => ({ fault: message });
