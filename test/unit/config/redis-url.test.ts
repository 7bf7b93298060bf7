// The notation of a Redis store; error messages about it don't repeat its value.
import { describe, expect, it } from 'vitest';
import { ValueFault } from '../../../src/config/problems.ts';
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

  it.each(
    `http://user:s3cret@host redis:// redis://:s3cret@h1,h2 redis://:s3cret@h:99999
    redis://:s3cret@h/x redis://:s3cret@h/1/2 redis://:s3cret@h?commandTimeout=1
    redis://:s3cret@h?prefix={x} redis://:s3cret@h?wait=yes redis://:s3cret@h?constructor=x redis://:s3cret%@h
    redis+sentinel://:s3cret@h1,h2 redis+cluster://:s3cret@h1/2`.split(/\s+/),
  )('is not %s, of which no message repeats anything', (url) => {
    const failing = () => parseRedisUrl(url);
    expect(failing).toThrow(ValueFault);
    expect(failing).not.toThrow(/s3cret/);
  });
});
