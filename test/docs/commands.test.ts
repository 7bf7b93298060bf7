// Runs the commands that the documents print, as printed, with a service that starts from the shipped configuration in a
// copy of the checkout. Only ports and folders of this machine are changed.
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../world/clock.ts';
import { freePort } from '../world/servers.ts';
import { COMPILED, startProcess, type ServiceProcess } from '../world/process.ts';
import { tempFolder } from '../world/temp-folder.ts';

const NAMES = 'users import backup upgrade reverse-proxy troubleshooting hardening observability mail';
const DOCUMENTS = ['README.md', ...NAMES.split(' ').map((name) => `docs/${name}.md`)];
const COPIED = ['postern', 'dist', 'views', 'config', 'package.json'];
/** The input of each command: user add and user password read it from a pipe. */
const PASSWORD = 'seven wet umbrellas\n';

/** Returns each command of the fenced blocks, with its continuation lines. The whole suite covers the other npm commands. */
function commandsOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, language]) => language === '' || language === 'sh')
    .map(([, , block = '']) => block);
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n */g, ' ').split('\n'))
    .map((line) => line.trim())
    .filter((line) => /^(?:echo [^|]*\| )?(?:\.\/postern|postern|curl) /.test(line));
}

describe('the commands that the documents print', () => {
  const folder = tempFolder();
  let ports: readonly [number, number];
  let service: ServiceProcess | undefined;

  beforeAll(async () => {
    ports = [await freePort(), await freePort()];
    for (const name of COPIED) await cp(name, path.join(folder, name), { recursive: true });
    await mkdir(path.join(folder, 'backups'));
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    // A `postern` program, as in the image.
    await mkdir(path.join(folder, 'bin'));
    const program = `#!/bin/sh\nexec ${process.execPath} ${path.join(folder, 'dist/main.js')} "$@"\n`;
    await writeFile(path.join(folder, 'bin/postern'), program, { mode: 0o755 });
    const file = path.join(folder, 'config/postern.yaml');
    await writeFile(file, here(await readFile(file, 'utf8')));
    service = await startProcess(file, ['./postern'], folder);
  });
  afterAll(() => service?.end());

  /** Returns `text` with the ports and folders of this test. */
  function here(text: string): string {
    return text
      .replaceAll(/\b3000\b/g, String(ports[0]))
      .replaceAll(/\b3001\b/g, String(ports[1]))
      .replaceAll('/var/backups/postern', path.join(folder, 'backups'));
  }

  async function run(command: string): Promise<{ code: number; output: string }> {
    const env = { ...process.env, ...COMPILED, PATH: `${folder}/bin:${process.env['PATH']}` };
    return new Promise((resolve) => {
      const child = execFile('sh', ['-c', here(command)], { cwd: folder, env }, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr });
      });
      child.stdin?.end(PASSWORD);
    });
  }

  it('are run by ./postern, which becomes the Node.js of the checkout and prints nothing itself', async () => {
    expect(await readlink(`/proc/${service?.pid}/exe`)).toMatch(/node_modules\/.*\/node$/);
    expect(await run('./postern schema --json | head -c 2')).toEqual({ code: 0, output: '{\n' });
    expect((await run('./postern user nope')).code).toBe(2);
  });

  it.each(DOCUMENTS)('%s', async (document) => {
    const text = await readFile(document, 'utf8');
    // Writes the files that it shows, under the name above each.
    for (const [, name = '', content = ''] of text.matchAll(/^`([\w.-]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm))
      await writeFile(path.join(folder, name), content);
    const [, added = ''] =
      /Add this to `config\/postern.yaml`.*\n\n```yaml\n([\s\S]*?)^```$/m.exec(text) ?? [];
    await appendFile(path.join(folder, 'config/postern.yaml'), added);
    const commands = commandsOf(text);
    expect(commands).not.toEqual([]);
    const ended = [];
    for (const command of commands) ended.push({ command, ...(await run(command)) });
    expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
    for (const { command, output } of ended) {
      if (command.startsWith('curl')) expect(output).toMatch(/access_token|^postern_ready 1/m);
    }
    if (document === 'docs/mail.md')
      await until(async () =>
        expect((await readdir(path.join(folder, 'data/mail'))).length).toBeGreaterThan(2),
      );
  });
});
