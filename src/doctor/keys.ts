// Whether the service could start again with this configuration, as far as the keys in its store are concerned.
import type { Config } from '../config/config.ts';
import { judgeStoredKeys } from './stored-keys.ts';
import { problem, skipped, type Finding } from './finding.ts';

export async function checkKeys(config: Config): Promise<readonly Finding[]> {
  const { fault, unknown } = await judgeStoredKeys(config);
  if (unknown !== undefined) return [skipped('keys', `the keys in the store were not tried: ${unknown}`)];
  if (fault === undefined) return [];
  return [problem('keys-refused', `the next start would be refused: ${fault}`, 'See docs/keys.md.')];
}
