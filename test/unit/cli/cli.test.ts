import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verify } from '@node-rs/argon2';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load.ts';
import { digestOf, weakness } from '../../../src/config/secret-strength.ts';
import { postern, posternTyped } from '../../world/terminal.ts';
import { configFolder } from '../../world/temp-folder.ts';

const { folder, file } = configFolder();

describe('postern', () => {
  it('ends with 2 when it is misused, and says what there is', async () => {
    for (const args of [
      ['chek'],
      [],
      ['check', '--confg', 'x'],
      ['check', 'one', 'two'],
      ['client'],
      ['user', 'nope'],
    ]) {
      const { code, stdout, stderr } = await postern(args);
      expect(code, args.join(' ')).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).not.toBe('');
    }
  });

  it('ends with 0 when it only had to explain itself', async () => {
    const version: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(version).toMatchObject({ version: (await postern(['--version'])).stdout.trim() });
    expect(await postern(['check', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--config'),
    });
  });
});

describe('postern check', () => {
  it('finds the shipped configuration in order', async () => {
    expect(await postern(['check'])).toEqual({
      code: 0,
      stdout: 'config/postern.yaml is valid: http://localhost:3000, 2 clients, 1 resource, 1 user\n',
      stderr: '',
    });
    const { code, stdout } = await postern(['check', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true, problems: [], warnings: [] }]);
  });

  it('prints every problem in the form that editors turn into links', async () => {
    const config = file(
      'bad.yaml',
      'issuer: http://localhost:3000\npasswords: { min_length: 0 }\nscope: {}\n',
    );
    const { code, stdout, stderr } = await postern(['check', '--config', config]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.split('\n')).toEqual([
      `${config}:2:26 passwords.min_length: must be at least 8`,
      `${config}:3:1 scope: unknown key "scope": did you mean "scopes"?`,
      '',
      '2 problems',
      '',
    ]);
  });

  it('prints the same as JSON', async () => {
    const config = file('bad.yaml', 'issuer: http://localhost:3000\npasswords: { min_length: 0 }\n');
    const { code, stdout, stderr } = await postern(['check', '-c', config, '--json']);
    expect([code, stderr]).toEqual([1, '']);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      problems: [
        {
          file: config,
          line: 2,
          column: 26,
          path: 'passwords.min_length',
          message: 'must be at least 8',
        },
      ],
    });
  });

  it('names a schema beside the file that is from another version', async () => {
    const config = file('local.yaml', 'issuer: http://localhost:3000\n');
    const schema = file('clients.schema.json', (await postern(['schema', 'clients'])).stdout);
    expect((await postern(['check', '-c', config])).stderr).toBe('');
    for (const other of ['{}', '{', '']) {
      file('clients.schema.json', other);
      const said = `warning: ${schema} is from another version: run postern schema clients > ${schema}\n`;
      expect(await postern(['check', '-c', config])).toMatchObject({ code: 0, stderr: said });
    }
  });

  it('leaves the disk alone', async () => {
    const config = file('local.yaml', 'issuer: http://localhost:3000\nstore: lmdb:data\n');
    expect((await postern(['check', '-c', config])).code).toBe(0);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('says when there is no such file', async () => {
    const { code, stderr } = await postern(['check', '-c', join(folder, 'none.yaml')]);
    expect([code, stderr]).toEqual([1, `${join(folder, 'none.yaml')} does not exist\n`]);
  });
});

it.each(['postern', 'users'])('postern schema prints what is shipped for %s', async (name) => {
  const { code, stdout } = await postern(['schema', name]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(`config/${name}.schema.json`, 'utf8')));
  expect(JSON.parse(stdout)).toMatchObject({ $id: `urn:postern:schema:${name}` });
});

it('postern client secret makes a strong secret and the YAML that accepts it', async () => {
  const { code, stdout } = await postern(['client', 'secret']);
  expect(code).toBe(0);
  const [secret = '', ...lines] = stdout.split('\n');
  expect(secret).toMatch(/^[A-Za-z0-9._~-]{43}$/);
  expect(weakness(secret)).toBeUndefined();
  expect(lines.join('\n')).not.toContain(secret);
  const yaml = lines.map((line) => `    ${line}`).join('\n');
  const config = file(
    'secret.yaml',
    `issuer: http://localhost:3000\nresources: [{ resource: urn:a, scopes: [a] }]\nclients:\n  - client_id: svc\n    scope: a\n    grant_types: [client_credentials]\n${yaml}`,
  );
  const { clients } = await loadConfig(config, { writeKeys: false });
  expect(clients[0]?.secrets[0]).toMatchObject({ digest: digestOf(secret) });
});

describe('postern user hash', () => {
  const PASSWORD = 'correct horse é battery';

  it('F1-27: takes the password from stdin and prints an entry that loads, with the name for apps', async () => {
    const { code, stdout } = await postern(['user', 'hash', '--username', 'alice: "a"'], `${PASSWORD}\n`);
    expect(code).toBe(0);
    expect(stdout).not.toContain(PASSWORD);
    expect(stdout).toContain('$argon2id$v=19$m=19456,t=2,p=1$');
    file('users.yaml', stdout);
    const config = file('people.yaml', 'issuer: http://localhost:3000\nusers_from: users.yaml\n');
    const { users } = await loadConfig(config, { writeKeys: false });
    expect(users[0]?.username).toBe('alice: "a"');
    expect(users[0]?.claims).toEqual({ preferred_username: 'alice: "a"' });
    await expect(verify(users[0]?.passwordHash ?? '', PASSWORD)).resolves.toBe(true);
  });

  it.each(['\n', '\r\n', '\r', '\u2028'])('refuses stdin with a line break inside: %j', async (lineBreak) => {
    for (const stdin of [`${PASSWORD}${lineBreak}${PASSWORD}\n`, `${lineBreak}${PASSWORD}\n`]) {
      const { code, stdout, stderr } = await postern(['user', 'hash'], stdin);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^stdin has more than one line: .*\n$/);
    }
  });

  it('asks a person twice, and shows nothing of what is typed', async () => {
    const { code, stdout, stderr } = await posternTyped(['user', 'hash'], [`${PASSWORD}\r`, `${PASSWORD}\r`]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain('horse');
    const [entry] = parse(stdout) as { password_hash: string }[];
    await expect(verify(entry?.password_hash ?? '', PASSWORD)).resolves.toBe(true);
  });

  it('keeps to the length that a configuration wants, and to 15 without one', async () => {
    const config = file('short.yaml', 'issuer: http://localhost:3000\npasswords: { min_length: 8 }\n');
    expect((await postern(['user', 'hash'], 'otterly8')).stderr).toContain('at least 15 characters');
    const { stdout } = await postern(['user', 'hash', '-c', config, '--json'], 'otterly8');
    expect((JSON.parse(stdout) as { yaml: string }).yaml).toMatch(/^- id: usr_[^]*: "username"\n$/);
    expect((await postern(['user', 'hash', '-c', config, '-u', 'otterly'], 'otterly8')).code).toBe(1);
    const seven = file('seven.yaml', 'issuer: http://localhost:3000\npasswords: { min_length: 7 }\n');
    const { code, stderr } = await postern(['check', '-c', seven]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('passwords.min_length: must be at least 8')]);
  });

  it('refuses two that differ, and somebody who gives up', async () => {
    expect(await posternTyped(['user', 'hash'], [`${PASSWORD}\r`, 'something else\r'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining("don't match"),
    });
    expect(await posternTyped(['user', 'hash'], ['\u0003'])).toMatchObject({ code: 1, stdout: '' });
  });

  it('refuses one that is too short or too long, and takes none as an argument', async () => {
    expect((await postern(['user', 'hash'], 'short\n')).code).toBe(1);
    expect((await postern(['user', 'hash'], '')).code).toBe(1);
    expect((await postern(['user', 'hash'], 'x'.repeat(1025))).code).toBe(1);
    expect((await postern(['user', 'hash'], 'x'.repeat(70_000))).code).toBe(1);
    const { code, stdout, stderr } = await postern(['user', 'hash', PASSWORD]);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(PASSWORD);
  });
});
