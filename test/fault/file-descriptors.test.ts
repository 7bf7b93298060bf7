// A process that comes near its limit of file descriptors says so before it can't accept a connection any more.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { freePort } from '../world/servers.ts';
import { startProcess, type ServiceProcess } from '../world/process.ts';
import { writeWorldConfig } from '../world/world.ts';

let folder = '';
let service: ServiceProcess | undefined;
afterEach(async () => {
  await service?.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

it('a process with few file descriptors left says so in the log, once', async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-descriptors-'));
  const { configFile } = await writeWorldConfig(folder, {}, [await freePort(), await freePort()]);
  const running = (service = await startProcess(configFile));
  const open = readdirSync(`/proc/${running.pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(running.pid), `--nofile=${open + 4}:`]);
  const lines = () =>
    running
      .stderr()
      .split('\n')
      .filter((line) => line.includes('file descriptors run out'));
  await vi.waitFor(() => expect(lines()).toHaveLength(1), { timeout: 20_000, interval: 200 });
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ limit: open + 4, level: 40 });
});
