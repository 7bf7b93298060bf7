// README.md, followed to the letter in a copy of the checkout. Only ports are changed, and `npm ci` finds its packages there.
import { appendFile, cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../world/chromium.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../world/servers.ts';
import { runProgram } from '../world/process.ts';
import { APP_FILE, followReadme, ownPath, readReadme } from './newcomer.ts';
import { tempFolder } from '../world/temp-folder.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', 'data', 'artifacts', '.git']);
const WITH_PORTS = ['README.md', 'config/postern.yaml', APP_FILE];

describe('README.md', () => {
  const folder = tempFolder();
  let programs: string;
  let browser: Browser;
  beforeAll(async () => {
    const names = (await readdir('.')).filter((name) => !LEFT_OUT.has(name));
    for (const name of names) await cp(name, path.join(folder, name), { recursive: true });
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    await changePorts();
    // The packages are already there; npm runs every other command.
    const npm = '#!/bin/sh\n[ "$1" = ci ] && exit\nPATH=${PATH#*:}\nexec npm "$@"\n';
    await mkdir(path.join(folder, 'bin'));
    await writeFile(path.join(folder, 'bin/npm'), npm, { mode: 0o755 });
    programs = `${folder}/bin:${ownPath()}`;
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  async function changePorts(): Promise<void> {
    const ports = { 3000: await freePort(), 3001: await freePort(), 8080: await freePort() };
    for (const name of WITH_PORTS) {
      const file = path.join(folder, name);
      let text = await readFile(file, 'utf8');
      for (const [from, to] of Object.entries(ports)) text = text.replaceAll(from, String(to));
      await writeFile(file, text);
    }
  }

  it('leads a newcomer to an app of their own, signed in and out again', async () => {
    const { welcome, machineToken, checked, shown } = await followReadme({ folder, path: programs, browser });
    const { start } = await readReadme(folder);
    expect(welcome).toContain(start.printed);
    expect(machineToken).toContain('"access_token"');
    expect(checked).toContain('is valid');
    expect(shown).toMatchObject({ name: 'Demo Person', email: 'demo@example.com' });
  });

  it('builds aside: a build that fails leaves the service that is built', async () => {
    const built = path.join(folder, 'dist/main.js');
    const before = await stat(built);
    await appendFile(path.join(folder, 'src/main.ts'), 'const broken = ;\n');
    const { code } = await runProgram(['npm', 'run', 'build'], { cwd: folder, path: programs });
    expect(code).not.toBe(0);
    const { ino, mtimeMs, mode } = await stat(built);
    expect({ ino, mtimeMs, mode }).toMatchObject({
      ino: before.ino,
      mtimeMs: before.mtimeMs,
      mode: before.mode,
    });
  });

  it('quotes the app as it is in its file', async () => {
    const { app } = await readReadme('.');
    expect(await readFile(APP_FILE, 'utf8')).toContain(`\n${app.source}\n`);
  });

  it.each(['express', 'spa'])('gives the example %s the packages that it is run with here', async (name) => {
    const { dependencies } = await manifestOf(`examples/${name}/package.json`);
    const { devDependencies } = await manifestOf('package.json');
    expect(dependencies).toBeDefined();
    expect(devDependencies).toMatchObject(dependencies ?? {});
  });
});

type Manifest = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
};

async function manifestOf(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(file, 'utf8')) as Manifest;
}
