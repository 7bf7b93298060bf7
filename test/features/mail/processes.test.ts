// Two processes on one store: an outage and a kill lose no email, and send at most one more with the same Message-ID. Links used at
// once have the same result as in sequence, and an act that is killed halfway can be repeated.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { toStoreConfig } from '../../keys/store-config.ts';
import { until } from '../../world/clock.ts';
import { newBrowser } from '../../world/person.ts';
import { COMPILED } from '../../world/process.ts';
import { freePort, startRedis } from '../../world/servers.ts';
import { tempFolder } from '../../world/temp-folder.ts';
import { postern, useEnvironment, userVerb } from '../../world/terminal.ts';
import { GENEROUS, seedStore, type World, WORLD_ENV, writeWorldConfig } from '../../world/world.ts';
import { startMailServer } from './mail-server.ts';
import {
  addPeople,
  askFor,
  createAddressUsers,
  newAddress,
  postLink,
  quiet,
  retryNow,
  statusOf,
  untilTried,
} from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
useEnvironment(() => WORLD_ENV);
const { linkTo, newUser } = createAddressUsers(server);
const SERVE = path.join(import.meta.dirname, 'fixtures', 'serve.ts');
const ROUNDS = 3;
/** The distance between two kills, in store writes. */
const STEP = 6;
const sorted = (statuses: readonly number[]) => statuses.map(String).toSorted().join(' ');

describe.each(['lmdb', 'redis'] as const)('email of two processes on %s', (engine) => {
  const folder = tempFolder();
  const nodes: (World & { child: ChildProcess })[] = [];
  let store: Store;
  async function start({ configFile }: World): Promise<ChildProcess> {
    const env = { PATH: process.env['PATH'], ...WORLD_ENV, ...COMPILED };
    const child = fork(SERVE, [configFile], { env, execArgv: ['--no-warnings'] });
    await once(child, 'message');
    return child;
  }
  beforeAll(async () => {
    const redis = engine === 'redis' ? await startRedis() : undefined;
    const location = redis?.url ?? `lmdb:${path.join(folder, 'data')}`;
    const mail = { ...server.mail, sign_up: { domains: 'any' } };
    const of = { ...GENEROUS, account: true, audit: 'file:audit.jsonl', log: { level: 'error' } };
    const config = { ...of, mail, trusted_proxies: ['127.0.0.1'] };
    const ports = [await freePort(), await freePort()];
    for (const port of ports) {
      const own = path.join(folder, String(port));
      await mkdir(own);
      const options = { store: location, issuer: `http://127.0.0.1:${ports[0]}`, config };
      const world = await writeWorldConfig(own, options, [port, 0]);
      if (nodes.length === 0) await seedStore(world.configFile);
      nodes.push({ ...world, child: await start(world) });
    }
    store = await openStore(toStoreConfig(location), () => Date.now());
    await addPeople({ openedStore: store });
    server.letters.splice(0);
    return async () => {
      for (const { child } of nodes) child.kill('SIGKILL');
      await store.close();
      await redis?.stop();
    };
  });
  function nodeAt(index: number) {
    const node = nodes[index % 2];
    if (node === undefined) throw new Error('no such node');
    return Object.assign(node, { openedStore: store });
  }

  const retry = () => postern(['mail', 'retry', '--config', nodeAt(0).configFile]);
  const waiting = async () => (await createMailJobs(store).list()).map(({ job }) => job);

  it('waits while the password of the server is rotated, and is sent once each (T6, T8)', async () => {
    server.faults.auth = '535 5.7.8 rotated';
    const names = ['anna', 'dora', 'lou', 'alice', 'bob'];
    for (const [index, name] of names.entries()) expect((await askFor(nodeAt(index), name)).status).toBe(303);
    await untilTried(nodeAt(0), names.length);
    const dump = JSON.stringify(await store.documents.list('mail'));
    expect(dump).not.toMatch(/\/interaction\/link|token|anna@acme/);
    delete server.faults.auth;
    expect((await retry()).stdout).toBe('Retrying 5 emails\n');
    await until(async () => expect(await waiting()).toEqual([]));
    const sentTo = server.letters.flatMap(({ to }) => to).toSorted();
    expect(sentTo.map((address) => address.split('@')[0])).toEqual(names.toSorted());
  });

  it('is sent by an administrator instead of a link that is printed', async () => {
    server.letters.splice(0);
    const invite = 'invite zoe --mail --claim email=zoe@acme.example'.split(' ');
    const { result } = await userVerb(nodeAt(0), invite);
    expect(result).toMatchObject({ username: 'zoe', invited: true, mailed_to: 'zoe@acme.example' });
    expect(JSON.stringify(result)).not.toContain('/interaction/link');
    await until(() => expect(server.sentTo('zoe@acme.example')).toHaveLength(1));
    const [{ link = '', headers } = { headers: {} }] = server.sentTo('zoe@acme.example');
    expect(headers).toMatchObject({ subject: 'Your invitation to Postern' });
    expect((await newBrowser(nodeAt(1)).open(link)).text).toContain('name="again"');
    // Another address invalidates the link.
    await userVerb(nodeAt(0), ['set', 'zoe', '--claim', 'email=zoe@other.example']);
    expect(await statusOf(nodeAt(1), link)).toBe(410);
    const { code, stderr } = await userVerb(nodeAt(0), ['invite', 'yan', '--mail']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('yan has no verified email address')]);
    expect((await userVerb(nodeAt(0), ['reset', 'yan'])).stderr).toContain('there is no user "yan"');
  });

  it('tells a user of what an administrator does', async () => {
    server.letters.splice(0);
    await userVerb(nodeAt(0), ['reset', 'lou']);
    await until(() => expect(server.sentTo('lou@acme.example')).toHaveLength(1));
    await userVerb(nodeAt(0), ['disable', 'dora']);
    await until(() => expect(server.sentTo('dora@acme.example')).toHaveLength(1));
    await userVerb(nodeAt(0), ['enable', 'dora']);
    expect(server.letters.map(({ headers }) => headers['subject'])).toEqual([
      'Your administrator created a link for your account',
      'Your account at Postern was disabled',
    ]);
    for (const { link } of server.letters) expect(link).toBeUndefined();
    // This user can't change their password.
    expect(server.letters[1]?.text).not.toContain('Change your password');
  });

  it('shows since when the server of an address refuses email (ML-15)', async () => {
    const refusedSince = async () =>
      (await userVerb(nodeAt(0), ['list', 'ann'])).result['email_refused_since'];
    await userVerb(nodeAt(0), ['invite', 'ann', '--claim', 'email=ann@acme.example']);
    const send = () => userVerb(nodeAt(0), ['reset', 'ann', '--mail']);
    server.faults.rcpt = '550 no such user';
    await send();
    const now = expect.stringMatching(/^\d{4}-.*Z$/);
    await until(async () => expect(await refusedSince()).toEqual(now));
    delete server.faults.rcpt;
    await userVerb(nodeAt(0), ['set', 'ann', '--claim', 'email=ann@other.example']);
    expect(await refusedSince()).toBeUndefined();
    await userVerb(nodeAt(0), ['set', 'ann', '--claim', 'email=ann@acme.example']);
    expect(await refusedSince()).toEqual(now);
    await send();
    await until(async () => expect(await refusedSince()).toBeUndefined());
    expect(server.sentTo('ann@acme.example')).toHaveLength(1);
  });

  /** Sends each link to a different process. */
  const post = async (...links: readonly string[]) =>
    Promise.all(links.map((link, index) => postLink(nodeAt(index), link)));
  const choose = async (index: number, link: string, username: string) =>
    postLink(nodeAt(index), link, { username });
  async function signUpLink(address: string, times = 1): Promise<string> {
    await askFor(nodeAt(0), address, { page: 'sign-up' });
    return linkTo(address, times);
  }
  /** The users with the address, by its index. */
  const namesAt = async (address: string) =>
    (await createStoredUsers(store).findBySort('mail-addresses', address, 5)).map(({ username }) => username);
  /** The acts in the audit trails, which are written a moment later. */
  async function actsOn(id: string): Promise<string> {
    await delay(200);
    const trails = nodes.map(({ folder: own }) => readFile(path.join(own, 'audit.jsonl'), 'utf8'));
    return (await Promise.all(trails))
      .flatMap((trail) => trail.split('\n'))
      .filter((row) => row.includes(id) && /"(?:account_changed|link_used)","outcome":"success"/.test(row))
      .flatMap((row) => /"action":"([^"]*)"/.exec(row)?.[1] ?? [])
      .toSorted()
      .join(' ');
  }
  /** Creates a user whose address was changed, and the link that undoes the change. */
  async function moved() {
    const [user, b] = [await newUser(nodeAt(0)), newAddress()];
    expect(await post(await user.link(b))).toEqual([200]);
    return { user, b, undo: await linkTo(user.old) };
  }

  const RACES: Readonly<Record<string, (round: number) => Promise<unknown>>> = {
    async 'one link (ML-35)'() {
      const [user, b] = [await newUser(nodeAt(0)), newAddress()];
      const link = await user.link(b);
      expect(sorted(await post(link, link, link, link))).toBe('200 410 410 410');
      expect([await namesAt(b), await namesAt(user.old)]).toEqual([[user.username], []]);
      expect([await user.isSignedOut(), await actsOn(user.id)]).toEqual([false, 'address email']);
    },
    async 'a link, and a request for another address'() {
      const [user, b, c] = [await newUser(nodeAt(0)), newAddress(), newAddress()];
      const link = await user.link(b);
      const [first] = await Promise.all([post(link), user.ask(c)]);
      await quiet(nodeAt(0));
      const second = await post(...server.sentTo(c).flatMap((letter) => letter.link ?? []));
      expect(await namesAt(second[0] === 200 ? c : b)).toEqual([user.username]);
      const times = [...first, ...second].filter((status) => status === 200).length;
      expect(await actsOn(user.id)).toBe(times === 1 ? 'address email' : 'address address email email');
      // The old mailbox can undo the change, whichever link was first.
      expect(await post(await linkTo(user.old))).toEqual([200]);
      expect(await namesAt(user.old)).toEqual([user.username]);
    },
    async 'links of two users to one address (ML-21)'() {
      const [one, two, b] = [await newUser(nodeAt(0)), await newUser(nodeAt(0)), newAddress()];
      expect(await post(await one.link(b), await two.link(b, 2))).toEqual([200, 200]);
      expect(await namesAt(b)).toHaveLength(2);
      expect(await post(await linkTo(one.old))).toEqual([200]);
      expect([await namesAt(one.old), await namesAt(b)]).toEqual([[one.username], [two.username]]);
      expect([await two.isSignedOut(), await actsOn(two.id)]).toEqual([false, 'address email']);
    },
    async 'an undo, a link, and a request for another address'(round) {
      const { user, undo } = await moved();
      const [link, page, c] = [await user.link(newAddress()), await user.page(), newAddress()];
      const request = user.browser.submit(page, '/account/email', { email: c });
      const [statuses] = await Promise.all([post(...(round % 2 ? [undo, link] : [link, undo])), request]);
      expect(statuses[1 - (round % 2)]).toBe(200);
      await quiet(nodeAt(0));
      for (const dead of [link, undo, ...server.sentTo(c).flatMap((letter) => letter.link ?? [])])
        expect(await post(dead)).toEqual([410]);
      expect([await namesAt(user.old), await user.isSignedOut()]).toEqual([[user.username], true]);
      expect(await actsOn(user.id)).toMatch(/ email sign-out undo$/);
    },
    async 'an undo, twice'() {
      const { user, undo } = await moved();
      expect(sorted(await post(undo, undo))).toBe('200 410');
      expect(await actsOn(user.id)).toBe('address email email sign-out undo');
    },
    async 'two links of a sign-up, each twice (ML-44)'() {
      const address = newAddress();
      const links = [await signUpLink(address), await signUpLink(address, 2)];
      const names = [0, 1, 2, 3].map((index) => `${address.split('@')[0]}-${index}`);
      const statuses = await Promise.all(
        names.map((name, index) => choose(index, links[index >> 1] ?? '', name)),
      );
      expect(sorted(statuses)).toBe('303 410 410 410');
      expect(await namesAt(address)).toEqual([names[statuses.indexOf(303)]]);
    },
    async 'two sign-ups with one username'() {
      const addresses = [newAddress(), newAddress()];
      const links = await Promise.all(addresses.map((address) => signUpLink(address)));
      const [name = ''] = newAddress().split('@');
      const statuses = await Promise.all(links.map((link, index) => choose(index, link, name)));
      expect(sorted(statuses)).toBe('303 422');
      expect(await choose(0, links[statuses.indexOf(422)] ?? '', `${name}-2`)).toBe(303);
      for (const [at, address] of addresses.entries())
        expect(await namesAt(address)).toEqual([statuses[at] === 303 ? name : `${name}-2`]);
    },
  };

  it.each(Object.entries(RACES))(`is right after %s at once, in ${ROUNDS} rounds`, async (_, race) => {
    await Promise.all(Array.from({ length: ROUNDS }, (__, round) => race(round)));
  });

  /** An act, and what must be true once it was repeated. */
  type Killed = readonly [() => Promise<number>, () => Promise<void>];
  const KILLED: Readonly<Record<string, () => Promise<Killed>>> = {
    async 'a change of address'() {
      const [user, b] = [await newUser(nodeAt(0)), newAddress()];
      const link = await user.link(b);
      const check = async () => {
        expect([await namesAt(user.old), await namesAt(b)]).toEqual([[], [user.username]]);
        const undos = server.sentTo(user.old).filter((one) => one.link !== undefined);
        const ids = new Set(undos.map(({ headers }) => headers['message-id']));
        expect([ids.size, undos.length < 3]).toEqual([1, true]);
        expect(await post(undos.at(-1)?.link ?? '')).toEqual([200]);
      };
      return [() => postLink(nodeAt(0), link), check];
    },
    async 'an undo'() {
      const { user, b, undo } = await moved();
      const check = async () => {
        expect([await namesAt(user.old), await namesAt(b)]).toEqual([[user.username], []]);
        expect(await user.isSignedOut()).toBe(true);
      };
      return [() => postLink(nodeAt(0), undo), check];
    },
    'a sign-up': () => killedSignUp((link, name) => choose(0, link, name)),
    'a sign-up, before another one': () => killedSignUp(async () => 410),
  };
  /** `repeat`: what the newcomer does after the kill, before they request another link. */
  async function killedSignUp(repeat: (link: string, name: string) => Promise<number>): Promise<Killed> {
    const address = newAddress();
    const [name = ''] = address.split('@');
    const link = await signUpLink(address);
    const check = async () => {
      const links = [link];
      if ((await namesAt(address)).length === 0) links.unshift(await signUpLink(address, 2));
      const statuses = await Promise.all(links.map((one) => choose(0, one, `${name}-2`)));
      expect(sorted(statuses)).toBe(links.length === 1 ? '410' : '303 410');
      expect(await namesAt(address)).toHaveLength(1);
      // The user who was begun is the only one in the store.
      const stored = await store.documents.list('people');
      expect(stored.filter(({ value }) => value.includes(`"${address}"`))).toHaveLength(1);
    };
    let act = async () => {
      act = () => repeat(link, name);
      return choose(0, link, name);
    };
    return [() => act(), check];
  }

  it.each(Object.entries(KILLED))('is right after a kill in %s', async (title, begin) => {
    const node = nodeAt(0);
    // The fourth write of a sign-up is the user, and the last one is the username.
    const first = engine === 'lmdb' ? 1 : 3;
    const killAfter = async (child: ChildProcess, writes: number) => {
      // A process that is about to end takes no message any more.
      child.send(writes, () => undefined);
      await once(child, 'message');
    };
    for (let [writes, isDead] = [title.includes('sign-up') ? 4 : first, true]; isDead; writes += STEP) {
      const [[act, check], { child }] = [await begin(), node];
      await quiet(node);
      await killAfter(child, writes);
      const ended = once(child, 'exit').then(() => true);
      const status = await act().catch(() => 0);
      // The emails that follow count as well.
      async function over(): Promise<boolean> {
        await quiet(node);
        await killAfter(child, 0);
        return false;
      }
      isDead = await Promise.race([ended, over()]);
      if (isDead) {
        node.child = await start(node);
        await retryNow(node);
        // A connection to the process that was killed may be left.
        expect(status === 0 ? [200, 303, 410] : [410]).toContain(await act().catch(act));
        await quiet(node);
      }
      await check();
    }
  });

  it('is sent again after a kill in the middle, with the same Message-ID (T7, T17)', async () => {
    server.letters.splice(0);
    let release = () => {};
    server.faults.hold = new Promise<void>((resolve) => (release = resolve));
    server.seen.splice(0);
    for (const name of ['anna', 'dora', 'lou']) await askFor(nodeAt(1), name);
    await until(() => expect(server.seen.filter((what) => what === 'data')).toHaveLength(3));
    nodeAt(0).child.kill('SIGKILL');
    // A retry skips emails that may be in progress, for at most a quarter of an hour.
    expect((await retry()).stdout).toBe('Retrying 0 emails\n');
    await retryNow(nodeAt(1));
    release();
    delete server.faults.hold;
    await until(async () => expect(await waiting()).toEqual([]));
    for (const name of ['anna', 'dora', 'lou']) {
      const letters = server.sentTo(`${name}@acme.example`);
      expect([1, 2]).toContain(letters.length);
      expect(new Set(letters.map(({ headers }) => headers['message-id'])).size).toBe(1);
      for (const { link = '' } of letters) expect(await statusOf(nodeAt(1), link)).toBe(200);
    }
  });
});
