// `postern mail …`, and links that are sent instead of printed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS, USER_COMMANDS } from '../../../src/features/commands.ts';
import { createMailJobs, newJob } from '../../../src/features/mail/jobs.ts';
import { withStore } from '../../world/stored.ts';
import { MAIN, runProgram } from '../../world/process.ts';
import { configFolder, tempFolder } from '../../world/temp-folder.ts';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { seedStore, WORLD_ENV, writeWorldConfig } from '../../world/world.ts';
import { startMailServer, toLetter } from './mail-server.ts';

useEnvironment(() => WORLD_ENV);

const { folder, file } = configFolder();
const fileWith = (name: string, mail?: object) =>
  file(`${name}.json`, JSON.stringify({ issuer: 'http://localhost:3000', mail }));
const configFile = fileWith('postern', { from: 'no-reply@acme.example', server: 'folder:../mail' });
const off = fileWith('off');
const [proc, port] = ['folder:/proc/x/y', 'smtp://localhost:99999'].map((server, at) =>
  fileWith(`wrong${at}`, { from: 'no-reply@acme.example', server }),
);
const sent = () => {
  const at = path.join(folder, '../mail');
  return readdirSync(at).map((name) =>
    toLetter([], readFileSync(path.join(at, name), 'utf8').replaceAll(/\r?\n/g, '\r\n')),
  );
};
const verb = (...args: readonly string[]) => postern([...args, '--config', configFile]);

describe('postern mail', () => {
  it('tests a folder', async () => {
    expect(await verb('mail', 'test', 'anna@acme.example')).toMatchObject({
      code: 0,
      stdout: 'Sent a test email to anna@acme.example\n',
    });
    expect(sent()[0]?.headers).toMatchObject({ subject: 'Test email from Postern', to: 'anna@acme.example' });
  });

  it.skipIf(!Object.hasOwn(COMMANDS, 'doctor'))('is looked at by postern doctor', async () => {
    const away = fileWith('away', { from: 'no-reply@acme.example', server: 'smtp://localhost:9' });
    const { findings } = JSON.parse((await postern(['doctor', '--json', '--config', away])).stdout) as {
      findings: object[];
    };
    expect(findings).toContainEqual(expect.objectContaining({ level: 'problem', name: 'mail' }));
  });

  it('says why a test failed, and never the password', async () => {
    const server = await startMailServer();
    const wrong = fileWith('wrong', { ...server.mail, password: 'not-the-password' });
    const { code, stderr } = await postern(['mail', 'test', 'anna@acme.example', '--config', wrong]);
    await server.stop();
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('the email was not sent (auth): Invalid login: 535'),
    ]);
    expect(stderr).not.toContain('not-the-password');
  });

  it.each([
    ['an id that nothing has', ['drop', 'nothing'], configFile, 'the ID nothing: see "postern mail list"'],
    ['email that is off', ['test', 'anna@acme.example'], off, 'email is off: set mail'],
    [
      "a folder that can't be created",
      ['test', 'a@acme.example'],
      proc,
      'not sent (folder): the folder /proc/x ',
    ],
    ['an invalid port', ['test', 'a@acme.example'], port, 'mail.server: must be smtp://HOST or smtps://HOST'],
  ])('refuses %s', async (_, args, at = '', message) => {
    const { code, stderr } = await postern(['mail', ...args, '--config', at]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr.trim().split('\n').length).toBeLessThan(3);
  });

  it('says that the disk is full, and leaves no part of an email', async () => {
    const full = fileWith('full', { from: 'no-reply@acme.example', server: 'folder:../full' });
    const { code, stderr } = await runProgram(
      [...'/bin/sh -c'.split(' '), 'ulimit -f 0 && exec "$0" "$@"', process.execPath, MAIN].concat(
        'mail test a@acme.example --config'.split(' '),
        full,
      ),
      {},
    );
    expect([code, stderr]).toEqual([1, 'the email was not sent (folder): EFBIG: file too large, write\n']);
    expect(readdirSync(path.join(folder, '../full'))).toEqual([]);
  });

  it('lists queued email, retries it, and drops it', async () => {
    await withStore({ folder: path.join(folder, '../data') }, async (store) => {
      const jobs = createMailJobs(store);
      await jobs.add([
        { ...newJob({ what: 'link', accountId: 'usr_anna' }), id: 'one' },
        { ...newJob({ what: 'forgot' }), id: 'two' },
      ]);
      for (const found of await jobs.list())
        await jobs.change(found, { notBefore: Date.now() + 900_000, failures: 3 });
    });
    const list = async () =>
      JSON.parse((await verb('mail', 'list', '--json')).stdout) as readonly {
        id: string;
        since: string;
      }[];
    expect(await list()).toMatchObject([
      { id: 'one', email: 'link', user: 'usr_anna', tries: 3 },
      { id: 'two', email: 'forgot' },
    ]);
    expect((await verb('mail', 'retry')).stdout).toBe('Retrying 2 emails\n');
    // A delivery in progress isn't sent again; one whose process ended is.
    const hold = (notBefore: number) =>
      withStore({ folder: path.join(folder, '../data') }, async (store) => {
        for (const found of await createMailJobs(store).list())
          await createMailJobs(store).change(found, { notBefore, isHeld: true });
      });
    await hold(Date.now() + 60_000);
    expect((await verb('mail', 'retry')).stdout).toBe('Retrying 0 emails\n');
    await hold(Date.now());
    expect((await verb('mail', 'retry', 'one')).stdout).toBe('Retrying 1 email\n');
    await withStore({ folder: path.join(folder, '../data') }, async (store) => {
      for (const { job } of await createMailJobs(store).list())
        expect(job.notBefore).toBeLessThanOrEqual(Date.now());
    });
    expect((await verb('mail', 'drop', 'one')).stdout).toBe('Dropped 1 email\n');
    expect(await list()).toMatchObject([{ id: 'two' }]);
    await verb('mail', 'drop', 'two');
    expect((await verb('mail', 'list')).stderr).toContain('No email is queued.');
  });
});

describe('a link for a user without an address is refused, and not recorded as sent', () => {
  const at = tempFolder();
  let own = '';
  const run = (...args: readonly string[]) => postern(['user', ...args, '--config', own]);
  const audit = () => readFileSync(path.join(at, 'audit.jsonl'), 'utf8');
  beforeAll(async () => {
    const mail = { from: 'no-reply@acme.example', server: 'folder:mail' };
    own = (await writeWorldConfig(at, { config: { mail, audit: 'file:audit.jsonl' } })).configFile;
    await seedStore(own);
    expect((await run('invite', 'ben')).code).toBe(0);
  });

  it('by itself', async () => {
    const before = audit();
    expect(before).toContain('invite');
    const { code, stderr } = await run('reset', 'ben', '--mail');
    expect([code, stderr]).toEqual([1, expect.stringContaining('ben has no verified email address')]);
    expect(audit()).toBe(before);
  });

  it.skipIf(!Object.hasOwn(USER_COMMANDS, 'import'))('by an import, which writes nobody then', async () => {
    const before = audit();
    const users = path.join(at, 'users.csv');
    const importing = () => run('import', users, '--from', 'csv', '--mail', '--json');
    writeFileSync(users, 'username,email\nida,ida@acme.example\nivo,\nben,\n');
    const message = 'needs a verified email address';
    const problems = [3, 4].map((line) => ({ line, message }));
    expect(JSON.parse((await importing()).stdout)).toMatchObject({ problems });
    expect(audit()).toBe(before);
    writeFileSync(users, 'username,email\nida,ida@acme.example\nivo,ivo@acme.example\n');
    const { stdout } = await importing();
    expect(JSON.parse(stdout)).toMatchObject([
      { username: 'ida', mailed_to: 'ida@acme.example' },
      { username: 'ivo', mailed_to: 'ivo@acme.example' },
    ]);
    expect(stdout).not.toContain('/interaction/link');
    const listed = await postern(['mail', 'list', '--config', own, '--json']);
    expect(listed.stdout.match(/"link"/g)).toHaveLength(2);
  });
});
