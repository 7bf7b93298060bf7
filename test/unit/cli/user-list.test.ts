// `postern user list`: both sources in one order, the data of each user, and each filter.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { withStore } from '../../../src/store/open.ts';
import { openUsers } from '../../../src/users/accounts.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
const FILE = `issuer: http://localhost:3000
store: lmdb:data
users_from: users.yaml
sign_in: { passkeys: true }
groups: { staff: Employees }
clients: [{ client_id: web, token_endpoint_auth_method: none, redirect_uris: [http://localhost/cb], scope: openid }]
`;
const entry = (id: string, username: string, more = '') =>
  `- { id: usr_${id}0000000000000000, username: "${username}", password_hash: "${HASH}"${more} }\n`;
const SIGNED_IN = 1_790_000_000;
const PASSKEY = {
  id: 'p',
  publicKey: 'k',
  counter: 0,
  transports: [],
  synced: false,
  verifiesUser: true,
} as const;
const OTHERS = { aaguid: '', name: 'Key', createdAt: 1 };
const HOSTILE = '=cmd|\u0027 /C calc\u0027';

const folder = tempFolder();
const config = join(folder, 'postern.yaml');
const list = (...args: string[]) => postern(['user', 'list', '--config', config, ...args]);
async function names(...args: string[]): Promise<readonly string[]> {
  const { stdout, stderr } = await list(...args, '--json');
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as readonly { readonly username: string }[]).map(({ username }) => username);
}

beforeAll(async () => {
  await writeFile(config, FILE);
  const file = [
    entry('bob', 'Bob', ', groups: [staff]'),
    entry('zed', 'Zed', ', disabled: true'),
    entry('mia', 'mia'),
  ];
  await writeFile(join(folder, 'users.yaml'), file.join(''));
  await withStore({ engine: 'lmdb', folder: join(folder, 'data') }, async (store) => {
    const { storedUsers, states, factors } = openUsers(store, () => 'none');
    const add = (username: string, more = {}) =>
      storedUsers.add({
        id: `usr_${username.slice(0, 3)}`,
        username,
        passwordHash: HASH,
        claims: {},
        ...more,
      });
    await add('anna', { groups: ['staff', 'gone'], claims: { email: 'Anna@Example.com', name: 'Anna Öst' } });
    await add('carl', { passwordHash: undefined });
    await add('MIA', { id: 'usr_shadow' });
    await add(HOSTILE, { id: 'usr_hostile', claims: { email: 'x"@e.example', name: '\u202ename' } });
    await add('dora');
    await states.update('usr_dor', { disabled: true });
    await states.update('usr_ann', { lastSignIn: SIGNED_IN });
    await factors.change('usr_ann', () => ({
      passkeys: [{ ...PASSKEY, ...OTHERS }],
      recoveryCodes: ['a', 'b'],
    }));
  });
});

const EVERYBODY = [HOSTILE, 'anna', 'Bob', 'carl', 'dora', 'mia', 'MIA', 'Zed'];

describe('postern user list', () => {
  it.each<[readonly string[], readonly string[]]>([
    [[], EVERYBODY],
    [['--limit', '100', '--after', ' ANNA'], EVERYBODY.slice(2)],
    [
      ['--group', 'staff'],
      ['anna', 'Bob'],
    ],
    [['--group', 'gone'], ['anna']],
    [['--search', 'ANN'], ['anna']],
    [['--search', 'example.COM'], ['anna']],
    [
      ['--search', 'MI'],
      ['mia', 'MIA'],
    ],
    [['--invited'], ['carl']],
    [['--disabled'], ['dora', 'Zed']],
    [['--without-factor'], EVERYBODY.filter((name) => name !== 'anna')],
    [['--never-signed-in', '--group', 'staff'], ['Bob']],
    [['--search', 'nobody'], []],
  ])('with %j has %j', async (args, expected) => {
    expect(await names(...args)).toEqual(expected);
  });

  it('can be read in pages of any size', async () => {
    for (const size of [1, 2, 3, 7, 8]) {
      const found: string[] = [];
      for (let more = true; more;) {
        const after = found.at(-1);
        const args = ['--limit', String(size), ...(after === undefined ? [] : ['--after', after])];
        const page = await names(...args);
        found.push(...page);
        more = page.length >= size;
      }
      expect(found).toEqual(EVERYBODY);
    }
    for (const wrong of ['0', '-1', 'x', '1.5']) expect((await list('--limit', wrong)).code).toBe(2);
  });

  it('says of each user what they have, and escapes what others wrote', async () => {
    const { stdout } = await list('-o', 'wide');
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(lines[0]).toEqual([
      'USERNAME',
      'EMAIL',
      'GROUPS',
      'FACTORS',
      'LAST SIGN IN',
      'STATUS',
      'SOURCE',
      'ID',
    ]);
    const anna = ['anna', 'Anna@Example.com', 'gone, staff', '1 passkey, 2 recovery codes'];
    expect(lines[2]?.toSpliced(2, 1, 'gone, staff')).toEqual([
      ...anna,
      '2026-09-21T14:13:20.000Z',
      'active',
      'store',
      'usr_ann',
    ]);
    const status = lines.slice(1, -1).map((cells) => cells.at(-3));
    expect(status).toEqual([
      'active',
      'active',
      'active',
      'invited',
      'disabled',
      'active',
      'shadowed',
      'disabled',
    ]);
    const [, hostile] = (await list('-o', 'csv')).stdout.split('\r\n');
    expect(hostile?.startsWith(`'${HOSTILE},"x""@e.example",`)).toBe(true);
  });

  it('names who has a second factor also while these are off', async () => {
    const off = join(folder, 'off.yaml');
    await writeFile(off, FILE.replace('sign_in: { passkeys: true }\n', ''));
    const { stdout } = await postern(['user', 'list', '--config', off, '--without-factor', '-o', 'name']);
    expect(stdout.split('\n').slice(0, -1).toSorted()).toEqual(
      EVERYBODY.filter((one) => one !== 'anna').toSorted(),
    );
  });

  it('of one user has their claims', async () => {
    const shown = JSON.parse((await list('anna', '--json')).stdout) as object;
    const told = {
      username: 'anna',
      status: 'active',
      undefined_groups: ['gone'],
      claims: { name: 'Anna Öst' },
    };
    expect(shown).toMatchObject({ ...told, last_sign_in: new Date(SIGNED_IN * 1000).toISOString() });
    const stderr = 'there is no user "nobody": see "postern user list"\n';
    expect(await list('nobody')).toMatchObject({ code: 1, stderr });
  });
});

it('F1-26: a broken client is a warning, printed where the list is', async () => {
  const broken = join(folder, 'broken.yaml');
  await writeFile(broken, FILE.replace('client_id: web', 'client_id: 7'));
  const { code, stderr } = await postern(['user', 'list', '--config', broken]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('warning: ')]);
});
