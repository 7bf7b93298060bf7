// Turns the secrets of a client into what is kept in memory: their hashes. That a secret has expired is no fault: see
// secret-expiry.ts.
import type { ClientSecret, SecretHash } from './config.ts';
import { isDemoSecret } from './demo.ts';
import type { Path } from './problems.ts';
import type { Entry } from './rules.ts';
import type { ClientForm } from './schema-client.ts';
import { resolveReference, type SecretContext } from './secret-reference.ts';
import { digestOf, parseSha256, weakness } from './secret-strength.ts';

type SecretForm = ClientForm['client_secrets'][number];

const PLAIN_REFUSED =
  'plain text requires an issuer on localhost: use env:NAME, file:PATH or a hash ("postern client secret")';

/** The secrets of one client; what is wrong with them is reported. */
export async function resolveClientSecrets(
  entry: Entry<ClientForm>,
  context: SecretContext,
  ofService: readonly Buffer[],
): Promise<readonly ClientSecret[]> {
  const secrets: ClientSecret[] = [];
  const { client_secret: single, client_secrets: many } = entry.value;
  const forms: readonly Located[] = [
    ...(single === undefined ? [] : [[{ value: single }, ['client_secret']] as const]),
    ...many.map((form, index) => [form, ['client_secrets', index]] as const),
  ];
  for (const [form, path] of forms) {
    const hash = await resolveHash(entry, [form, path], context);
    if (!hash) continue;
    if (ofService.some((digest) => digest.equals(hash.digest)))
      entry.report(path, 'is also an encryption or cookie key: use another secret');
    if (isDemoSecret(hash) && !context.issuerIsLoopback) {
      entry.report(
        path,
        'is the public demo secret, but the issuer is not on localhost: change it, or remove the client',
      );
    }
    secrets.push({ ...hash, name: form.name, notBefore: form.notBefore, expiresAt: form.expiresAt });
  }
  return secrets;
}

type Located = readonly [form: SecretForm, path: Path];

async function resolveHash(
  entry: Entry<ClientForm>,
  [form, path]: Located,
  context: SecretContext,
): Promise<SecretHash | undefined> {
  if (form.hash !== undefined) return { digest: parseSha256(form.hash) };
  const resolved = await resolveReference(form.value ?? '', entry.folder, context);
  const at = path.at(-1) === 'client_secret' ? path : [...path, 'value'];
  if ('fault' in resolved) {
    entry.report(at, resolved.fault);
    return undefined;
  }
  if (resolved.isPlain && !context.issuerIsLoopback) entry.report(at, PLAIN_REFUSED);
  const weak = weakness(resolved.value);
  if (weak) entry.report(at, `the secret ${weak}`);
  return { digest: digestOf(resolved.value) };
}
