// The embedded store on a full disk, and with files that are not the ones it has open: the real process, and the answers of
// its management port. A file-size limit stands in for the full disk, because every user may set one on their own process.
import { execFileSync } from 'node:child_process';
import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { type Answer, readiness } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { seedStore, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { MAIN, startProcess, type ServiceProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { postern, useEnvironment } from '../world/terminal.ts';
import { testFolder } from '../world/temp-folder.ts';

const UNLIMITED = 'unlimited';
const LIMITED = ['/bin/sh', '-c', 'ulimit -S -f 0 && exec "$0" "$@"', process.execPath, MAIN];

let world: World;
let service: ServiceProcess;
const at = (...names: string[]) => path.join(world.folder, ...names);

useEnvironment(() => WORLD_ENV);
beforeEach(async () => {
  world = await writeWorldConfig(testFolder());
  await seedStore(world.configFile);
});

async function startHere(command?: readonly string[]): Promise<void> {
  service = forTest(await startProcess(world.configFile, command));
}

function limitFiles(to: number | typeof UNLIMITED): void {
  execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${to}:`]);
}

async function readyAndGauge() {
  const metrics = await (await fetch(`${world.management}/metrics`)).text();
  return { ...(await readiness(world)), gauge: Number(/^postern_ready (\d)/m.exec(metrics)?.[1]) };
}

const READY = { status: 200, problems: [], gauge: 1 };
const notReady = (problem: string) => ({ status: 503, problems: [problem], gauge: 0 });
const FULL = 'the store rejects writes: File too large';
const REPLACED = "the store is unsafe: the store's file was replaced: restart";

describe('a store whose disk is full', () => {
  it('is not ready, says why, and is ready again once there is room', async () => {
    await startHere();
    expect(await readyAndGauge()).toEqual(READY);
    limitFiles(0);
    // A successful write counts for a second.
    await vi.waitFor(async () => expect(await readyAndGauge()).toEqual(notReady(FULL)), {
      timeout: 60_000,
      interval: 500,
    });
    // Machine tokens need no write.
    await machineToken(world);
    limitFiles(UNLIMITED);
    await vi.waitFor(async () => expect(await readyAndGauge()).toEqual(READY), {
      timeout: 60_000,
      interval: 500,
    });
    await signIn(world);
  });

  it('is not ready after a start on it either', async () => {
    await startHere();
    await service.end();
    await startHere(LIMITED);
    expect(await readyAndGauge()).toEqual(notReady(FULL));
  });

  it('stops a first start with one line', async () => {
    await rm(at('data'), { recursive: true });
    await expect(startHere(LIMITED)).rejects.toThrow(
      `ended with 1: the store folder ${at('data')} can't be opened: EFBIG\n`,
    );
  });
});

describe('RD-10: a code or a token that is used on a full disk', () => {
  beforeEach(() => startHere());

  const PAGE = 4096;

  /** Leaves no room except the free pages inside the file: a small write may succeed while a larger one fails. */
  async function onFullDisk<T>(act: () => Promise<T>): Promise<T> {
    limitFiles(Math.floor((await stat(at('data', 'data.mdb'))).size / PAGE) * PAGE);
    const result = await act();
    limitFiles(UNLIMITED);
    return result;
  }

  /** Repeats until the disk is full: the store may still have free pages for the first uses. */
  async function untilRefused(use: () => Promise<Answer>): Promise<void> {
    for (let tries = 0; tries < 30; tries += 1) {
      const { status, headers } = await onFullDisk(use);
      if (status === 503) return expect(headers.get('retry-after')).toBe('2');
      expect(status).toBe(200);
    }
    throw new Error('the disk was never full');
  }

  it('a refresh that was answered with 503 is repeated with the same token, ten times', async () => {
    let token = (await signIn(world)).tokens.refresh_token;
    const use = async () => {
      const answer = await refresh(world, token);
      if (answer.status === 200) token = String(answer.body['refresh_token']);
      return answer;
    };
    for (let round = 0; round < 10; round += 1) {
      await untilRefused(use);
      expect([round, (await use()).status]).toEqual([round, 200]);
    }
    // Errors of lmdb are in lines of the log; the output of its C code is on lines of its own.
    const lines = service
      .stderr()
      .split('\n')
      .filter((line) => line !== '');
    const isOfLmdb = (line: string) => /^Write error: [^{]+$/.test(line);
    expect(lines.filter((line) => !line.startsWith('{') && !isOfLmdb(line))).toEqual([]);
    expect(lines.join('\n')).not.toContain('see commitError');
  });

  it('a code whose exchange was answered with 503 is exchanged all the same, five times', async () => {
    let authorized = await authorize(world);
    for (let round = 0; round < 5; round += 1) {
      await untilRefused(async () => {
        const answer = await redeem(world, authorized);
        if (answer.status !== 200) return answer;
        limitFiles(UNLIMITED);
        authorized = await authorize(world);
        return answer;
      });
      expect([round, (await redeem(world, authorized)).status]).toEqual([round, 200]);
      expect((await redeem(world, authorized)).body['error']).toBe('invalid_grant');
      authorized = await authorize(world);
    }
  });
});

describe('a store whose files are not those that the service has open', () => {
  beforeEach(() => startHere());

  it('is not ready when a backup is put in its place', async () => {
    await cp(at('data'), at('copy'), { recursive: true });
    await rename(at('data'), at('lost'));
    await cp(at('copy'), at('data'), { recursive: true });
    expect(await readyAndGauge()).toEqual(notReady(REPLACED));
    await rm(at('data'), { recursive: true });
    await rename(at('lost'), at('data'));
    expect(await readyAndGauge()).toEqual(READY);
  });

  it('is not ready when its folder is removed, and a verb that only reads makes no other', async () => {
    await rm(at('data'), { recursive: true });
    expect(await readyAndGauge()).toEqual(
      notReady("the store is unsafe: the store's file is gone: restore a backup, then restart"),
    );
    const codes: (number | null)[] = [];
    for (const verb of [
      ['user', 'list'],
      ['keys', 'list'],
      ['client', 'list'],
    ]) {
      codes.push((await postern([...verb, '--config', world.configFile])).code);
    }
    expect(codes).toEqual([1, 1, 0]);
    await expect(rename(at('data'), at('made'))).rejects.toThrow('ENOENT');
  });
});

describe('a lock file that the service may not open', () => {
  const NOBODY = 65_534;
  const isRoot = process.getuid?.() === 0;
  const asNobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

  async function giveToNobody(folder: string): Promise<void> {
    await chown(folder, NOBODY, NOBODY);
    for (const entry of await readdir(folder, { recursive: true })) {
      await chown(path.join(folder, entry), NOBODY, NOBODY);
    }
  }

  it('refuses the start, instead of a segmentation fault', async () => {
    const lock = at('data', 'lock.mdb');
    if (isRoot) {
      await giveToNobody(world.folder);
      await chown(lock, 0, 0);
    } else {
      await chmod(lock, 0o400);
    }
    const command = [...(isRoot ? asNobody : []), process.execPath, MAIN];
    await expect(startHere(command)).rejects.toThrow(
      `ended with 1: the store folder ${at('data')} can't be opened: EACCES\n`,
    );
  });

  it.runIf(isRoot)(
    'and keys that a command of root generates belong to the owner of the folder',
    async () => {
      const keyless = { config: { encryption_keys: [], cookie_keys: [] } };
      world = await writeWorldConfig(testFolder(), keyless);
      await mkdir(at('data'), { mode: 0o700 });
      await giveToNobody(world.folder);
      expect((await postern(['keys', 'list', '--config', world.configFile])).code).toBe(1);
      expect((await readdir(at('data'))).toSorted()).toEqual(['cookie.key', 'encryption.key']);
      await startHere([...asNobody, process.execPath, MAIN]);
      expect(await readyAndGauge()).toEqual(READY);
    },
  );

  it.runIf(isRoot)(
    'is no link by which a command of root gives away or overwrites a file elsewhere',
    async () => {
      await giveToNobody(world.folder);
      const lock = at('data', 'lock.mdb');
      await rm(lock);
      await symlink(at('elsewhere'), lock);
      await symlink(at('postern.json'), at('data', `room-${process.pid}`));
      const before = await readFile(world.configFile, 'utf8');
      const { code, stderr } = await postern(['keys', 'list', '--config', world.configFile]);
      expect([code, stderr]).toEqual([1, `the store folder ${at('data')} can't be opened: ENOENT\n`]);
      await expect(stat(at('elsewhere'))).rejects.toThrow('ENOENT');
      expect(await readFile(world.configFile, 'utf8')).toBe(before);
    },
  );

  it.runIf(isRoot)('is not left behind by a command that root runs after a restore', async () => {
    await cp(at('data'), at('copy'), { recursive: true });
    await rm(at('data'), { recursive: true });
    await cp(at('copy'), at('data'), { recursive: true });
    await giveToNobody(world.folder);
    expect((await postern(['keys', 'list', '--config', world.configFile])).code).toBe(0);
    expect((await stat(at('data', 'lock.mdb'))).uid).toBe(NOBODY);
    await startHere([...asNobody, process.execPath, MAIN]);
    expect(await readyAndGauge()).toEqual(READY);
  });
});
