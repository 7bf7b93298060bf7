// The audit trail in a file that a service and `postern user` share, over restarts, logrotate and a full disk.
import { execFileSync } from 'node:child_process';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { machineToken, signIn } from '../world/app.ts';
import { PASSWORDS, PEOPLE, seedStore, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { startProcess } from '../world/process.ts';
import { inProcesses, PROCESSES } from '../world/processes.ts';
import type { AuditRecord } from '../world/recorded-telemetry.ts';
import { postern, useEnvironment } from '../world/terminal.ts';
import { testFolder } from '../world/temp-folder.ts';

let folder: string;
let world: World;

async function configureAudit(config: Readonly<Record<string, unknown>>, hasKeys = true): Promise<void> {
  world = await writeWorldConfig(folder, { config });
  if (hasKeys) await seedStore(world.configFile);
}

useEnvironment(() => WORLD_ENV);
beforeEach(() => void (folder = testFolder()));

const recordsIn = async (file: string): Promise<AuditRecord[]> =>
  (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditRecord);

describe('CF-15: the audit trail in a file', () => {
  it('survives restarts, has what postern user does, and goes to a new file after logrotate', async () => {
    await configureAudit({ audit: 'file:audit/trail.jsonl' }, false);
    const file = path.join(folder, 'audit', 'trail.jsonl');
    for (let start = 1; start <= 2; start += 1) {
      const service = await startProcess(world.configFile);
      await machineToken(world);
      await postern(['user', 'disable', 'bob', '--config', world.configFile]);
      await postern(['user', 'enable', 'bob', '--config', world.configFile]);
      expect((await service.end()).code).toBe(0);
    }
    const events = (await recordsIn(file)).map(({ event, action }) =>
      [event, action].flat().join(' ').trim(),
    );
    const one = [
      'keys_changed',
      'service_started',
      'token_issued',
      'account_changed disable',
      'account_changed enable',
      'service_stopped',
    ];
    expect(events).toEqual([one[0], 'keys_created', ...one.slice(1), ...one]);
    expect((await recordsIn(file)).find(({ action }) => action === 'disable')).toMatchObject({
      account_id: PEOPLE.bob,
      outcome: 'success',
    });

    const service = await startProcess(world.configFile);
    await rename(file, `${file}.1`);
    process.kill(service.pid, 'SIGHUP');
    await vi.waitFor(async () => expect(await readFile(file, 'utf8')).toBe(''), MACHINE_MS);
    await machineToken(world);
    await service.end();
    expect((await recordsIn(file)).map(({ event }) => event)).toEqual(['token_issued', 'service_stopped']);
  });

  it.each(PROCESSES)('keeps the old file if the new one fails: %i process(es)', async (workers) => {
    await configureAudit({ audit: 'file:audit/trail.jsonl', ...inProcesses(workers) });
    const service = await startProcess(world.configFile);
    const old = path.join(folder, 'old');
    await rename(path.join(folder, 'audit'), old);
    await writeFile(path.join(folder, 'audit'), 'in the way');
    process.kill(service.pid, 'SIGHUP');
    await vi.waitFor(() => expect(service.stderr()).toContain('could not be reopened'), MACHINE_MS);
    await machineToken(world);
    expect((await service.end()).code).toBe(0);
    const events = (await recordsIn(path.join(old, 'trail.jsonl'))).map(({ event }) => event);
    expect(events).toContain('token_issued');
    expect(events.at(-1)).toBe('service_stopped');
  });

  it("says once that it can't be written, shows what waits, and loses none of it", async () => {
    await configureAudit({ audit: 'file:audit/trail.jsonl' });
    const file = path.join(folder, 'audit', 'trail.jsonl');
    const service = await startProcess(world.configFile);
    const limitFiles = (to: string) =>
      execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${to}:`]);
    const waiting = async () => {
      const metrics = await (await fetch(`${world.management}/metrics`)).text();
      return Number(/^postern_lines_waiting_bytes\{to="audit"\} (\d+)/m.exec(metrics)?.[1]);
    };
    await vi.waitFor(async () => expect(await waiting()).toBe(0), MACHINE_MS);
    // A file-size limit, which every user may set on their own process, acts like a full disk.
    limitFiles('0');
    for (let count = 0; count < 3; count += 1) await machineToken(world);
    const failure = "the audit trail can't be written: records are buffered in memory";
    await vi.waitFor(() => expect(service.stderr()).toContain(failure), MACHINE_MS);
    expect(service.stderr()).toContain('EFBIG');
    expect(service.stderr().split(failure)).toHaveLength(2);
    expect(await waiting()).toBeGreaterThan(700);
    limitFiles('unlimited');
    await vi.waitFor(async () => expect(await waiting()).toBe(0), MACHINE_MS);
    await service.end();
    const events = (await recordsIn(file)).map(({ event }) => event);
    expect(events.filter((event) => event === 'token_issued')).toHaveLength(3);
  });

  it('says at its end that what waits is lost, and so does postern user', async () => {
    await configureAudit({ audit: 'file:/dev/full' });
    const service = await startProcess(world.configFile);
    const done = await postern(['user', 'disable', 'bob', '--config', world.configFile]);
    expect([done.code, done.stderr]).toEqual([
      1,
      'the change was made, but its audit record could not be written to /dev/full\n',
    ]);
    expect((await service.end()).stderr).toContain('audit records could not be written and are lost');
  });

  it('IN-08: nothing that a process writes holds a secret, with the log at debug', async () => {
    await configureAudit({ log: { level: 'debug', format: 'json' } });
    const service = await startProcess(world.configFile);
    const { tokens, callback, verifier } = await signIn(world);
    const machine = await machineToken(world);
    const { stdout, stderr } = await service.end();
    expect(stderr).toContain('"msg":"request"');
    expect(stdout).toContain('"event":"token_issued"');
    const secrets = [
      tokens.access_token,
      tokens.refresh_token ?? '',
      tokens.id_token ?? '',
      callback.searchParams.get('code') ?? '',
      verifier,
      machine,
      ...Object.values(WORLD_ENV),
      ...Object.values(PASSWORDS),
    ];
    for (const secret of secrets) expect(stdout + stderr).not.toContain(secret);
  });

  it("says at the start when it can't be written", async () => {
    await configureAudit({ audit: `file:${folder}` });
    await expect(startProcess(world.configFile)).rejects.toThrow(
      `EISDIR: illegal operation on a directory, open '${folder}`,
    );
  });
});
