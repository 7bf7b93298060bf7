import { describe, expect, it, vi } from 'vitest';
import { DEMO_PASSWORD_HASH } from '../../../src/config/demo.ts';
import { parseClaims } from '../../../src/config/schema-user.ts';
import { load, LOCAL, problemsOf, PUBLIC } from './config-files.ts';

const HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';

const user = (keys: Record<string, string | undefined> = {}) => {
  const lines = Object.entries({
    id: 'usr_0123456789abcdef',
    username: 'alice',
    password_hash: HASH,
    ...keys,
  })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `    ${key}: ${value}\n`);
  return `  -\n${lines.join('')}`;
};

const usersOf = async (yaml: string, head = PUBLIC) =>
  (await load(`${head}users_from: users.yaml\n`, { 'users.yaml': yaml })).users;
const userProblems = async (yaml: string, head = PUBLIC) =>
  problemsOf(`${head}users_from: users.yaml\n`, { 'users.yaml': yaml });

describe('people', () => {
  it('have claims whose schema is compiled for no single check, which would take longer', () => {
    const compiled = vi.spyOn(globalThis, 'Function');
    expect(parseClaims({ email: 'a@example.com', team: 'red' }, ['team']).faults).toEqual([]);
    expect(compiled).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it('come out with their claims', async () => {
    const yaml = `users:\n${user({ email: 'a@example.com', email_verified: 'true', given_name: 'Alice', updated_at: '1700000000', birthdate: '0000-05-01' })}`;
    expect(await usersOf(yaml)).toEqual([
      {
        id: 'usr_0123456789abcdef',
        username: 'alice',
        passwordHash: HASH,
        disabled: false,
        groups: [],
        claims: {
          email: 'a@example.com',
          email_verified: true,
          given_name: 'Alice',
          updated_at: 1_700_000_000,
          birthdate: '0000-05-01',
        },
      },
    ]);
  });

  it('may be a bare list, or nobody', async () => {
    expect(await usersOf(user({ disabled: 'true' }))).toMatchObject([{ disabled: true }]);
    expect(await usersOf('# nobody yet\n')).toEqual([]);
    await expect(usersOf('')).rejects.toThrow('is empty: write []');
    for (const nothing of ['null', '~', '# nobody\n--- null'])
      await expect(usersOf(nothing)).rejects.toThrow('is empty: write []');
    expect((await load(PUBLIC)).users).toEqual([]);
  });

  const cases: readonly [keys: Record<string, string | undefined>, words: string][] = [
    [{ id: 'alice' }, 'must be usr_'],
    [{ id: 'usr_short' }, 'must be usr_'],
    [{ id: undefined }, 'id: is required'],
    [{ username: '""' }, 'must not be empty'],
    [{ username: '"a\\u0000b"' }, 'control characters'],
    [{ username: '42' }, 'put it in quotes'],
    [{ password_hash: 'hunter2' }, 'must be an argon2id hash'],
    [{ password_hash: HASH.replace('m=19456', 'm=64') }, 'must be an argon2id hash'],
    // A single hash that can't be decoded would make every sign-in fail.
    [{ password_hash: HASH.slice(0, -1) }, 'must be an argon2id hash'],
    [{ password_hash: HASH.replace('wbzKQ$', 'wbzKR$') }, 'must be an argon2id hash'],
    [{ password_hash: HASH.replace('m=19456', 'm=019456') }, 'must be an argon2id hash'],
    [{ email: 'nobody' }, 'must be an email address'],
    [{ picture: 'javascript:x' }, 'must be a complete http or https URL'],
    [{ birthdate: '1.5.1990' }, 'must be YYYY-MM-DD'],
    [{ given_nam: 'Alice' }, 'did you mean "given_name"?'],
    [{ password: 'x' }, 'unknown key "password"'],
  ];

  it('F1-23: have no login name with a character that renders as nothing', async () => {
    for (const code of [
      0xad, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180e, 0x200b, 0x2800, 0x3164, 0xfe0f, 0xffa0, 0xe0061,
    ]) {
      const username = JSON.stringify(`al${String.fromCodePoint(code)}ice`);
      const problems = await userProblems(user({ username }));
      expect(problems, code.toString(16)).toEqual([expect.stringContaining('invisible characters')]);
    }
    expect(await usersOf(user({ username: '"Žofie Ελένη 안나"' }))).toHaveLength(1);
  });

  it('F1-23: have at most 64 KB of claims, standard and custom ones together', async () => {
    const head = `${PUBLIC}scopes: { more: { claims: [quota] } }\n`;
    const email = (length: number) => ({ email: `${'x'.repeat(length)}@example.com` });
    const quota = { claims: `{ quota: "${'ä'.repeat(16_384)}" }` };
    for (const keys of [email(65_536), { ...email(32_768), ...quota }]) {
      const problems = await userProblems(user(keys), head);
      expect(problems).toEqual([expect.stringMatching(/claims: .*at most 64 KB/)]);
    }
    expect(await usersOf(user({ ...email(30_000), ...quota }), head)).toHaveLength(1);
  });

  it.each(cases)('%o are refused', async (keys, words) => {
    const problems = await userProblems(user(keys));
    expect(problems).toEqual([expect.stringContaining(words)]);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('have a password, or can have a passkey', async () => {
    const nobody = user({ password_hash: undefined });
    expect(await userProblems(nobody)).toEqual([
      expect.stringMatching(/\[0\]\.password_hash: is required unless sign_in\.passkeys is on/),
    ]);
    expect(await userProblems(nobody, `${PUBLIC}sign_in: { one_time_codes: true }\n`)).toHaveLength(1);
    const withPasskeys = `${PUBLIC}sign_in: { passkeys: true }\n`;
    expect(await usersOf(nobody, withPasskeys)).toMatchObject([
      { username: 'alice', passwordHash: undefined },
    ]);
    // Its problem is reported once.
    expect(await userProblems(nobody, `${PUBLIC}sign_in: { passkeys: maybe }\n`)).toEqual([
      expect.stringContaining('sign_in.passkeys'),
    ]);
  });

  it.each(['Alice', '"ａlice"', '" alice "'])('are not told apart by %s and alice', async (username) => {
    const yaml = user() + user({ id: 'usr_fedcba9876543210', username });
    expect(await userProblems(yaml)).toEqual([
      expect.stringContaining('[1].username: "alice" is already used at users.yaml:2'),
    ]);
  });

  it('have an email address each, or there is a warning', async () => {
    const other = (email: string) => user({ id: 'usr_fedcba9876543210', username: 'bob', email });
    const noticesOf = async (users: string) =>
      (await load(`${PUBLIC}users_from: users.yaml\n`, { 'users.yaml': users })).notices;
    for (const email of ['Ａda@Example.com', 'ada@example.com'])
      expect(await noticesOf(user({ email: 'ada@example.com' }) + other(email))).toEqual([
        expect.stringContaining('user "bob" has the same email as "alice": apps'),
      ]);
    expect(await noticesOf(user({ email: 'ada@example.com' }) + other('ida@example.com'))).toEqual([]);
  });

  it('have one id each', async () => {
    expect(await userProblems(user() + user({ username: 'bob' }))).toEqual([
      expect.stringContaining('[1].id: "usr_0123456789abcdef" is already used at users.yaml:2'),
    ]);
  });

  it('CF-07: the demo password is refused by name when the issuer is not this machine', async () => {
    const yaml = user({ username: 'demo', password_hash: DEMO_PASSWORD_HASH });
    expect(await userProblems(yaml, LOCAL)).toEqual([]);
    expect(await userProblems(yaml)).toEqual([
      expect.stringMatching(
        /^users\.yaml:4:20 \[0\]\.password_hash: is the public demo password.*\(username demo\)$/,
      ),
    ]);
  });
});
