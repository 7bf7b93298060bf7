// `postern user import`: CSV, Authelia's users, those of a Keycloak realm. It reports all errors at once, and then writes nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { hash } from '@node-rs/argon2';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { StoreConfig } from '../../../src/config/config.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { runHere } from '../../world/run-here.ts';
import { withStore } from '../../../src/store/open.ts';
import { openUsers } from '../../../src/users/accounts.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { useWorld } from '../../world/each-store.ts';
import { startRedis } from '../../world/servers.ts';
import { testFolder } from '../../world/temp-folder.ts';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { isLogin, tryPassword } from '../../world/person.ts';
import { WORLD_ENV } from '../../world/world.ts';

const AUTHELIA = { memoryCost: 65_536, timeCost: 3, parallelism: 4 } as const;
const KEYCLOAK = { memoryCost: 7168, timeCost: 5, parallelism: 1 } as const;

/** A password in the format of a Keycloak export. */
function credentialOf(phc: string) {
  const [, , , cost = '', salt, value] = phc.split('$');
  const [memory, hashIterations, parallelism] = cost.split(',').map((one) => one.slice(2));
  const ofCost = { memory: [memory], type: ['id'], version: ['1.3'], parallelism: [parallelism] };
  const additionalParameters = { hashLength: ['32'], ...ofCost };
  const ofHash = { hashIterations: Number(hashIterations), algorithm: 'argon2', additionalParameters };
  return {
    type: 'password',
    secretData: JSON.stringify({ value: `${value}=`, salt: `${salt}==`, additionalParameters: {} }),
    credentialData: JSON.stringify(ofHash),
  };
}

describe('postern user import', () => {
  useEnvironment(() => WORLD_ENV);
  let folder = '';
  let config = '';
  beforeEach(() => {
    folder = testFolder();
    config = path.join(folder, 'postern.yaml');
    writeFileSync(
      path.join(folder, 'users.yaml'),
      '- { id: usr_filed0000000000000001, username: filed, email: filed@example.com, password_hash: "$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc" }\n',
    );
    writeFileSync(
      config,
      'issuer: http://localhost:3000\nstore: lmdb:data\nusers_from: users.yaml\ngroups: { staff: S, hr: H }\nscopes: { desk: { claims: [room] } }\n',
    );
  });

  async function imported(content: string, ...args: string[]) {
    const file = path.join(folder, 'users');
    writeFileSync(file, content);
    const from = args.includes('--from') ? [] : ['--from', 'csv'];
    const { code, stdout, stderr } = await postern(['user', 'import', file, '-c', config, ...from, ...args]);
    return { code, stdout, stderr: stderr.replaceAll(`${folder}/`, '') };
  }

  const stored = (at: StoreConfig = { engine: 'lmdb', folder: path.join(folder, 'data') }) =>
    withStore(at, async (store) => {
      const users = await createStoredUsers(store).list();
      return users.toSorted((one, other) => one.username.localeCompare(other.username));
    });

  it('takes CSV as spreadsheets write it, again without a change, and with --update what is new', async () => {
    const csv =
      '\ufeffusername,email,name,groups,room,disabled\r\nanna,anna@example.com,"Acker, Anna",hr; staff,B 12,\r\nben,,,,,true\r\nfiled,,,,,\r\n';
    const dry = await imported(csv, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: 'added: 2\nupdated: 0\nunchanged: 0\nin_users_file: 1\n' });
    expect(await imported(csv, '-o', 'name')).toMatchObject({ code: 0, stdout: 'anna\n' });
    const [anna, ben] = await stored();
    expect([anna, ben]).toMatchObject([
      {
        username: 'anna',
        groups: ['hr', 'staff'],
        passwordHash: undefined,
        claims: { email: 'anna@example.com', name: 'Acker, Anna', room: 'B 12', preferred_username: 'anna' },
      },
      { username: 'ben', groups: [], claims: { preferred_username: 'ben' } },
    ]);
    const again = await imported(csv);
    expect(again.stderr).toBe('added: 0\nupdated: 0\nunchanged: 2\nin_users_file: 1\n');
    await withStore({ engine: 'lmdb', folder: path.join(folder, 'data') }, async ({ documents }) => {
      expect(await createAccountStates(documents).get(ben?.id ?? '')).toMatchObject({ disabled: true });
    });
    const moved = 'username,groups\nanna,staff\n';
    const refusal = 'users:2:1 users[0]: the user exists: --update changes groups and claims\n';
    expect(await imported(moved)).toEqual({ code: 1, stdout: '', stderr: refusal });
    expect(await imported(moved, '--update')).toMatchObject({ code: 0 });
    expect((await stored())[0]).toEqual({ ...anna, groups: ['staff'] });
    // A verified old address doesn't verify the new one.
    const verified = 'username,email,email_verified\nanna,new@example.com,true\n';
    for (const [file, claims] of [
      [verified, { email: 'new@example.com', email_verified: true }],
      ['username,email\nanna,anna@example.com\n', { email: 'anna@example.com' }],
    ] as const) {
      await imported(file, '--update');
      const { email_verified: _old, ...others } = anna?.claims ?? {};
      expect((await stored())[0]?.claims).toEqual({ ...others, ...claims });
    }
  });

  it('takes what "user list -o csv" printed, whatever the cells begin with', async () => {
    const names = ['=1+1', "'=1+1", "''@x", "'x", '-a_b', '+49 30', '\uff1dx', 'a,"b"', 'zoë'];
    const users = names.map((username, at) => {
      const email = `${username.replaceAll(/[@ ]/g, '')}@example.com`;
      return { username, enabled: at > 0, email, groups: ['hr', 'staff'] };
    });
    const from = ['--from', 'keycloak'];
    expect(await imported(JSON.stringify({ users }), ...from)).toMatchObject({ code: 0 });
    const list = async () => (await postern(['user', 'list', '-o', 'csv', '-c', config])).stdout;
    const before = await list();
    for (const cell of ["\n'=1+1,'=1+1@", "\n''=1+1,", "\n'''@x,", "\n'x,", '\n-a_b,', "\n'+49 30,"])
      expect(before.replaceAll('\r', '')).toContain(cell);
    expect((await imported(before)).stderr).toContain('added: 0\nupdated: 0\nunchanged: 9\nin_users_file: 1');
    rmSync(path.join(folder, 'data'), { recursive: true });
    expect(await imported(before, '-o', 'csv')).toMatchObject({ code: 0 });
    const withoutId = (csv: string) => csv.replaceAll(/,usr_[\w-]+\r$/gm, '');
    expect(withoutId(await list())).toBe(withoutId(before));
  });

  it('lists every problem of 10,000 users with its line, and writes nothing', async () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => `user${index},user${index}@example.com,staff`);
    rows[1] = 'user0,,';
    rows[2] = 'USER0,,hr;nowhere';
    rows[3] = ',,nowhere';
    rows[4] = 'other,USER9@example.com,';
    rows[5] = 'fi\u202eled,,';
    rows[6] = `${'x'.repeat(10_000)},filed@example.com,`;
    rows[7] = 'a\u0000,,';
    rows[9997] = 'one"two,,';
    rows[9998] = 'last,,,,';
    const { code, stdout, stderr } = await imported(`username,email,groups\n${rows.join('\n')}\n`);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.split('\n')).toEqual([
      'users:3:1 users[1]: "user0" is already used at users:2',
      'users:4:1 users[2]: "user0" is already used at users:2',
      'users:4:1 users[2]: unknown group "nowhere": the configuration has staff, hr',
      'users:5:1 users[3]: the username must not be empty',
      'users:7:1 users[5]: the username must not contain control characters',
      'users:8:1 users[6]: the email address is already that of "filed"',
      'users:8:1 users[6]: the username must be at most 200 characters',
      'users:9:1 users[7]: the username must not contain control characters',
      'users:11:1 users[9]: the email address is already that of "other"',
      expect.stringMatching(/^users:9999:1 is not valid CSV: /),
      expect.stringMatching(/^users:10000:1 is not valid CSV: /),
      '',
      '11 problems',
      '',
    ]);
    expect(await stored()).toEqual([]);
  });

  it.each([
    [
      'authelia',
      'users:',
      (name: string, more?: string) => `  "${name}": { groups: [staff]${more ?? ''} }`,
      '',
    ],
    [
      'keycloak',
      '{"users":[',
      (name: string, more?: string) => `{"username":"${name}"${more ?? ''}},`,
      '{"username":"last"}]}',
    ],
  ] as const)('lists what is wrong in line 9,999 of %s, and of others', async (from, first, line, last) => {
    const rows = Array.from({ length: 10_000 }, (_, index) => line(`user${index}`));
    const content = (changed: Readonly<Record<number, string>>) =>
      [first, ...Object.assign([...rows], changed), last].join('\n');
    const refused = async (changed: Readonly<Record<number, string>>) => {
      const { code, stdout, stderr } = await imported(content(changed), '--from', from);
      expect([code, stdout]).toEqual([1, '']);
      return stderr.split('\n').filter(Boolean);
    };
    const broken = await refused({ 9997: line('broken', ', "email": "x') });
    expect(broken[0]).toMatch(/^users:(9999|10000):\d+ is not valid YAML: /);
    const wrong = {
      5: [line('a\\u202eb'), 'the username must not contain control characters'],
      6: [line('one', ', "email": "filed@example.com"'), 'the email address is already that of "filed"'],
      7: [line('two', ', "email": "two@example.com"'), ''],
      8: [line('TWO'), '"two" is already used at users:9'],
      9996: [line('three', ', "email": "Two@example.com"'), 'the email address is already that of "two"'],
      9997: [line('four', ', "email": "x"'), 'email: must be an email address'],
    } as const;
    const listed = await refused(Object.fromEntries(Object.entries(wrong).map(([at, [row]]) => [at, row])));
    const expected = Object.entries(wrong).filter(([, [, message]]) => message !== '');
    expect(listed.slice(0, -1).map((text) => text.replace(/:\d+ users\S+: /, ' '))).toEqual(
      expected.map(([at, [, message]]) => `users:${Number(at) + 2} ${message}`),
    );
    expect(await stored()).toEqual([]);
  });

  it.each([
    [
      'csv',
      'username,shoe,password_hash\nanna,42,x\nben,,\n',
      ['has unknown columns: "shoe". Known are username, groups', 'password_hash must be an argon2id hash'],
    ],
    ['csv', 'username,disabled\nanna,perhaps\n', ['disabled must be true or false']],
    ['csv', 'name\nAnna\n', ['the username must not be empty']],
    ['authelia', `users:\n${'  u: {}\n'.replace('u', 'a')}  a: {}\n`, ['duplicate key "a"']],
    // A user who is disabled there must not be enabled here.
    ['authelia', 'users: { anna: { disabled: yes } }\n', ['disabled must be true or false']],
    ['keycloak', '{"users":[{"username":"a","enabled":"false"}]}', ['disabled must be true or false']],
    ['authelia', 'a: &a [x, x]\nusers: { anna: { groups: *a } }\n', ['YAML alias']],
    [
      'authelia',
      'users: { "an\\u202ena": { email: x }, ben: 1 }\n',
      ['an\\u202ena: the username must not contain control', 'email: must be', 'users.ben: must be a user'],
    ],
    ['keycloak', '{"users":[{"username":"a","username":"b"}]}', ['duplicate key "username"']],
    ['keycloak', '{"users":[{"username":"a"},]', ['is not valid YAML']],
    [
      'keycloak',
      '{"users":[{"username":"a","realmRoles":["chief","offline_access"],"groups":["/hr","/x/y"]}]}',
      ['unknown group "x/y"', 'unknown group "chief"'],
    ],
    ['dex', 'staticPasswords: [{ username: anna }]\n', ['the username must not be empty']],
    ['keycloak', 'username,email\nanna,a@example.com\n', ['users has no users in the format keycloak']],
    ['authelia', 'users: {}\n', ['users has no users in the format authelia']],
  ])('refuses bad %s: %j', async (from, content, messages) => {
    const { code, stdout, stderr } = await imported(content, '--from', from);
    expect([code, stdout]).toEqual([1, '']);
    for (const message of messages) expect(stderr).toContain(message);
    // eslint-disable-next-line no-control-regex
    expect(stderr).toMatch(/^[^\p{Cf}\u0000-\u0009]*$/u);
  });

  it('takes three costs of password hashes at most', async () => {
    const [one, two, three] = ['m=65536,t=3,p=4', 'm=7168,t=5,p=1', 'm=8192,t=5,p=1'].map(
      (cost) => `$argon2id$v=19$${cost}$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc`,
    );
    expect(await imported(`username,password_hash\na,"${one}"\nb,"${two}"\n`)).toMatchObject({ code: 0 });
    const fourth = await imported(`username,password_hash\nc,"${three}"\n`);
    expect(fourth).toMatchObject({ code: 1, stderr: expect.stringContaining('of more than 3 costs') });
    expect(await imported(`username,password_hash\nc,"${two}"\n`)).toMatchObject({ code: 0 });
    expect((await stored()).map(({ username }) => username)).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['both costs of two imports at once', 1, [0, 0]],
    ['one of two imports at once that have too many', 2, [0, 1]],
  ])('takes over %s', async (_, each, expected) => {
    const runs = [1, 2].map(async (number) => {
      const rows = Array.from(
        { length: each },
        (__, index) =>
          `u${number}${index},"$argon2id$v=19$m=8192,t=${number + 2 * index + 2},p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc"`,
      );
      writeFileSync(path.join(folder, `${number}.csv`), `username,password_hash\n${rows.join('\n')}\n`);
      const args = ['user', 'import', path.join(folder, `${number}.csv`), '--from', 'csv', '-c', config];
      const child = spawn(process.execPath, ['--no-warnings', 'src/main.ts', ...args], { stdio: 'ignore' });
      const [code] = (await once(child, 'exit')) as [number];
      return code;
    });
    expect((await Promise.all(runs)).toSorted((one, other) => one - other)).toEqual(expected);
    expect(await stored()).toHaveLength(2);
    await withStore({ engine: 'lmdb', folder: path.join(folder, 'data') }, async (store) => {
      expect(await openUsers(store, () => '').importedCosts.get()).toHaveLength(2);
    });
  });

  it.each(['lmdb', 'redis'])('goes on after a kill, and has each user once, on %s', async (engine) => {
    const redis = engine === 'redis' ? await startRedis() : undefined;
    onTestFinished(() => redis?.stop());
    const at = redis && ({ engine: 'redis', url: redis.url } as const);
    if (at) writeFileSync(config, readFileSync(config, 'utf8').replace('lmdb:data', at.url));
    const rows = Array.from({ length: 3000 }, (_, index) => `user${index},user${index}@example.com`);
    writeFileSync(path.join(folder, 'users'), `username,email\n${rows.join('\n')}\n`);
    const verb = ['src/main.ts', 'user', 'import', path.join(folder, 'users'), '-c', config];
    const args = ['--no-warnings', ...verb, ...'--from csv -o csv'.split(' ')];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    // The first is the heading.
    for await (const text of child.stdout) if (String(text).includes('user0')) break;
    child.kill('SIGKILL');
    await once(child, 'exit');
    const before = (await stored(at)).length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(3000);
    const { code, stderr } = await imported(`username,email\n${rows.join('\n')}\n`, '-o', 'name');
    const counts = `added: ${3000 - before}\nupdated: 0\nunchanged: ${before}\nin_users_file: 0\n`;
    expect([code, stderr]).toEqual([0, counts]);
    expect((await stored(at)).length).toBe(3000);
  });

  it('is a verb of its feature', async () => {
    const user = (await createProgram(process, 'user')).commands.find((verb) => verb.name() === 'user');
    expect(user?.commands.map((verb) => verb.name())).toContain('import');
  });
});

describe('AD-24: imported users beside a service', () => {
  const world = useWorld();
  useEnvironment(() => WORLD_ENV);

  async function imported(from: string, content: unknown, ...args: string[]) {
    const file = path.join(world().folder, from);
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return postern(['user', 'import', file, '--from', from, '-c', world().configFile, ...args]);
  }

  it('sign in with the passwords that they had at Keycloak and Authelia', async () => {
    const users = [
      {
        username: 'kai',
        enabled: true,
        email: 'kai@example.com',
        credentials: [credentialOf(await hash('kai-password-of-keycloak', KEYCLOAK))],
      },
      {
        username: 'kim',
        requiredActions: ['UPDATE_PASSWORD'],
        credentials: [credentialOf(await hash('kim-password-of-keycloak', KEYCLOAK))],
      },
      { username: 'service-account-x', serviceAccountClientId: 'x' },
    ];
    const ofKeycloak = await imported('keycloak', { realm: 'x', users }, '-o', 'name');
    expect(ofKeycloak).toMatchObject({ code: 0, stdout: 'kim\n' });
    const password = await hash('ada-password-of-authelia', AUTHELIA);
    const ofAuthelia = await imported('authelia', { users: { ada: { password, displayname: 'Ada' } } });
    expect(ofAuthelia).toMatchObject({ code: 0, stdout: '' });
    for (const [username, secret, works] of [
      ['kai', 'kai-password-of-keycloak', true],
      ['ada', 'ada-password-of-authelia', true],
      ['ada', 'kai-password-of-keycloak', false],
      ['kim', 'kim-password-of-keycloak', false],
    ] as const)
      expect(isLogin(await tryPassword(world(), username, secret)), username).toBe(!works);
  });

  it('get an invitation with --invite, and another one only after that ended', async () => {
    const csv = 'username,email\nina,ina@example.com\nivo,\n';
    const { code, stdout } = await imported('csv', csv, '--invite', '--json');
    expect(code).toBe(0);
    const rows = JSON.parse(stdout) as { username: string; link: string; expires_at: string }[];
    expect(rows.map(({ username }) => username)).toEqual(['ina', 'ivo']);
    expect(rows[0]?.link).toMatch(new RegExp(`^${world().issuer}/interaction/link/[\\w-]{43}$`));
    expect(await imported('csv', csv, '--invite', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
    // A link isn't cut on a terminal that is too narrow for it.
    const file = path.join(world().folder, 'ida.csv');
    writeFileSync(file, 'username\nida\n');
    let shown = '';
    const stdout40 = { write: (text: string) => (shown += text), isTTY: true, columns: 40 };
    const args = ['user', 'import', file, '--from', 'csv', '--invite', '-c', world().configFile];
    await runHere(['node', 'postern', ...args], { ...process, stdout: stdout40, stderr: { write: () => 0 } });
    expect(shown).toMatch(/^ida .*\/interaction\/link\/[\w-]{43} /m);
  });
});
