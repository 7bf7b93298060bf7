// The store's own suites on Valkey: a single server, Sentinels and a Cluster. Reports if there is no Valkey.
import { it } from 'vitest';
import { findServer } from '../world/servers.ts';

const valkey = process.env['POSTERN_TEST_REDIS'] ?? findServer('valkey-server');

if (valkey === undefined) {
  it.skip('on Valkey: there is no valkey-server here (Debian has it in bookworm-backports)', () => undefined);
} else {
  process.env['POSTERN_TEST_REDIS'] = valkey;
  await import('../store/redis.test.ts');
  await import('../store/redis-groups.test.ts');
}
