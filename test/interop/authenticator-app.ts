// The authenticator app of a fixture user, put into the store of the running service as an enrolment in the browser does:
// the user signed in with the password, and needs codes from now on.
import { createHmac, randomBytes } from 'node:crypto';
import path from 'node:path';
import { Vault } from '../../src/keys/vault.ts';
import { openStore } from '../../src/store/open.ts';
import { createFactorStore } from '../../src/users/factors.ts';
import { sealedFor } from '../../src/users/factors.ts';
import { settings } from './report.ts';
import { KEYS } from './stage.ts';

/** A code of RFC 6238 with the settings that all apps use. */
function codeOf(secret: Buffer): string {
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', secret).update(step).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) % 16) % 2 ** 31;
  return String(number % 1_000_000).padStart(6, '0');
}

/** Enrols the user; the resolved function returns the current code. */
export async function giveCodes(accountId: string): Promise<() => string> {
  const secret = randomBytes(20);
  const vault = new Vault([Buffer.from(KEYS.TEST_ENCRYPTION_KEY, 'base64url')]);
  const sealed = vault.seal(secret, sealedFor(accountId));
  const folder = path.join(settings.folder, 'data');
  const store = await openStore({ engine: 'lmdb', folder }, () => Date.now());
  // Names of passkeys would need the service's own hash.
  const factors = createFactorStore(store.documents, (name) => name);
  await factors.change(accountId, () => ({ oneTimeCode: { sealed, lastStep: 0, createdAt: 0 } }));
  await store.close();
  return () => codeOf(secret);
}
