// What the lock file may hold, and whether CI notices a known vulnerability in it. The registry is one of this test.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

type Lock = {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
};

/** A link to a folder of this repository. */
const OURS = 'node_modules/node-of-the-checkout';

const readLock = async (): Promise<Lock> => JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;

describe('the lock file', () => {
  it.each([
    // ejs 3 takes options from the data that it renders, also one that is code (CVE-2022-29078).
    ['ejs', 7],
    ['koa', 3],
  ])('IN-01: has no %s below %i, at any depth', async (name, least) => {
    const versions = Object.entries((await readLock()).packages)
      .filter(([place]) => place.endsWith(`node_modules/${name}`))
      .map(([, { version = '' }]) => Number(version.split('.')[0]));
    expect(versions.length).toBeGreaterThan(0);
    for (const version of versions) expect(version).toBeGreaterThanOrEqual(least);
  });

  it('has a hash for each package, and the versions that package.json pins', async () => {
    const { packages } = await readLock();
    const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const [place, { integrity }] of Object.entries(packages))
      if (place.startsWith('node_modules/') && place !== OURS) expect(integrity, place).toMatch(/^sha512-/);
    for (const [name, wanted] of Object.entries(dependencies)) {
      expect(wanted).toMatch(/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+$/);
      expect(packages[`node_modules/${name}`]?.version).toBe(wanted.split('@').at(-1));
    }
  });
});

describe('.ci/audit', () => {
  let registry: Server | undefined;
  afterEach(() => registry?.close());

  /** Runs it against a registry that answers its question with this; a packument is never there. */
  async function audit(status: number, advisories: unknown) {
    registry = createServer((request, response) => {
      request.resume().once('end', () => {
        const isQuestion = request.url?.endsWith('/security/advisories/bulk') === true;
        response.writeHead(isQuestion ? status : 404, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isQuestion ? advisories : {}));
      });
    });
    await new Promise<void>((resolve) => registry?.listen(0, '127.0.0.1', resolve));
    const { port } = registry.address() as AddressInfo;
    const env = {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}`,
      npm_config_fetch_retries: '0',
    };
    return new Promise<{ code: number; said: string }>((resolve) => {
      execFile('.ci/audit', { env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), said: stdout + stderr }),
      );
    });
  }

  const hole = (name: string) => ({
    [name]: [
      {
        id: 1,
        url: 'https://advisories.example/1',
        title: 'A hole',
        severity: 'low',
        vulnerable_versions: '*',
      },
    ],
  });

  it('passes where the registry knows no vulnerability', async () => {
    const { code, said } = await audit(200, {});
    expect([code, said]).toEqual([0, expect.stringContaining('no known vulnerability')]);
  });

  it('fails on any vulnerability in a package that runs, and names it', async () => {
    const { code, said } = await audit(200, hole('koa'));
    expect(code).not.toBe(0);
    expect(said).toContain('https://advisories.example/1');
  });

  it.each([405, 404, 500])(
    'passes where the registry answers %i, and says that nothing was looked for',
    async (status) => {
      const { code, said } = await audit(status, {});
      expect([code, said]).toEqual([0, expect.stringContaining('NOT DONE')]);
    },
  );
});
