// `postern keys`, as an administrator runs it, beside a running service on the embedded store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyReport } from '../../src/cli/keys.ts';
import { postern, posternTyped, useEnvironment } from '../world/terminal.ts';
import { runCli, type ServiceProcess, startProcess } from '../world/process.ts';
import { WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { publishedKids } from './nodes.ts';
import { tempFolder } from '../world/temp-folder.ts';

const KID = /^[A-Za-z0-9_-]{43}$/;
const POLL = { timeout: 30_000, interval: 100 };

describe('postern keys', () => {
  const folder = tempFolder();
  let configFile: string;
  let base: string;
  let service: ServiceProcess;
  let output = '';

  useEnvironment(() => WORLD_ENV);
  beforeAll(async () => {
    ({ configFile, base } = await writeWorldConfig(folder));
  });
  afterAll(() => service?.end());

  async function keys(...args: readonly string[]) {
    const ended = await postern(['keys', ...args, '--config', configFile]);
    output += ended.stdout + ended.stderr;
    return ended;
  }

  async function json(...args: readonly string[]) {
    const { code, stdout, stderr } = await keys(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as { readonly generation: number; readonly keys: readonly KeyReport[] };
  }

  it('refuse before the first start, which alone makes keys', async () => {
    for (const args of [['list'], ['rotate'], ['compromise', 'x']]) {
      const { code, stdout, stderr } = await keys(...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toBe('there are no signing keys yet: start the service once to create them\n');
    }
    service = await startProcess(configFile);
  });

  it('list: says what each key is, what comes next, and when', async () => {
    // Once in a separate process, as all verbs start.
    const { code, stdout, stderr } = await runCli(['keys', 'list', '--config', configFile]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    expect(head.split(/ +/)).toEqual(['KID', 'ALG', 'STATE', 'NEXT', 'AT']);
    expect(rows.map((row) => row.split(/ +/))).toEqual([
      [expect.stringMatching(KID), 'RS256', 'active', '-', '-'],
      [expect.stringMatching(KID), 'RS256', 'published', '-', '-'],
    ]);
    expect(await json('list')).toMatchObject({ generation: 1, encryption_key: expect.any(String) });
  });

  it('rotate: appoints the next key at the earliest safe time, once, next to the running service', async () => {
    const [old = '', next = ''] = await publishedKids({ base });
    const { code, stdout } = await keys('rotate');
    expect(code).toBe(0);
    const [active, reserve] = (await json('list')).keys;
    expect([active?.kid, reserve?.kid]).toEqual([old, next]);
    expect(reserve?.next).toEqual({ state: 'active', at: reserve?.activate_at });
    expect(active?.next).toEqual({ state: 'retired', at: reserve?.activate_at });
    // C + P + S after it was published.
    const at = Date.parse(reserve?.activate_at ?? '');
    expect(at - Date.parse(reserve?.published_at ?? '')).toBe(3735 * 1000);
    expect(await keys('rotate')).toMatchObject({ stdout, stderr: 'Nothing to change.\n' });
    expect((await json('rotate')).generation).toBe(2);
    await expect.poll(() => publishedKids({ base }), POLL).toHaveLength(3);
  });

  it('compromise: takes a key out of the running service, and says what is left to wait for', async () => {
    const [leaked = ''] = await publishedKids({ base });
    const { code, stdout } = await keys('compromise', leaked);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Revoked ${leaked}\\. Within 5 seconds.*at the latest .*Z\\.\n`));
    await expect.poll(() => publishedKids({ base }), POLL).not.toContain(leaked);
    expect((await keys('compromise', leaked)).stdout).toBe(`${leaked} was already revoked.\n`);
    const unknown = ['keys', 'compromise', 'no-such-key', '--config', configFile];
    const stderr = 'there is no key "no-such-key": see "postern keys list"\n';
    expect(await posternTyped(unknown, ['y\n'])).toEqual({ code: 1, stdout: '', stderr });
  });

  it('end with 2 when misused', async () => {
    for (const args of [[], ['nope'], ['compromise'], ['import'], ['rotate', 'x'], ['list', '--no']]) {
      expect((await postern(['keys', ...args])).code, args.join(' ')).toBe(2);
    }
  });

  it('KY-18: print no part of a private key and no encryption key', () => {
    expect(output.length).toBeGreaterThan(1000);
    expect(output).not.toContain(WORLD_ENV.TEST_ENCRYPTION_KEY);
    expect(output).not.toMatch(/PRIVATE KEY|"(d|p|q|dp|dq|qi|sealed)"/);
  });
});
