// Resolves the secrets of a client to hashes; only the hashes stay in memory. An expired secret isn't a fault: see
// secret-expiry.ts.
import type { ClientSecret } from './config.ts';
import { isDemoSecret } from './demo.ts';
import type { Path } from './problems.ts';
import type { Entry } from './rules.ts';
import type { ClientForm } from './schema-client.ts';
import { readSecret, type SecretContext } from './secret-reference.ts';
import { digestOf, parseSha256, weakness } from './secret-strength.ts';

type SecretForm = ClientForm['client_secrets'][number];

const INSTEAD = 'env:NAME, file:PATH or a hash ("postern client secret")';

/** Resolves the secrets of one client, and reports their faults. */
export async function resolveClientSecrets(
  entry: Entry<ClientForm>,
  context: SecretContext,
  ofService: readonly Buffer[],
): Promise<readonly ClientSecret[]> {
  const { client_secret: single, client_secrets: many } = entry.value;
  const forms: readonly (readonly [path: Path, form: SecretForm])[] = [
    ...(single === undefined ? [] : [[['client_secret'], { value: single }] as const]),
    ...many.map((form, index) => [['client_secrets', index], form] as const),
  ];
  const secrets: ClientSecret[] = [];
  for (const [path, { value = '', hash, ...window }] of forms) {
    const at = path.length === 1 ? path : [...path, 'value'];
    const digest = hash === undefined ? await readDigest(entry, [at, value], context) : parseSha256(hash);
    if (!digest) continue;
    if (ofService.some((one) => one.equals(digest)))
      entry.report(path, 'is also an encryption or cookie key: use another secret');
    if (isDemoSecret({ digest }) && !context.issuerIsLoopback) {
      entry.report(
        path,
        'is the public demo secret, but the issuer is not on localhost: change it, or remove the client',
      );
    }
    secrets.push({ digest, ...window });
  }
  return secrets;
}

async function readDigest(
  entry: Entry<ClientForm>,
  place: readonly [path: Path, reference: string],
  context: SecretContext,
): Promise<Buffer | undefined> {
  const secret = await readSecret(entry, place, context, INSTEAD);
  if (secret === undefined) return undefined;
  const weak = weakness(secret);
  if (weak) entry.report(place[0], `the secret ${weak}`);
  return digestOf(secret);
}
