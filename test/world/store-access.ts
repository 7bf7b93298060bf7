// What an operator does to a person of a running world, from a process of its own, as the command line does it.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AccountState } from '../../src/users/account-state.ts';
import type { StoreConfig } from '../../src/config/config.ts';
import { COMPILED } from './process.ts';

const SCRIPT = fileURLToPath(new URL('change-account.ts', import.meta.url));

/** The world is on lmdb. */
export async function changeAccount(
  world: { readonly folder: string },
  accountId: string,
  change: Partial<AccountState>,
): Promise<void> {
  const location: StoreConfig = { engine: 'lmdb', folder: path.join(world.folder, 'data') };
  const args = ['--no-warnings', SCRIPT, JSON.stringify(location), accountId, JSON.stringify(change)];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...COMPILED } });
}
