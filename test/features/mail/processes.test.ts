// Two processes on one Redis: an outage and a kill lose no email, and send at most one more with the same Message-ID.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../world/clock.ts';
import { newBrowser } from '../../world/person.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { postern, useEnvironment, userVerb } from '../../world/terminal.ts';
import { freePort, startRedis } from '../../world/servers.ts';
import { type ServiceProcess, startProcess } from '../../world/process.ts';
import { seedStore, type World, WORLD_ENV, writeWorldConfig } from '../../world/world.ts';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { startMailServer } from './mail-server.ts';
import { addPeople, askFor, fieldOf } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
useEnvironment(() => WORLD_ENV);

describe('email of two processes', () => {
  const two: { nodes: World[]; running: ServiceProcess[] } = { nodes: [], running: [] };
  let store: Store;
  beforeAll(async () => {
    const redis = await startRedis();
    store = await openStore({ engine: 'redis', url: redis.url }, () => Date.now());
    await addPeople({ openedStore: store });
    const ports = [await freePort(), await freePort()];
    for (const port of ports) {
      const folder = await mkdtemp(path.join(tmpdir(), 'postern-mail-'));
      const mail = { ...server.mail, sign_up: { domains: 'any' } };
      const config = { mail, trusted_proxies: ['127.0.0.1'] };
      const options = { store: redis.url, issuer: `http://127.0.0.1:${ports[0]}`, config };
      const node = await writeWorldConfig(folder, options, [port, 0]);
      if (two.nodes.length === 0) await seedStore(node.configFile);
      two.running.push(await startProcess(node.configFile));
      two.nodes.push(node);
    }
    return async () => {
      await Promise.all(two.running.map((one) => one.end()));
      await store.close();
      await redis.stop();
      for (const { folder } of two.nodes) await rm(folder, { recursive: true });
    };
  });
  const nodeAt = (index: number) => {
    const node = two.nodes[index];
    if (node === undefined) throw new Error('no such node');
    return node;
  };

  const ask = (node: number, name: string, at: number) =>
    askFor(nodeAt(node), name, { headers: { 'x-forwarded-for': `198.51.${at}.7` } });
  const retry = () => postern(['mail', 'retry', '--config', nodeAt(0).configFile]);
  const waiting = async () =>
    (await store.documents.list('mail')).map(
      ({ value }) => JSON.parse(value) as { failures: number; isHeld: boolean },
    );

  it('waits while the password of the server is rotated, and is sent once each (T6, T8)', async () => {
    server.faults.auth = '535 5.7.8 rotated';
    const names = ['anna', 'dora', 'lou', 'alice', 'bob'];
    for (const [index, name] of names.entries())
      expect((await ask(index % 2 === 0 ? 0 : 1, name, index)).status).toBe(303);
    await until(async () => {
      const jobs = await waiting();
      expect(jobs).toHaveLength(names.length);
      for (const { failures, isHeld } of jobs) expect([failures, isHeld]).toEqual([1, false]);
    });
    const dump = JSON.stringify(await store.documents.list('mail'));
    expect(dump).not.toMatch(/\/interaction\/link|token|anna@acme/);
    delete server.faults.auth;
    expect((await retry()).stdout).toBe('Retrying 5 emails\n');
    await until(async () => expect(await waiting()).toEqual([]));
    expect(server.letters.map(({ to }) => to.join()).toSorted()).toEqual([
      'alice@example.com',
      'anna@acme.example',
      'bob@example.com',
      'dora@acme.example',
      'lou@acme.example',
    ]);
  });

  it('is sent by an administrator instead of a link that is printed', async () => {
    server.letters.splice(0);
    const { configFile } = nodeAt(0);
    const { result } = await userVerb({ configFile }, [
      'invite',
      'zoe',
      '--mail',
      '--claim',
      'email=zoe@acme.example',
    ]);
    expect(result).toMatchObject({ username: 'zoe', invited: true, mailed_to: 'zoe@acme.example' });
    expect(JSON.stringify(result)).not.toContain('/interaction/link');
    await until(() => expect(server.sentTo('zoe@acme.example')).toHaveLength(1));
    const [{ link = '', headers } = { headers: {} }] = server.sentTo('zoe@acme.example');
    expect(headers).toMatchObject({ subject: 'Your invitation to Postern' });
    expect((await newBrowser(nodeAt(1)).open(link)).text).toContain('name="again"');
    // Another address, and the link is dead.
    await userVerb({ configFile }, ['set', 'zoe', '--claim', 'email=zoe@other.example']);
    expect((await newBrowser(nodeAt(1)).request(link)).status).toBe(410);
    const refused = await userVerb({ configFile }, ['invite', 'yan', '--mail']);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('yan has no verified email address'),
    ]);
    expect((await userVerb({ configFile }, ['reset', 'yan'])).stderr).toContain('there is no user "yan"');
  });

  it('tells a user of what an administrator does', async () => {
    server.letters.splice(0);
    const { configFile } = nodeAt(0);
    await userVerb({ configFile }, ['reset', 'lou']);
    await until(() => expect(server.sentTo('lou@acme.example')).toHaveLength(1));
    await userVerb({ configFile }, ['disable', 'dora']);
    await until(() => expect(server.sentTo('dora@acme.example')).toHaveLength(1));
    await userVerb({ configFile }, ['enable', 'dora']);
    expect(server.letters.map(({ headers }) => headers['subject'])).toEqual([
      'Your administrator created a link for your account',
      'Your account at Postern was disabled',
    ]);
    for (const { link } of server.letters) expect(link).toBeUndefined();
    // They can't do anything about it.
    expect(server.letters[1]?.text).not.toContain('Change your password');
  });

  it('shows since when the server of an address refuses email (ML-15)', async () => {
    const { configFile } = nodeAt(0);
    const refusedSince = async () =>
      (await userVerb({ configFile }, ['list', 'ann'])).result['email_refused_since'];
    await userVerb({ configFile }, ['invite', 'ann', '--claim', 'email=ann@acme.example']);
    const send = () => userVerb({ configFile }, ['reset', 'ann', '--mail']);
    server.faults.rcpt = '550 no such user';
    await send();
    const now = expect.stringMatching(/^\d{4}-.*Z$/);
    await until(async () => expect(await refusedSince()).toEqual(now));
    delete server.faults.rcpt;
    await userVerb({ configFile }, ['set', 'ann', '--claim', 'email=ann@other.example']);
    expect(await refusedSince()).toBeUndefined();
    await userVerb({ configFile }, ['set', 'ann', '--claim', 'email=ann@acme.example']);
    expect(await refusedSince()).toEqual(now);
    await send();
    await until(async () => expect(await refusedSince()).toBeUndefined());
    expect(server.sentTo('ann@acme.example')).toHaveLength(1);
  });

  it('creates one user by one link of a sign-up, posted to both at once (ML-44)', async () => {
    for (const at of [0, 1, 2]) {
      const email = `new${at}@other.example`;
      await askFor(nodeAt(0), email, { page: 'sign-up', headers: { 'x-forwarded-for': `198.61.${at}.7` } });
      await until(() => expect(server.sentTo(email)).toHaveLength(1));
      const { link = '' } = server.sentTo(email)[0] ?? {};
      const csrf = fieldOf((await newBrowser(nodeAt(1)).request(link)).text, 'csrf');
      const post = (node: number, index: number) =>
        newBrowser(nodeAt(node)).post(link, { csrf, username: `new${at}-${index}` });
      const statuses = (await Promise.all([0, 1, 1, 0].map(post))).map(({ status }) => String(status));
      expect(statuses.toSorted()).toEqual(['303', '410', '410', '410']);
      expect(await store.index.page('mail-addresses', { prefix: email, limit: 5 })).toHaveLength(1);
    }
  });

  it('is sent again after a kill in the middle, with the same Message-ID (T7, T17)', async () => {
    server.letters.splice(0);
    let release = () => {};
    server.faults.hold = new Promise<void>((resolve) => (release = resolve));
    server.seen.splice(0);
    for (const [index, name] of ['anna', 'dora', 'lou'].entries()) await ask(1, name, 20 + index);
    await until(() => expect(server.seen.filter((what) => what === 'data')).toHaveLength(3));
    await two.running[0]?.end('SIGKILL');
    // A retry leaves alone what may be under way. A quarter of an hour later at most:
    expect((await retry()).stdout).toBe('Retrying 0 emails\n');
    const jobs = createMailJobs(store);
    for (const one of await jobs.list()) await jobs.change(one, { notBefore: 0 });
    release();
    delete server.faults.hold;
    await until(async () => expect(await waiting()).toEqual([]));
    for (const name of ['anna', 'dora', 'lou']) {
      const letters = server.sentTo(`${name}@acme.example`);
      expect([1, 2]).toContain(letters.length);
      expect(new Set(letters.map(({ headers }) => headers['message-id'])).size).toBe(1);
      for (const { link = '' } of letters)
        expect((await newBrowser(nodeAt(1)).request(link)).status).toBe(200);
    }
  });
});
