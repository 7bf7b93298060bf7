// Rules that all verbs share.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findKid } from '../../../src/cli/keys.ts';
import { withProgress } from '../../../src/cli/terminal.ts';
import { type RedisServer, startRedis } from '../../world/servers.ts';
import { tempFolder } from '../../world/temp-folder.ts';
import { postern, posternTyped, useEnvironment, verbNames } from '../../world/terminal.ts';
import { seedStore, WORLD_ENV, writeWorldConfig } from '../../world/world.ts';

const DOCUMENT = {
  client_id: 'https://docs.example/client.json',
  redirect_uris: ['https://docs.example/cb'],
  token_endpoint_auth_method: 'none',
};
// Not completion, init, migrate, serve, version and views preview: they run until they are stopped, or print files and programs.
const COMMANDS = `check
plan FOLDER/postern.json
schema
client secret
client list
user add zoe --claim nickname=Z
user invite ina
user import FOLDER/users.csv --from csv
user list
user list zoe
user set zoe --remove-claim nickname
user password zoe
user disable zoe
user enable zoe
user reset zoe
user enrol zoe
user factors zoe
user sign-out zoe
user delete zoe
user hash
keys list
keys rotate
keys compromise KID
store backup FOLDER/copy
store migrate --to REDIS
store set-issuer
views eject login
views check
healthcheck
doctor`.split('\n');

const isOf = (command: string) => (verb: string) => `${command} `.startsWith(`${verb} `);
const verbs = await verbNames();

describe('verbs', () => {
  const folder = tempFolder();
  let redis: RedisServer;
  let configFile: string;
  useEnvironment(() => WORLD_ENV);
  beforeAll(async () => {
    redis = await startRedis();
    await mkdir(path.join(folder, 'pages'));
    const config = { sign_in: { passkeys: true }, views: 'pages' };
    ({ configFile } = await writeWorldConfig(folder, { config }));
    await seedStore(configFile);
    await writeFile(path.join(folder, 'users.csv'), 'username\nimo\n');
    await writeFile(path.join(folder, 'client.json'), JSON.stringify(DOCUMENT));
  });
  afterAll(() => redis.stop());

  // Commands of the features that this source has.
  const there = COMMANDS.filter((command) => verbs.some(isOf(command)));
  it.each(there)('%s prints JSON with --json, and nothing else', async (command) => {
    const { stdout: kids } = await postern(['keys', 'list', '-c', configFile, '-o', 'name']);
    const values = { FOLDER: folder, REDIS: redis.url, KID: kids.slice(0, 8) };
    const args = command
      .split(' ')
      .map((word) => word.replace(/[A-Z]+/, (name) => Object(values)[name] ?? name));
    const config = /^(schema|client secret)/.test(command) ? [] : ['--config', configFile];
    const { code, stdout, stderr } = await postern([...args, ...config, '--json'], 'seven wet umbrellas\n');
    // The last two need a service, and none runs here.
    expect([code, stderr]).toEqual([/^(healthcheck|doctor)$/.test(command) ? 1 : 0, '']);
    expect(JSON.parse(stdout)).toBeInstanceOf(Object);
  });

  it('that can’t be undone ask on a terminal, and only there', async () => {
    const typed = (answer: string, ...more: string[]) =>
      posternTyped(['user', 'delete', 'mo', '--config', configFile, ...more], [answer]);
    await postern(['user', 'invite', 'mo', '--config', configFile]);
    for (const answer of ['\n', 'n\n', 'yesno\n'])
      expect(await typed(answer)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: 'Delete mo? [y/N]: Cancelled: nothing was changed\n',
      });
    expect(await typed('y\n')).toMatchObject({ code: 0, stdout: 'Deleted mo\n' });
    await postern(['user', 'invite', 'mo', '--config', configFile]);
    expect(await typed('', '--yes')).toEqual({ code: 0, stdout: 'Deleted mo\n', stderr: '' });
  });

  it('show on a terminal how long they take, and remove the line', async () => {
    vi.useFakeTimers();
    const printed: string[] = [];
    const stderr = { isTTY: true, write: (text: string) => printed.push(text) };
    const done = withProgress(
      { ...process, stderr },
      'Copying',
      new Promise((end) => void setTimeout(end, 2500)),
    );
    await vi.advanceTimersByTimeAsync(2500);
    await done;
    vi.useRealTimers();
    expect(printed).toEqual(['\rCopying… 1 s', '\rCopying… 2 s', '\r\u001b[K']);
  });

  it.each([
    ['abcd1', 'abcd1'],
    ['abcd2', 'abcd2234'],
    ['abcd22345', 'abcd22345'],
    ['zzzz', 'zzzz'],
    ['xyz', 'xyz'],
    ['', ''],
  ])('find the key of %j', (typed, found) => {
    const keys = ['abcd1', 'abcd1234', 'abcd2234', 'xyz11111'];
    expect(findKid(keys, typed)).toBe(found);
    expect(() => findKid(keys, 'abcd')).toThrow('key ID "abcd" is ambiguous: abcd1, abcd1234, abcd2234');
  });
});
