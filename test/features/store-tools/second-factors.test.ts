// Second factors in a backup and in a store that was migrated.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { begin, enterPassword, isConsent } from '../../world/person.ts';
import { runVerb } from '../../world/command-line.ts';
import {
  type AuthenticatorApp,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  type SoftwareKey,
} from '../../world/second-factors.ts';
import { startRedis } from '../../world/servers.ts';
import { GENEROUS, type OpenWorld, startWorld } from '../../world/world.ts';

const OPTIONS = {
  // Passkeys belong to a host name.
  issuer: 'https://id.example',
  config: { ...GENEROUS, sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 3 } },
  people: { bob: { password_hash: undefined } },
};

describe('second factors', () => {
  /** Expects that Alice still needs her code and can use it, and Bob his passkey. */
  async function expectKept(copy: OpenWorld, app: AuthenticatorApp, key: SoftwareKey): Promise<void> {
    const { browser, page } = await enterPassword(copy, { scope: 'openid' }, { person: 'alice' });
    expect(isSecondStep(page)).toBe(true);
    expect(isConsent(await browser.submit(page, '/code', { code: app.code() }))).toBe(true);
    const { browser: other, page: login } = await begin(copy, { scope: 'openid' });
    expect(isConsent(await other.submit(login, '/passkey', { response: key.assert(copy, login) }))).toBe(
      true,
    );
  }

  it('are in a backup, and move with postern store migrate', async () => {
    const [redis, world] = await Promise.all([startRedis(), startWorld(OPTIONS)]);
    try {
      const app = await giveOneTimeCodes(world, 'alice');
      const key = await givePasskey(world, 'bob');
      const copy = path.join(world.folder, 'copy');
      const backup = await runVerb(['store', 'backup', copy, '--config', world.configFile]);
      expect([backup.code, backup.stderr]).toEqual([0, '']);
      const url = path.join(world.folder, 'url');
      await writeFile(url, redis.url);
      const to = ['--to', `file:${url}`, '--json'];
      const moved = await runVerb(['store', 'migrate', '--config', world.configFile, ...to]);
      expect([moved.code, moved.stderr]).toEqual([0, '']);
      expect(JSON.parse(moved.stdout)).toMatchObject({ moved: { factors: 2, 'factor-owners': 2 } });
      for (const store of [redis.url, `lmdb:${copy}`]) {
        const next = await startWorld({ ...OPTIONS, store });
        try {
          await expectKept(next, app, key);
        } finally {
          await next.stop();
        }
      }
    } finally {
      await world.stop();
      await redis.stop();
    }
  });
});
