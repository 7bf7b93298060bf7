import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
const GROUPS = 'groups: { staff: Employees, wiki: Editors, managers: Managers }\n';
const web = (id: string, more = '') =>
  `  - { client_id: ${id}, token_endpoint_auth_method: none, redirect_uris: [http://localhost/cb], scope: openid storage${more} }\n`;
const FILE = `issuer: http://localhost:3000
users_from: users.yaml
${GROUPS}scopes: { storage: { claims: [quota, tags, room] } }
resources:
  - resource: urn:reports
    scopes: [reports.read, reports.write]
    access: { groups: [staff] }
    scope_groups: { reports.write: [managers], reports.read: [staff, managers] }
  - { resource: urn:open, scopes: [open.write], scope_groups: { open.write: [managers] } }
clients:
${web('wiki', ', access: { groups: [staff, wiki] }')}${web('open')}${web('admin', ', access: { groups: [managers] }')}`;

const folder = tempFolder();
let config = '';

beforeAll(async () => {
  config = join(folder, 'postern.yaml');
  await writeFile(config, `store: lmdb:data\n${FILE}`);
  const bob = `{ id: usr_bob0000000000000002, username: bob, password_hash: "${HASH}", groups: [wiki], name: Bob }`;
  await writeFile(join(folder, 'users.yaml'), `- ${bob}\n`);
});

async function user(verb: string, ...args: string[]) {
  const { code, stdout, stderr } = await postern(
    ['user', verb, ...args, '--config', config],
    'river otter jazz 47\n',
  );
  return { code, stdout, stderr };
}

async function shown(name: string): Promise<Record<string, unknown>> {
  const { stdout } = await user('list', name, '--json');
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('the groups and claims of a person of the store', () => {
  beforeAll(async () => {
    const granted = ['--group', 'wiki', '--group', 'staff', '--group', 'wiki'];
    const claims = ['quota=5', 'tags=["a",1]', 'room=B 12', 'name=42'].flatMap((one) => ['--claim', one]);
    const { code, stderr } = await user('add', 'alice', ...granted, ...claims);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('are stored, and shown', async () => {
    expect(await shown('alice')).toMatchObject({
      username: 'alice',
      source: 'store',
      groups: ['staff', 'wiki'],
      undefined_groups: [],
      claims: { quota: 5, tags: ['a', 1], room: 'B 12', name: '42' },
    });
  });

  it('F1-27: begin with the login name as the name for apps, until there is another one', async () => {
    const { stdout } = await user('add', 'dora', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ claims: { preferred_username: 'dora' } });
    await user('add', 'erin', '--claim', 'preferred_username=Rin');
    expect((await shown('erin'))['claims']).toEqual({ preferred_username: 'Rin' });
    await user('set', 'erin', '--remove-claim', 'preferred_username');
    expect((await shown('erin'))['claims']).toEqual({ preferred_username: 'erin' });
  });

  it('change, without a new password', async () => {
    const changes = '--group managers --remove-group wiki --claim quota=7 --remove-claim tags'.split(' ');
    const { code, stdout } = await user('set', 'alice', ...changes);
    expect([code, stdout]).toEqual([0, 'Updated alice: groups managers, staff\n']);
    expect(await shown('alice')).toMatchObject({
      groups: ['managers', 'staff'],
      claims: { quota: 7, room: 'B 12', name: '42' },
    });
    const list = await user('set', 'alice', '--remove-group', 'managers', '--remove-group', 'staff');
    expect(list.stdout).toBe('Updated alice: groups none\n');
    expect((await user('set', 'alice', '--claim', 'quota=7')).stdout).toBe('Updated alice\n');
    await user('set', 'alice', '--group', 'staff', '--group', 'managers');
  });

  it('of a new address are unproved, unless the operator says otherwise', async () => {
    const rows = [
      ['--claim email=a@acme.example --claim email_verified=true', true],
      ['--claim email=a@acme.example --claim name=A', true],
      ['--claim email=b@acme.example', undefined],
      ['--claim email=c@acme.example --claim email_verified=true', true],
    ] as const;
    await user('add', 'fay', '--claim', 'email=fay@acme.example', '--claim', 'email_verified=false');
    for (const [changes, verified] of rows) {
      await user('set', 'fay', ...changes.split(' '));
      const claims = (await shown('fay'))['claims'] as object;
      expect([changes, 'email_verified' in claims ? claims.email_verified : undefined]).toEqual([
        changes,
        verified,
      ]);
    }
  });

  it('are refused where the file does not define them, all at once', async () => {
    const wrong = '--group staf --claim qouta=1 --claim sub=x --group x'.split(' ');
    for (const verb of ['add', 'set']) {
      const { code, stderr } = await user(verb, verb === 'add' ? 'carol' : 'alice', ...wrong);
      expect(code).toBe(1);
      expect(stderr).toContain('--group: unknown group "staf": the configuration has staff, wiki, managers');
      expect(stderr).toContain('--claim: unknown claim "qouta", "sub": use one of email,');
    }
    const { stderr } = await user('set', 'alice', '--claim', 'quota={"a":1}');
    expect(stderr).toContain('--claim: quota: must be text, a number, true, false, or a list of these');
    expect(await shown('alice')).toMatchObject({ groups: ['managers', 'staff'], claims: { quota: 7 } });
  });

  it('F1-23: are at most 64 KB of claims, and no name has invisible characters', async () => {
    const half = (name: string) => ['--claim', `${name}=${'x'.repeat(40_000)}`];
    expect((await user('add', 'big', ...half('room'))).code).toBe(0);
    const refused = { code: 1, stderr: expect.stringContaining('at most 64 KB') };
    expect(await user('set', 'big', ...half('quota'))).toMatchObject(refused);
    expect(await user('add', 'bigger', ...half('room'), ...half('quota'))).toMatchObject(refused);
    expect(await shown('big')).toMatchObject({ claims: { room: 'x'.repeat(40_000) } });
    expect((await shown('big'))['claims']).not.toHaveProperty('quota');
    for (const verb of ['add', 'invite'])
      expect((await user(verb, 'b\u3164ig')).stderr).toContain('must not contain invisible characters');
  });

  it('are changed in the file for people of the file', async () => {
    const { code, stderr } = await user('set', 'bob', '--group', 'staff');
    expect(code).toBe(1);
    expect(stderr).toContain('bob is defined in ');
  });

  it('give nothing where the file no longer defines the group', async () => {
    const rest = FILE.replace(GROUPS, 'groups: { staff: Employees, wiki: Editors }\n').replaceAll(
      'managers',
      'staff',
    );
    await writeFile(config, `store: lmdb:data\n${rest}`);
    expect(await shown('alice')).toMatchObject({
      groups: ['managers', 'staff'],
      undefined_groups: ['managers'],
    });
    await writeFile(config, `store: lmdb:data\n${FILE}`);
  });

  it('are printed in lines', async () => {
    expect((await user('list', 'bob')).stdout).toContain(
      'source: file\nstatus: active\nlast_sign_in: -\ndisabled: false\ninvited: false\nshadowed: false\nfactors: passkeys 0, one_time_codes false, recovery_codes 0\ngroups: wiki\nundefined_groups: none\nclaims: name Bob\n',
    );
  });
});
