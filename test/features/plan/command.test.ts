import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runVerb } from '../../world/command-line.ts';
import { givePasskey } from '../../world/second-factors.ts';
import { configFolder } from '../../world/temp-folder.ts';
import { postern } from '../../world/terminal.ts';
import { PASSWORD_HASHES, startWorld } from '../../world/world.ts';

const { folder, file } = configFolder();

const MAIN = 'issuer: http://localhost:3000\nlifetimes: { access_token: 30m }\n';
const current = file('current.yaml', MAIN);

const planOf = (next: string, ...more: string[]) => postern(['plan', next, '--config', current, ...more]);

describe('postern plan', () => {
  it('ends with 0 when nothing changes', async () => {
    const same = await planOf(file('same.yaml', `# the same\n${MAIN}`));
    expect(same).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
    const { stdout } = await planOf(current, '--json');
    expect(JSON.parse(stdout)).toEqual({ ok: true, result: 'nothing', items: [], restart: [] });
  });

  it('ends with 10 when something changes and nothing breaks', async () => {
    const { code, stdout } = await planOf(file('change.yaml', MAIN.replace('30m', '10m')));
    expect(code).toBe(10);
    expect(stdout).toMatch(
      /^change {4}lifetimes\.access_token: changed from 1800 to 600\n\nno breaking changes/,
    );
  });

  it('ends with 11 when something breaks, the worst first', async () => {
    const next = file(
      'breaking.yaml',
      'issuer: https://id.example\nencryption_keys: [env:E]\ncookie_keys: [env:C]\nbranding: { name: X }\n',
    );
    const { code, stdout } = await planOf(next, '--no-secrets');
    expect(code).toBe(11);
    expect(stdout).toMatch(/^BREAKING {2}issuer: /);
    const json = await planOf(next, '--no-secrets', '--json');
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      11,
      { result: 'breaking', restart: ['issuer', 'encryption_keys'] },
    ]);
  });

  it('ends with 1 and every problem when the file is no configuration', async () => {
    const { code, stdout, stderr } = await planOf(file('bad.yaml', 'workers: 0\n'));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/issuer: is required\n.*workers: .*\n\n2 problems/);
    const json = await planOf(join(folder, 'bad.yaml'), '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false });
  });

  it('reads the store for a new username', async () => {
    await postern(['user', 'add', 'alice', '--config', current], 'seven wet umbrellas\n');
    const next = file('next.yaml', `${MAIN}users_from: users.yaml\n`);
    file(
      'users.yaml',
      `- { id: usr_0123456789abcdef, username: Alice, password_hash: "${PASSWORD_HASHES.alice}" }\n`,
    );
    expect(await planOf(next)).toMatchObject({
      code: 11,
      stdout: expect.stringContaining('hidden by an entry'),
    });
    expect((await planOf(next, '--no-secrets')).stdout).toContain('info      store: could not check');
  });

  it.each([{ one_time_codes: true }, undefined])('names users who lose their factor: %j', async (signIn) => {
    const world = await startWorld({
      issuer: 'https://id.example',
      config: { sign_in: { passkeys: true } },
    });
    await givePasskey(world, 'alice');
    const next = `${world.configFile}.next.json`;
    const form = JSON.parse(readFileSync(world.configFile, 'utf8')) as object;
    writeFileSync(next, JSON.stringify({ ...form, sign_in: signIn }));
    const { stdout, stderr } = await runVerb(['plan', next, '--config', world.configFile]);
    await world.stop();
    expect(stderr).toBe('');
    expect(stdout).toContain("sign_in: users who can't sign in without another factor: alice\n");
  });
});
