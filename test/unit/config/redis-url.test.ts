// The notation of a Redis store, and that what is wrong with it is said without repeating it.
import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';

describe('the URL of a Redis store', () => {
  it('names one server', () => {
    expect(parseRedisUrl('rediss://user:p%40ss%2F@[::1]:7000/3')).toEqual({
      kind: 'single',
      nodes: [{ host: '::1', port: 7000 }],
      masterName: '',
      db: 3,
      isTls: true,
      username: 'user',
      password: 'p@ss/',
      sentinelUsername: undefined,
      sentinelPassword: undefined,
      leastReplicas: 0,
      prefix: '',
      label: 'rediss://[::1]:7000/3',
    });
  });

  it('names Sentinels and their master', () => {
    const place = parseRedisUrl('redis+sentinel://:pw@h1,h2:7/main/2?sentinel_user=s&sentinel_password=t%26');
    expect(place).toMatchObject({
      kind: 'sentinel',
      nodes: [
        { host: 'h1', port: 26_379 },
        { host: 'h2', port: 7 },
      ],
      masterName: 'main',
      db: 2,
      username: undefined,
      password: 'pw',
      sentinelUsername: 's',
      sentinelPassword: 't&',
      leastReplicas: 1,
      label: 'redis+sentinel://h1,h2:7/main/2',
    });
  });

  it('names nodes of a Cluster', () => {
    expect(parseRedisUrl('redis+cluster://h1:1,h2?wait=0')).toMatchObject({
      kind: 'cluster',
      nodes: [
        { host: 'h1', port: 1 },
        { host: 'h2', port: 6379 },
      ],
      leastReplicas: 0,
    });
    expect(parseRedisUrl('redis+cluster://h1?wait=2')).toMatchObject({ leastReplicas: 2 });
  });

  it('names a prefix for all keys', () => {
    expect(parseRedisUrl('redis://h1?prefix=tenant-1:&wait=1')).toMatchObject({
      prefix: 'tenant-1:',
      label: 'redis://h1',
    });
  });

  it.each([
    ['http://user:s3cret@host', 'must be lmdb:FOLDER'],
    ['redis://', 'must be lmdb:FOLDER'],
    ['redis://:s3cret@h1,h2', 'names several hosts'],
    ['redis://:s3cret@h:99999', 'must name its hosts'],
    ['redis://:s3cret@h/x', 'must name its database'],
    ['redis://:s3cret@h?commandTimeout=1', 'must have no parameters but'],
    ['redis://:s3cret@h?prefix={x}', 'must have as prefix'],
    ['redis://:s3cret@h?prefix=a*', 'must have as prefix'],
    ['redis://:s3cret@h?wait=yes', 'must say wait=0, or how many'],
    ['redis://:s3cret%@h', 'percent-encoded'],
    ['redis+sentinel://:s3cret@h1,h2', 'must end with the name'],
    ['redis+cluster://:s3cret@h1/2', 'must not name a database'],
  ])('says what is wrong with %s and repeats nothing of it', (url, message) => {
    const failing = () => parseRedisUrl(url);
    expect(failing).toThrow(message);
    expect(failing).not.toThrow(/s3cret/);
  });
});
