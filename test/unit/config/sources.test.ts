import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { loadConfigWithSources, type LoadOptions } from '../../../src/config/load.ts';
import { client, ENV, LOCAL, OTHER_SECRET, PUBLIC, SECRET, write } from './config-files.ts';

const MAIN = `${PUBLIC}clients_from: [clients.d/*.yaml, more.yaml]
users_from: users.yaml
clients:
${client({ client_secret: 'file:secrets/web' })}`;
const FILES = {
  'clients.d/b.yaml': client({ client_id: 'b', client_secret: 'file:b.secret' }),
  'clients.d/b.secret': OTHER_SECRET,
  'more.yaml': '[]\n',
  'users.yaml': '[]\n',
  'secrets/web': SECRET,
};

const load = (file: string, options: LoadOptions = {}) =>
  loadConfigWithSources(file, { env: ENV, ...options });

const without = (key: string) => load(write(PUBLIC), { env: { ...ENV, ENCRYPTION_KEY: key } });

describe('the sources of a configuration', () => {
  it('are every file that it was made from, and the patterns that found some', async () => {
    const file = write(MAIN, FILES);
    const { sources } = await load(file);
    expect(sources.files.toSorted()).toEqual(
      ['postern.yaml', ...Object.keys(FILES)].map((name) => join(dirname(file), name)).toSorted(),
    );
    expect(sources.patterns).toEqual([join(dirname(file), 'clients.d/*.yaml')]);
  });

  it('include keys and the store, where they come from files', async () => {
    const yaml = `issuer: https://id.example\nencryption_keys: [file:e]\ncookie_keys: [file:c]\nstore: file:s\n`;
    const file = write(yaml, { e: ENV['ENCRYPTION_KEY'] ?? '', c: ENV['COOKIE_KEY'] ?? '', s: 'redis://h' });
    const { sources } = await load(file);
    expect(sources.files).toEqual(['postern.yaml', 's', 'e', 'c'].map((name) => join(dirname(file), name)));
  });

  it('are known of a broken one too, with the files that are missing', async () => {
    const file = write(MAIN, FILES);
    rmSync(join(dirname(file), 'secrets/web'));
    rmSync(join(dirname(file), 'more.yaml'));
    const error: unknown = await load(file).catch((reason: unknown) => reason);
    if (!(error instanceof ConfigError)) throw new Error('it loaded');
    expect(error.sources.files).toContain(join(dirname(file), 'secrets/web'));
    expect(error.sources.files).toContain(join(dirname(file), 'more.yaml'));
    expect(error.sources.patterns).toHaveLength(1);
  });
});

describe('the hash of a configuration', () => {
  it('is the same wherever the same files are, and however they are written', async () => {
    const [one, other] = [await load(write(MAIN, FILES)), await load(write(`# a comment\n${MAIN}`, FILES))];
    expect(one.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(other.hash).toBe(one.hash);
  });

  it('is another one for another client, secret, person or key', async () => {
    const hashes = new Set<string>();
    for (const [main, files] of [
      [MAIN, FILES],
      [MAIN, { ...FILES, 'secrets/web': OTHER_SECRET }],
      [MAIN, { ...FILES, 'more.yaml': client({ client_id: 'more' }) }],
      [MAIN.replace('env:ENCRYPTION_KEY', 'env:OTHER'), FILES],
      [MAIN.replace('env:COOKIE_KEY', 'file:c.key'), { ...FILES, 'c.key': `${SECRET}0` }],
      [`${MAIN}    scope: openid email\n`.replace('    scope: openid\n', ''), FILES],
      [`${MAIN}branding: { name: Other }\n`, FILES],
    ] as const) {
      const env = { ...ENV, OTHER: 'B5Jw0cYb8mQkX2tRz7LhN4vPd1GsE9aF6iKo3yTqBxM' };
      hashes.add((await load(write(main, files), { env })).hash);
    }
    expect(hashes.size).toBe(7);
  });

  it('leaves to the machine what is its own', async () => {
    const one = await load(write(PUBLIC));
    const other = await load(
      write(`${PUBLIC}listen: { host: 0.0.0.0, port: 4000 }\nstore: lmdb:elsewhere\n`),
    );
    expect(other.hash).toBe(one.hash);
  });

  it("can't be tried out by somebody who knows everything but the keys", async () => {
    const [one, other] = [
      await without('u5Jw0cYb8mQkX2tRz7LhN4vPd1GsE9aF6iKo3yTqBxM'),
      await without('B5Jw0cYb8mQkX2tRz7LhN4vPd1GsE9aF6iKo3yTqBxM'),
    ];
    expect(one.hash).not.toBe(other.hash);
  });
});

describe('where the secrets are not', () => {
  it('a configuration can be looked at all the same', async () => {
    const file = write(
      `${MAIN}store: env:REDIS_URL\n`.replace('env:COOKIE_KEY', 'file:/run/secrets/cookie'),
      { ...FILES },
    );
    rmSync(join(dirname(file), 'secrets/web'));
    const { config, sources } = await load(file, { env: {}, readSecrets: false, writeKeys: false });
    expect(config.clients.map(({ clientId }) => clientId)).toEqual(['web', 'b']);
    expect(config.store).toEqual({ engine: 'redis', url: 'env:REDIS_URL' });
    expect(sources.files.some((name) => name.includes('secret'))).toBe(false);
  });

  it('all else is judged as ever', async () => {
    const file = write(MAIN, FILES);
    writeFileSync(join(dirname(file), 'more.yaml'), 'x: 1\n');
    await expect(load(file, { env: {}, readSecrets: false })).rejects.toMatchObject({
      problems: [{ path: 'clients' }, { path: 'x' }],
    });
    await expect(load(write(`${LOCAL}cookie_keys: [short]\n`), { readSecrets: false })).rejects.toThrow(
      /too weak/,
    );
  });
});

it('two thousand clients in files are read whole, each with a secret file', async () => {
  const files: Record<string, string> = {};
  for (let part = 0; part < 4; part += 1) {
    const ids = Array.from({ length: 500 }, (_, index) => `c${part}-${index}`);
    for (const id of ids) files[`clients.d/secrets/${id}`] = `${SECRET}${id}`;
    files[`clients.d/${part}.yaml`] = ids
      .map((id) => client({ client_id: id, client_secret: `file:secrets/${id}` }))
      .join('');
  }
  const file = write(`${PUBLIC}clients_from: [clients.d/*.yaml]\n`, files);
  const { config } = await load(file);
  expect(config.clients).toHaveLength(2000);
  expect(config.clients.every(({ secrets }) => secrets.length === 1)).toBe(true);
  expect(new Set(config.clients.map(({ clientId }) => clientId)).size).toBe(2000);
});
