// The systemd unit, checked without a running systemd: its syntax, and its exposure.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../world/temp-folder.ts';

const UNIT = 'deploy/systemd/postern.service';
const PROGRAM = '/opt/postern/current/node_modules/.bin/node';
const ANALYZE = '/usr/bin/systemd-analyze';
/** 10 is worst; systemd itself calls values below 2 OK. Without a network it could be 0. */
const MOST_EXPOSURE = 1.5;

const hasSystemd = existsSync(ANALYZE);

describe('the systemd unit', () => {
  const folder = tempFolder();
  let unit: string;
  beforeAll(async () => {
    unit = await readFile(UNIT, 'utf8');
  });

  async function analyze(text: string, ...verb: readonly string[]) {
    const file = path.join(folder, 'postern.service');
    await writeFile(file, text);
    return promisify(execFile)(ANALYZE, [...verb, file]).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        text: stdout + stderr,
      }),
    );
  }
  const installed = () => unit.replace(PROGRAM, process.execPath);

  it.skipIf(!hasSystemd)('is understood by systemd, with no key misspelt', async () => {
    expect(unit).toContain(`ExecStart=${PROGRAM} `);
    const verified = await analyze(installed(), 'verify');
    expect(verified.text.split('\n').filter((line) => line.includes('postern'))).toEqual([]);
    expect(verified.code).toBe(0);
    const misspelt = await analyze(installed().replace('PrivateTmp=', 'PrivatTmp='), 'verify');
    expect(misspelt.text).toContain('PrivatTmp');
  });

  it.skipIf(!hasSystemd)('leaves little open', async () => {
    const { text } = await analyze(installed(), 'security', '--offline=true');
    const exposure = Number(/exposure level for postern\.service: ([\d.]+)/.exec(text)?.[1]);
    expect(exposure).toBeLessThanOrEqual(MOST_EXPOSURE);
  });

  it('gives the service what its configuration asks for, and no secret in the open', async () => {
    const configuration = await readFile('deploy/systemd/postern.yaml', 'utf8');
    const credentials = [...unit.matchAll(/^LoadCredential=([\w.]+):\/etc\/postern\/secrets\/\1$/gm)].map(
      ([, name]) => name,
    );
    const asked = [...configuration.matchAll(/file:\/run\/credentials\/postern\.service\/([\w.]+)/g)].map(
      ([, name]) => name,
    );
    expect(new Set(asked)).toEqual(new Set(credentials));
    expect(asked.length).toBeGreaterThan(0);
    expect(unit).not.toMatch(/^(SetCredential|Environment)=.*(key|secret|password)/im);
    const ports = [...configuration.matchAll(/port: (\d+)/g)].map(([, port]) => port);
    const allowed = [...unit.matchAll(/^SocketBindAllow=tcp:(\d+)$/gm)].map(([, port]) => port);
    expect(allowed).toEqual(ports);
    expect(unit).toMatch(/^StateDirectory=postern$/m);
    expect(unit).toMatch(/^LimitCORE=0$/m);
    expect(unit).toMatch(/^ExecStart=\S+ --disable-sigusr1 /m);
    expect(configuration).toContain('store: lmdb:/var/lib/postern\n');
  });
});
