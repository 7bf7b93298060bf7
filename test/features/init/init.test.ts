import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { verify } from '@node-rs/argon2';
import { describe, expect, it } from 'vitest';
import { list } from '../../../src/features/index.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { runProgram } from '../../world/process.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const root = tempFolder();

let count = 0;
const newFolder = () => join(root, String((count += 1)), 'auth');

describe('postern init', () => {
  it('writes a configuration that is in order, and prints the password once', async () => {
    const folder = newFolder();
    const { code, stdout, stderr } = await postern(['init', folder]);
    expect(code).toBe(0);
    const file = join(folder, 'config/postern.yaml');
    expect(await postern(['check', '--config', file])).toMatchObject({ code: 0, stderr: '' });
    const { users, clients, encryptionKeys, notices } = await loadConfig(file);
    expect(users.map(({ username }) => username)).toEqual(['alice']);
    await expect(verify(users[0]?.passwordHash ?? '', stdout.trim())).resolves.toBe(true);
    expect(clients.map(({ clientId }) => clientId)).toEqual(['demo']);
    expect([notices, encryptionKeys[0]?.length]).toEqual([[], 32]);
    expect(stderr).toContain(`\n  postern serve --config ${file}\n`);
    const begins = 'Then open http://localhost:3001/try and sign in as alice.';
    expect(stderr.includes(begins)).toBe(list('begin').length > 0);
    const written = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    for (const { parentPath, name } of written) {
      expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(stdout.trim());
    }
  });

  it('says what has to go when the issuer is no longer this machine, and then all is in order', async () => {
    const folder = newFolder();
    await postern(['init', folder]);
    const file = join(folder, 'config/postern.yaml');
    const local = readFileSync(file, 'utf8');
    writeFileSync(file, local.replace('issuer: http://localhost:3000', 'issuer: https://id.example'));
    const { code, stderr } = await postern(['check', '--config', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/clients\.d\/demo\.yaml:\d+:\d+ .*the public demo secret.*remove the client/);
    for (const line of stderr.match(/\S+:\d+:\d+ /g) ?? []) expect(line).toContain('demo.yaml');
    const demo = join(folder, 'config/clients.d/demo.yaml');
    expect(readFileSync(demo, 'utf8')).toContain('delete this file');
    rmSync(demo);
    expect(await postern(['check', '--config', file])).toMatchObject({ code: 0, stderr: '' });
  });

  it('prints commands that run as they stand in a checkout, where postern is a script and not a program', async () => {
    const folder = newFolder();
    const { stderr } = await runProgram(['./postern', 'init', folder], {});
    const check = /^ +(\S.* check .*)$/m.exec(stderr)?.[1] ?? '';
    expect(check).toBe(`./postern check --config ${join(folder, 'config/postern.yaml')}`);
    expect(await runProgram(check.split(' '), {})).toMatchObject({ code: 0 });
    const help = await runProgram(['./postern', 'client', 'secret', '--help'], {});
    expect(help.stdout).toContain('Usage: ./postern client secret ');
  });

  it('keeps keys from other users and from git', async () => {
    const folder = newFolder();
    await postern(['init', folder]);
    const secrets = join(folder, 'config/secrets');
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    for (const name of ['encryption.key', 'cookie.key']) {
      expect(statSync(join(secrets, name)).mode & 0o777).toBe(0o600);
    }
    expect(readFileSync(join(secrets, '.gitignore'), 'utf8')).toMatch(/^\*$/m);
    expect(readFileSync(join(folder, 'data/.gitignore'), 'utf8')).toMatch(/^\*$/m);
    const main = readFileSync(join(folder, 'config/postern.yaml'), 'utf8');
    const linked = {
      postern: '.',
      users: '.',
      'clients.d/example': '../clients',
      'clients.d/demo': '../clients',
    };
    for (const [name, to] of Object.entries(linked)) {
      const schema = to === '.' ? `./${name}.schema.json` : `${to}.schema.json`;
      const text = readFileSync(join(folder, `config/${name}.yaml`), 'utf8');
      expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${schema}`);
      expect(existsSync(join(folder, 'config', dirname(name), schema))).toBe(true);
    }
    expect(main).toContain('encryption_keys: [file:secrets/encryption.key]');
    expect(JSON.parse(readFileSync(join(folder, 'config/postern.schema.json'), 'utf8'))).toEqual(
      JSON.parse((await postern(['schema'])).stdout),
    );
  });

  it('overwrites nothing: one file that is there, and none is written', async () => {
    const folder = newFolder();
    await postern(['init', folder]);
    rmSync(join(folder, 'config/postern.yaml'));
    writeFileSync(join(folder, 'config/users.yaml'), 'mine');
    const { code, stdout, stderr } = await postern(['init', folder]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('config/users.yaml');
    expect(readFileSync(join(folder, 'config/users.yaml'), 'utf8')).toBe('mine');
    expect(readdirSync(join(folder, 'config'))).not.toContain('postern.yaml');
  });

  it('takes issuer and name', async () => {
    const folder = newFolder();
    const args = ['init', folder, '--issuer', 'https://id.example/auth', '-u', 'ann: "a"'];
    expect(await postern(args)).toMatchObject({ code: 0 });
    const { issuer, users, clients } = await loadConfig(join(folder, 'config/postern.yaml'));
    expect([issuer, users[0]?.username]).toEqual(['https://id.example/auth', 'ann: "a"']);
    expect(clients).toEqual([]);
    const local = newFolder();
    await postern(['init', local, '--issuer', 'http://localhost:3910']);
    const { listen, management, clients: demo } = await loadConfig(join(local, 'config/postern.yaml'));
    expect([listen.port, management.port]).toEqual([3910, 3911]);
    expect(demo[0]?.redirectUris).toEqual(['http://localhost:3911/try/callback']);
  });

  it('refuses what could not run, before it writes', async () => {
    const folder = newFolder();
    expect((await postern(['init', folder, '--issuer', 'http://id.example'])).code).toBe(2);
    expect((await postern(['init', folder, '--issuer', 'https://id.example\nworkers: 9'])).code).toBe(2);
    expect((await postern(['init', folder, '--username', ''])).code).toBe(2);
    expect(() => readdirSync(folder)).toThrow();
  });
});
