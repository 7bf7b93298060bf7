// SIGUSR1 makes Node open its debugger, which runs any code for every user of the machine. However the service is started,
// the signal must do nothing, in each of its processes.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { machineToken } from '../world/app.ts';
import { type World, writeWorldConfig } from '../world/world.ts';
import { MAIN, startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { inProcesses, PROCESSES } from '../world/processes.ts';
import { testFolder } from '../world/temp-folder.ts';

const LISTENING = '0A'; // the fourth column of /proc/net/tcp

let folder: string;
beforeEach(() => void (folder = testFolder()));

async function startWith(command: readonly string[], config: Readonly<Record<string, unknown>> = {}) {
  const world = await writeWorldConfig(folder, { config });
  return { world, running: forTest(await startProcess(world.configFile, command)) };
}

/** The ports, in hexadecimal, that a process listens on. */
async function portsOf(pid: number): Promise<readonly string[]> {
  const names = await readdir(`/proc/${pid}/fd`);
  const links = names.map(async (name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ''));
  const own = new Set(await Promise.all(links));
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  return rows.flatMap(([, address = '', , state, , , , , , inode]) =>
    state === LISTENING && own.has(`socket:[${inode}]`) ? [address] : [],
  );
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/** Signals the process, sends it requests, and returns the ports that it has opened since. */
async function openedBy(pid: number, world: World): Promise<readonly string[]> {
  const before = await portsOf(pid);
  process.kill(pid, 'SIGUSR1');
  for (let round = 0; round < 10; round += 1)
    expect(await machineToken(world, 'reports.read')).toMatch(/^ey/);
  return (await portsOf(pid)).filter((port) => !before.includes(port));
}

describe('SIGUSR1', () => {
  it.each([
    ['dist/main.js by its first line, as postern serve', [MAIN]],
    ['node dist/main.js', [process.execPath, MAIN]],
    ['node --disable-sigusr1 dist/main.js', [process.execPath, '--disable-sigusr1', MAIN]],
  ])('opens no debugger in %s', async (_how, command) => {
    const { world, running } = await startWith(command);
    expect(await openedBy(running.pid, world)).toEqual([]);
    const { code, stderr } = await running.end();
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/debugger/i);
  });

  it.runIf(PROCESSES.includes(2))('opens no debugger in a primary or its workers', async () => {
    const { world, running } = await startWith([process.execPath, MAIN], inProcesses(2));
    const workers = await childrenOf(running.pid);
    expect(workers).toHaveLength(2);
    for (const pid of [running.pid, ...workers]) expect(await openedBy(pid, world)).toEqual([]);
    expect(await childrenOf(running.pid)).toEqual(workers);
    for (const pid of workers)
      expect((await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')).toContain('--disable-sigusr1');
    const { code, stderr } = await running.end();
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/debugger/i);
  });
});
