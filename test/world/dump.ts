// A copy of everything in a world's store, as text: for tests of what must not be stored.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import type { World } from './world.ts';

export async function dumpOf({ configFile, folder }: World): Promise<string> {
  const { store } = JSON.parse(await readFile(configFile, 'utf8')) as { readonly store: string };
  return store === 'lmdb:data' ? dumpFolder(path.join(folder, 'data')) : dumpRedis(store);
}

async function dumpFolder(folder: string): Promise<string> {
  const files = await readdir(folder);
  const contents = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'latin1')));
  return contents.join('\n');
}

async function dumpRedis(url: string): Promise<string> {
  const raw = new Redis(url);
  const parts: string[] = [];
  for (const key of await raw.keys('*')) {
    const type = await raw.type(key);
    if (type === 'hash') parts.push(key, JSON.stringify(await raw.hgetall(key)).replaceAll('\\"', '"'));
    else if (type === 'zset') parts.push(key, ...(await raw.zrange(key, '0', '-1')));
    else if (type === 'string') parts.push(key, (await raw.get(key)) ?? '');
    else throw new Error(`${key} is a ${type}, which this dump does not read`);
  }
  await raw.quit();
  return parts.join('\n');
}
