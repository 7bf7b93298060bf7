// Rules for the contents of the lock file.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

type Lock = {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
};

/** A link to a folder of this repository. */
const OURS = 'node_modules/node-of-the-checkout';

const readLock = async (): Promise<Lock> => JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;

describe('the lock file', () => {
  it.each([
    // ejs 3 takes options from the data that it renders, including one that is code (CVE-2022-29078).
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
