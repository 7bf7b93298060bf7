// A store that has many more users than the file: the service starts, applies a changed file, signs users in, and lists
// them, on a Redis that closes a connection whose answer is as long as all users. POSTERN_TEST_PEOPLE sets their number.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { hashPassword } from '../../src/users/passwords.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import type { StoreConfig } from '../../src/config/config.ts';
import { openStore } from '../../src/store/open.ts';
import { untilTrue } from '../world/redis-groups.ts';
import { startRedis } from '../world/servers.ts';
import { signIn } from '../world/app.ts';
import { PASSWORDS, worldClients, writeWorldConfig } from '../world/world.ts';
import { runCli, startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { testFolder } from '../world/temp-folder.ts';

const PEOPLE = Number(process.env['POSTERN_TEST_PEOPLE'] ?? 5000);
const AT_ONCE = 1000;
/** The states of all users are longer than this; a page of users is not. */
const LONGEST_ANSWER = ['--client-output-buffer-limit', 'normal', '256kb', '0', '0'];

async function fill(location: StoreConfig): Promise<void> {
  const passwordHash = await hashPassword(PASSWORDS.alice);
  const store = await openStore(location, Date.now);
  const [people, states] = [createStoredUsers(store), createAccountStates(store.documents)];
  for (let start = 0; start < PEOPLE; start += AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, PEOPLE - start) }, async (_, index) => {
        const number = start + index;
        const id = `usr_${String(number).padStart(22, 'x')}`;
        const claims = { name: `Person ${number}`, email: `person${number}@people.example` };
        await people.add({ id, username: `person${number}`, passwordHash, claims });
        await states.update(id, { disabled: false, validAfter: 1 });
      }),
    );
  }
  await store.close();
}

it.each(['lmdb', 'redis'] as const)('many users in %s', { timeout: 60_000 + PEOPLE * 3 }, async (engine) => {
  const folder = testFolder();
  const redis = engine === 'redis' ? await startRedis({ settings: LONGEST_ANSWER }) : undefined;
  onTestFinished(() => redis?.stop());
  const location: StoreConfig =
    redis === undefined
      ? { engine: 'lmdb', folder: path.join(folder, 'data') }
      : { engine: 'redis', url: redis.url };
  await fill(location);
  const world = await writeWorldConfig(folder, { ...(redis && { store: redis.url }) });

  forTest(await startProcess(world.configFile));
  await signIn(world, { person: 'person7' });

  const readyz = async () => {
    const answer = await fetch(`${world.management}/readyz`);
    const { problems, configuration } = (await answer.json()) as {
      readonly problems: readonly string[];
      readonly configuration: { readonly hash: string; readonly problem?: string };
    };
    return { status: answer.status, problems, configuration };
  };
  const before = await readyz();
  expect(before).toMatchObject({ status: 200, problems: [] });
  const file = JSON.parse(await readFile(world.configFile, 'utf8')) as object;
  const clients = worldClients().filter(({ client_id: id }) => id !== 'spa');
  await writeFile(world.configFile, JSON.stringify({ ...file, clients }));
  await untilTrue('the changed file is taken over', async () => {
    const { configuration } = await readyz();
    if (configuration.problem !== undefined) throw new Error(configuration.problem);
    return configuration.hash !== before.configuration.hash;
  });
  expect(await readyz()).toMatchObject({ status: 200, problems: [] });

  const listed = await runCli(['user', 'list', '--config', world.configFile, '--json']);
  expect([listed.code, listed.stderr]).toEqual([0, '']);
  const rows = JSON.parse(listed.stdout) as readonly { readonly id: string; readonly disabled: boolean }[];
  expect(new Set(rows.map(({ id }) => id)).size).toBe(PEOPLE + 2);
  expect(rows).toHaveLength(PEOPLE + 2);
  const page = await runCli(['user', 'list', '--config', world.configFile, '--limit', '3', '-o', 'csv']);
  expect(page).toMatchObject({ code: 0, stderr: '' });
  expect(page.stdout.split('\r\n').map((line) => line.split(',')[0])).toEqual([
    'username',
    'alice',
    'bob',
    'person0',
    '',
  ]);
});
