import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { PasswordQueueFull } from '../../../src/users/hashing-threads.ts';
import { createPasswords, hashPassword, type Share } from '../../../src/users/passwords.ts';

describe('passwords', () => {
  it('are hashed with argon2id at the cost of the policy, with a salt of their own', async () => {
    const [one, other] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(one).not.toBe(other);
  });

  it('of nobody match nothing, not even what the dummy hash was made of', async () => {
    const passwords = createPasswords(2, 10);
    for (const typed of ['', 'password', 'nobody', 'dummy']) {
      expect(await passwords.verify(undefined, typed)).toBe(false);
    }
  });

  it('take as much work for nobody as for somebody: the dummy hash has the cost of the policy', async () => {
    const passwords = createPasswords(1, 10);
    const hash = await hashPassword('correct horse');
    const cost = async (of: string | undefined) => {
      const started = process.cpuUsage();
      for (let count = 0; count < 5; count += 1) await passwords.verify(of, 'wrong');
      return process.cpuUsage(started).user;
    };
    await cost(hash);
    const [somebody, nobody] = [await cost(hash), await cost(undefined)];
    // A skipped hash would be a hundred times cheaper; the statistics are in test/timing.
    expect(nobody).toBeGreaterThan(somebody / 4);
  });
});

describe('the queue of passwords', () => {
  it('refuses who comes when it is full, and serves all others', async () => {
    const passwords = createPasswords(1, 2);
    const hash = await hashPassword('correct horse');
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => passwords.verify(hash, 'correct horse')),
    );
    const [served, refused] = [
      { status: 'fulfilled', value: true },
      { status: 'rejected', reason: expect.objectContaining({ retryAfterSeconds: 1 }) as unknown },
    ];
    expect(results).toEqual([served, served, served, refused, refused]);
  });

  it('is one for each share: a crowd of unknown browsers keeps out no trusted ones', async () => {
    const passwords = createPasswords(1, 2);
    const hash = await hashPassword('correct horse');
    const crowd = Array.from({ length: 5 }, () => passwords.verify(hash, 'wrong', 'unknown browser'));
    const order: string[] = [];
    const noted = async (share: Share) => {
      await passwords.verify(hash, 'correct horse', share);
      order.push(share);
    };
    for (const one of crowd) one.then(() => order.push('unknown browser')).catch(() => undefined);
    await Promise.all([noted('trusted browser'), noted('trusted browser')]);
    const refused = (await Promise.allSettled(crowd)).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2);
    // The crowd came first, but since then has had at most every second turn.
    expect(order.filter((share) => share === 'unknown browser').length).toBeLessThanOrEqual(3);
    await expect(
      Promise.all(Array.from({ length: 4 }, () => passwords.verify(hash, 'x', 'trusted browser'))),
    ).rejects.toThrow(PasswordQueueFull);
    await passwords.close();
  });
});

describe('the threads of passwords', () => {
  const load = (thread: string) => Number(/\) \S+((?: \S+){16})/.exec(thread)?.[1]?.trim().split(' ').at(-1));

  it.runIf(process.platform === 'linux')('LG-31: go behind everything else on the machine', async () => {
    const passwords = createPasswords(2, 10);
    const hash = await hashPassword('correct horse');
    const niceThreads = async () => {
      const threads = await readdir('/proc/self/task');
      const stats = await Promise.all(
        threads.map((thread) => readFile(`/proc/self/task/${thread}/stat`, 'utf8').catch(() => '')),
      );
      return threads.filter((_thread, index) => load(stats[index] ?? '') > 0);
    };
    // Threads of earlier tests, which may end meanwhile.
    const before = await niceThreads();
    const own = async () => (await niceThreads()).filter((thread) => !before.includes(thread));
    await Promise.all([passwords.verify(hash, 'correct horse'), passwords.verify(hash, 'wrong')]);
    expect(await own()).toHaveLength(2);
    await passwords.close();
    await expect.poll(own).toEqual([]);
  });
});

it('a thread of passwords that ended leaves no verification without an answer: neither the one in the thread nor those that wait', async () => {
  const passwords = createPasswords(1, 10);
  const hash = await hashPassword('correct horse');
  const asked = [1, 2, 3].map(() => passwords.verify(hash, 'correct horse'));
  const answers = Promise.allSettled(asked);
  // The first one is in its thread, whose start takes longer than this.
  await new Promise((resolve) => setImmediate(resolve));
  await passwords.close();
  for (const answer of await answers) {
    expect(answer.status === 'rejected' && answer.reason instanceof PasswordQueueFull).toBe(true);
  }
});
