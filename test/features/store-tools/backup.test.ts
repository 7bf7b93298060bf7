// Backup and restore of the embedded store, as docs/backup.md says: copied while the service runs, put back after a loss.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineToken, signIn } from '../../world/app.ts';
import { introspection, revoke } from '../../world/presented-tokens.ts';
import { get } from '../../world/requests.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { type World, writeWorldConfig } from '../../world/world.ts';
import { runVerb } from '../../world/command-line.ts';
import { startProcess, type ServiceProcess } from '../../world/process.ts';
import { tempFolder } from '../../world/temp-folder.ts';

describe('the backup of a store that is in use', () => {
  let world: World;
  let service: ServiceProcess;
  const folder = tempFolder();
  beforeAll(async () => {
    world = await writeWorldConfig(folder);
    service = await startProcess(world.configFile);
  });
  afterAll(() => service.end());

  const at = (...names: string[]) => path.join(folder, ...names);
  const backup = (to: string) => runVerb(['store', 'backup', to, '--config', world.configFile]);
  const isActive = async (token: string, as: 'web' | 'svc' | 'rs1') =>
    (await introspection(world, token, as)).body['active'];

  it('brings back keys, sessions, grants and what was revoked; what came after it is gone', async () => {
    const alive = await signIn(world);
    const ended = await signIn(world);
    const revoked = await machineToken(world, 'reports.read');
    for (const token of [ended.tokens.refresh_token ?? '', revoked]) {
      const as = token === revoked ? 'svc' : 'web';
      await revoke(world, token, as);
    }
    const keys = (await get(world, '/oauth/jwks.json')).text;

    // Writes continue during the copy.
    let goesOn = true;
    const writing = (async () => {
      let latest = await signIn(world);
      while (goesOn) latest = await signIn(world);
      return latest;
    })();
    const copied = await backup(at('copy'));
    goesOn = false;
    await writing;
    expect(copied).toMatchObject({ code: 0, stdout: `Copied the store to ${at('copy')}\n` });
    expect([
      (await stat(at('copy'))).mode & 0o777,
      (await stat(at('copy', 'data.mdb'))).mode & 0o777,
    ]).toEqual([0o700, 0o600]);
    const after = await signIn(world);

    await service.end('SIGKILL');
    // The command that the document prints.
    const [, commands = ''] =
      /```sh\n( *mv data [\s\S]*?)```/.exec(await readFile('docs/backup.md', 'utf8')) ?? [];
    const here = commands.replace('/var/backups/postern/2026-11-21', at('copy'));
    expect(here).toContain(at('copy'));
    execFileSync('/bin/sh', ['-e', '-c', here], { cwd: folder });
    service = await startProcess(world.configFile);

    expect((await get(world, '/oauth/jwks.json')).text).toBe(keys);
    expect(await isActive(alive.tokens.access_token, 'web')).toBe(true);
    const refreshed = await refresh(world, alive.tokens.refresh_token);
    expect(refreshed.status).toBe(200);
    const prompted = await alive.browser.open(`${world.issuer}/oauth/logout`);
    expect(prompted.text).toContain('/logout/confirm');
    expect((await refresh(world, ended.tokens.refresh_token)).body['error']).toBe('invalid_grant');
    expect(await isActive(revoked, 'svc')).toBe(false);
    // Its grant isn't in the copy, so the token is rejected.
    expect(await isActive(after.tokens.access_token, 'web')).toBe(false);
    expect((await refresh(world, after.tokens.refresh_token)).body['error']).toBe('invalid_grant');
  });

  it('never overwrites anything', async () => {
    const again = await backup(at('copy'));
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(`${at('copy')} already exists`);
  });

  it('is Redis’s own business on Redis', async () => {
    const written = await writeWorldConfig(folder, { store: 'redis://127.0.0.1:1' }, [1, 2]);
    const refused = await runVerb(['store', 'backup', at('other'), '--config', written.configFile]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).not.toBe('');
  });

  it('is refused where there is no store, and none is made', async () => {
    const empty = at('empty');
    await mkdir(empty);
    const { configFile } = await writeWorldConfig(empty);
    const { code, stdout, stderr } = await runVerb([
      'store',
      'backup',
      at('nothing'),
      '--config',
      configFile,
    ]);
    expect([code, stdout, stderr]).toEqual([1, '', `there is no store in ${path.join(empty, 'data')}\n`]);
    for (const made of [at('nothing'), path.join(empty, 'data')])
      await expect(stat(made)).rejects.toThrow('ENOENT');
  });
});
