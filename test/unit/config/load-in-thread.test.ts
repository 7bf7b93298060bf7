import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfigWithSources } from '../../../src/config/load.ts';
import { ConfigError } from '../../../src/config/config.ts';
import { loadInThread } from '../../../src/config/load-in-thread.ts';
import { client, RESOURCES, SECRET, write } from './config-files.ts';

const HEAD = 'issuer: http://localhost:3000\nstore: lmdb:data\n';

const errorOf = (loading: Promise<unknown>) => loading.catch((error: unknown) => error);

describe('a configuration that is loaded in a thread', () => {
  it('is the same as one that is loaded directly, key by key and type by type', async () => {
    const file = write(`${HEAD}${RESOURCES}clients:\n${client({ client_secret: SECRET })}`);
    // The first load generates the keys, and logs that.
    await loadConfigWithSources(file);
    const direct = await loadConfigWithSources(file);
    const posted = await loadInThread(file);
    expect({ ...posted, readAt: 0 }).toStrictEqual({ ...direct, readAt: 0 });
    expect(direct.config.encryptionKeys.every((key) => Buffer.isBuffer(key))).toBe(true);
  });

  it('is refused with the same problems and the same files to watch', async () => {
    const file = write(`${HEAD}clients_from: [clients.d/*.yaml]\nlisten: { port: none }\nnonsense: 1\n`);
    const [direct, posted] = [await errorOf(loadConfigWithSources(file)), await errorOf(loadInThread(file))];
    expect(posted).toBeInstanceOf(ConfigError);
    expect(posted).toMatchObject({ problems: (direct as ConfigError).problems });
    expect((posted as ConfigError).problems).toHaveLength(2);
    expect((posted as ConfigError).sources).toEqual((direct as ConfigError).sources);
  });

  it('is refused where it needs more memory than a process may spend on it, and the process goes on', async () => {
    const file = write(`${HEAD}users_from: users.json\n`);
    // A missing comma makes it invalid JSON: the YAML parser reports the place, with a large tree.
    const users = Array.from({ length: 16_000 }, (_, index) =>
      JSON.stringify({ id: 'usr_a', username: index }),
    );
    writeFileSync(join(dirname(file), 'users.json'), `[${users.join().replace(',', '')}]`);
    await expect(loadInThread(file, 24)).rejects.toThrow('reading took more than 24 MiB of memory');
  });

  it('rejects when the thread itself fails, and leaves none behind', async () => {
    await expect(loadInThread(undefined as never)).rejects.toThrow(/must be of type string/);
  });
});
