// Users that the command line adds to the store: they work like those of the file, on every process, at once.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashPassword } from '../../src/users/passwords.ts';
import { startTwoProcesses } from '../world/two-processes.ts';
import { startRedis } from '../world/servers.ts';
import { signIn } from '../world/app.ts';
import { begin, silently, titleOf, tryPassword } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { startWorld, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { runCli } from '../world/process.ts';
import { testFolder } from '../world/temp-folder.ts';
import { postern, useEnvironment, userVerb } from '../world/terminal.ts';
import { useStarted } from '../world/started.ts';

const PASSWORD = 'river otter jazz 47';
const OTHER = 'quiet lantern moss 12';

useEnvironment(() => WORLD_ENV);

async function add(world: World, username: string, ...claims: string[]): Promise<string> {
  const options = claims.flatMap((claim) => ['--claim', claim]);
  const { code, stderr, result } = await userVerb(world, ['add', username, ...options], `${PASSWORD}\n`);
  expect([code, stderr]).toEqual([0, '']);
  return String(result['id']);
}

/** Signs in as a user in the store and gets tokens, as an app does. */
async function tokensOfUser(world: World, username: string, password = PASSWORD) {
  const { browser, page: login } = await begin(world);
  const page = await browser.submit(login, '/login', { username, password });
  expect(titleOf(page)).toContain('wants access to your account');
  // The session exists now; the rest is the same flow as in other tests.
  const signedIn = await signIn(world, { browser });
  return { browser, tokens: signedIn.tokens };
}

describe.each(['lmdb', 'redis'] as const)('people of the store, two processes on %s', (store) => {
  const two = useStarted(() => startTwoProcesses(store));
  const world = () => two().nodes[0];

  async function expectDead({ browser, tokens }: Awaited<ReturnType<typeof tokensOfUser>>): Promise<void> {
    for (const node of two().nodes) {
      expect(await introspect(node, tokens.access_token, 'web')).toEqual({ active: false });
      expect((await userinfo(node, tokens.access_token)).status).toBe(401);
      const refused = await refresh(node, tokens.refresh_token);
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect(await silently(world(), browser)).toBe('login_required');
  }

  it('sign in on every process as soon as they are added, with their claims', async () => {
    const id = await add(
      world(),
      'Carol',
      'email=carol@example.com',
      'email_verified=true',
      'name=Carol Example',
    );
    expect(id).toMatch(/^usr_[\w-]{22}$/);
    for (const node of two().nodes) {
      const { tokens } = await tokensOfUser(node, ' CAROL ');
      expect(tokens.claims()?.sub).toBe(id);
      expect((await userinfo(node, tokens.access_token)).body).toMatchObject({
        sub: id,
        email: 'carol@example.com',
        email_verified: true,
        name: 'Carol Example',
      });
      expect(await introspect(node, tokens.access_token, 'web')).toMatchObject({ active: true, sub: id });
    }
    expect((await tryPassword(world(), 'carol', OTHER)).status).toBe(401);
    const { result } = await userVerb(world(), ['list']);
    expect(result).toEqual([
      expect.objectContaining({ username: 'alice', source: 'file', disabled: false }),
      expect.objectContaining({ username: 'bob', source: 'file' }),
      expect.objectContaining({ id, username: 'Carol', source: 'store', status: 'active' }),
    ]);
    expect(JSON.stringify(result)).not.toContain('argon2');
  });

  it('LG-33: have a login name that nobody else has, in either source and in any spelling', async () => {
    const names = ['dora', 'DORA', ' Dora', 'ｄｏｒａ'];
    // Simultaneously, so in separate processes: LMDB forbids one process to open a folder twice.
    const added = await Promise.all(names.map((name) => userVerb(world(), ['add', name], PASSWORD, runCli)));
    expect(added.filter(({ code }) => code === 0)).toHaveLength(1);
    expect(added.filter(({ code }) => code === 1)).toHaveLength(3);
    for (const { code, stderr } of added)
      if (code === 1) expect(stderr).toMatch(/^user .* already exists\n$/);
    const taken = await userVerb(world(), ['add', 'Alice'], PASSWORD);
    expect([taken.code, taken.stderr]).toEqual([1, 'user "Alice" already exists\n']);
    const { result } = await userVerb(world(), ['list']);
    expect(
      (result as unknown as { username: string }[]).filter(({ username }) => /dora|ｄ/i.test(username)),
    ).toHaveLength(1);
  });

  it('are meant by their id, also while somebody has a login name that is spelled like it', async () => {
    const id = await add(world(), 'ivan');
    await add(world(), id.toLowerCase());
    const disabled = await userVerb(world(), ['disable', id]);
    expect(disabled.result).toMatchObject({ id, username: 'ivan' });
    const { result } = await userVerb(world(), ['list', id.toLowerCase()]);
    expect(result).toMatchObject({ username: id.toLowerCase(), status: 'active' });
  });

  it('end with everything they have when they are deleted, and the name is somebody else’s from then on', async () => {
    const first = await add(world(), 'grace');
    const before = await tokensOfUser(world(), 'grace');
    expect((await userVerb(world(), ['delete', 'grace'])).result).toMatchObject({ id: first, deleted: true });
    await expectDead(before);
    expect((await tryPassword(world(), 'grace', PASSWORD)).status).toBe(401);
    for (const typed of ['grace', first]) {
      const gone = await userVerb(world(), ['delete', typed]);
      expect([gone.code, gone.stderr]).toEqual([1, `there is no user "${typed}": see "postern user list"\n`]);
    }
    const second = await add(world(), 'Grace');
    expect(second).not.toBe(first);
    expect((await tokensOfUser(world(), 'grace')).tokens.claims()?.sub).toBe(second);
    await expectDead(before);
  });

  it('are asked a password that is not expected, never as an argument, and known claims', async () => {
    for (const [args, input, reason] of [
      [['add', 'henry'], 'short', 'at least 15 characters'],
      [['add', 'henry'], 'Henry-Postern-2026', 'too easy to guess'],
      [['add', 'henry'], 'x'.repeat(1025), 'at most 1024'],
      [['add', 'henry', '--claim', 'email=no'], PASSWORD, 'email: must be an email address'],
      [
        ['add', 'henry', '--claim', 'sub=usr_x'],
        PASSWORD,
        'unknown claim "sub": use one of email, email_verified, name, family_name, given_name',
      ],
      [['password', 'carol'], 'passwordpassword', 'too easy to guess'],
      [['password', 'alice'], PASSWORD, 'edit that file instead'],
      [['delete', 'alice'], '', path.join(world().folder, 'users.json')],
      [['password', 'nobody'], PASSWORD, 'there is no user "nobody"'],
    ] as const) {
      const { code, stderr } = await userVerb(world(), args, input);
      expect([code, stderr], args.join(' ')).toEqual([1, expect.stringContaining(reason)]);
    }
    for (const args of [['add'], ['add', 'henry', PASSWORD], ['add', ''], ['add', 'h', '--claim', 'x']]) {
      const { code, stderr } = await userVerb(world(), args, PASSWORD);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr).not.toContain('otter');
    }
    expect((await tryPassword(world(), 'henry', PASSWORD)).status).toBe(401);
  });
});

describe('a login name that the file has as well', () => {
  const redis = useStarted(() => startRedis());

  it("is the file’s, as an id is: the person of the store can't sign in, is listed so, and comes back with the name", async () => {
    const before = await startWorld({ store: redis().url });
    const [id, renamed] = [await add(before, 'Ivan'), await add(before, 'Judy')];
    await before.stop();
    const { stdout } = await postern(['user', 'hash', '-u', 'ivan', '--json'], OTHER);
    const { id: fileId, password_hash } = JSON.parse(stdout) as { id: string; password_hash: string };
    const users = path.join(testFolder(), 'users.json');
    const judith = { id: renamed, username: 'judith', password_hash };
    await writeFile(
      users,
      JSON.stringify({ users: [{ id: fileId, username: 'ivan', password_hash }, judith] }),
    );
    const { issuer } = before;
    const world = await startWorld({ store: redis().url, issuer, config: { users_from: users } });
    try {
      expect((await tryPassword(world, 'ivan', PASSWORD)).status).toBe(401);
      // The id is now the file's, and the old name with the old password doesn't work.
      expect((await tryPassword(world, 'Judy', PASSWORD)).status).toBe(401);
      expect((await tokensOfUser(world, 'ivan', OTHER)).tokens.claims()?.sub).toBe(fileId);
      const { result: list } = await userVerb(world, ['list']);
      expect(list).toHaveLength(4);
      expect(list).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: fileId, username: 'ivan', source: 'file', status: 'active' }),
          expect.objectContaining({ id: renamed, username: 'judith', source: 'file', shadowed: false }),
          expect.objectContaining({ id, username: 'Ivan', source: 'store', status: 'shadowed' }),
          expect.objectContaining({ id: renamed, username: 'Judy', source: 'store', shadowed: true }),
        ]),
      );
      // The user in the store can still be managed by id.
      expect((await userVerb(world, ['delete', id])).code).toBe(0);
      expect((await tokensOfUser(world, 'ivan', OTHER)).tokens.claims()?.sub).toBe(fileId);
    } finally {
      await world.stop();
    }
  });
});

it('users in the store, and the store itself, can be there before the first start', async () => {
  const folder = testFolder();
  const hash = await hashPassword(OTHER);
  const jack = { id: 'usr_jack00000000000000001', username: 'jack', password_hash: hash, disabled: true };
  const { configFile } = await writeWorldConfig(folder);
  await writeFile(path.join(folder, 'users.json'), JSON.stringify({ users: [jack] }));
  expect((await userVerb({ configFile }, ['add', 'early'], PASSWORD)).code).toBe(0);
  const enabled = await userVerb({ configFile }, ['enable', 'jack']);
  expect([enabled.code, enabled.stderr]).toEqual([1, expect.stringContaining('jack is disabled in')]);
  const world = await startWorld({ store: `lmdb:${path.join(folder, 'data')}` });
  onTestFinished(() => world.stop());
  expect((await tokensOfUser(world, 'early')).tokens.claims()?.sub).toMatch(/^usr_/);
});
