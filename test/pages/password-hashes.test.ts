// How passwords are stored: at the policy's cost, also after it is raised, and in one form however they are typed.
import { hash } from '@node-rs/argon2';
import { expect, it } from 'vitest';
import { hashPassword } from '../../src/users/passwords.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { anyStore } from '../world/each-store.ts';
import { begin, silently } from '../world/person.ts';
import { type OpenWorld } from '../world/world.ts';

const PASSWORD = 'river otter jazz 47';
const WEAK = { memoryCost: 8192, timeCost: 2, parallelism: 1 };
const POLICY = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

async function submit(world: OpenWorld, username: string, password: string) {
  const { browser, page } = await begin(world, { scope: 'openid' });
  return { browser, answer: await browser.submit(page, '/login', { username, password }) };
}

async function addPerson(world: OpenWorld, username: string, passwordHash: string) {
  const people = createStoredUsers(world.openedStore);
  const id = `usr_${username.padEnd(22, '0')}`;
  expect(await people.add({ id, username, passwordHash, claims: {} })).toBe(true);
  return async () => (await people.findById(id))?.passwordHash ?? '';
}

anyStore('the hash of a person of the store', (world) => {
  it('LG-29: is renewed by a sign-in when the policy has risen, and nothing else changes', async () => {
    const weak = await hash(PASSWORD, WEAK);
    const stored = await addPerson(world(), 'olga', weak);
    expect((await submit(world(), 'olga', 'wrong')).answer.status).toBe(401);
    expect(await stored()).toBe(weak);
    const first = await submit(world(), 'olga', PASSWORD);
    expect(first.answer.status).toBe(200);
    const renewed = await stored();
    expect(renewed).toMatch(POLICY);
    // The user is still signed in: the password is the same.
    await first.browser.submit(first.answer, '/consent');
    expect(await silently(world(), first.browser, { scope: 'openid' })).not.toBe('login_required');
    expect((await submit(world(), 'olga', PASSWORD)).answer.status).toBe(200);
    expect(await stored()).toBe(renewed);
  });

  it('LG-29: is not what a sign-in writes when the password was changed meanwhile', async () => {
    const stored = await addPerson(world(), 'paul', await hash(PASSWORD, WEAK));
    const people = createStoredUsers(world().openedStore);
    const next = await hashPassword('quiet lantern moss 12');
    await people.renewHash(`usr_${'paul'.padEnd(22, '0')}`, 'the hash of before', 'a stale one');
    expect(await people.setPassword(`usr_${'paul'.padEnd(22, '0')}`, next, 0)).toBeDefined();
    await people.renewHash(`usr_${'paul'.padEnd(22, '0')}`, 'the hash of before', 'a stale one');
    expect(await stored()).toBe(next);
  });

  it('is of the normalized password: an accent is one password, however it is written', async () => {
    await addPerson(world(), 'rene', await hashPassword('cafe\u0301 ｒｉｖｅｒ ﬁsh 47'));
    for (const typed of ['cafe\u0301 ｒｉｖｅｒ ﬁsh 47', 'caf\u00e9 river fish 47']) {
      expect((await submit(world(), 'rene', typed)).answer.status, typed).toBe(200);
    }
    expect((await submit(world(), 'rene', 'cafe river fish 47')).answer.status).toBe(401);
    // An imported hash may be of the password exactly as it was typed.
    await addPerson(world(), 'sven', await hash('cafe\u0301 river fish 47', WEAK));
    expect((await submit(world(), 'sven', 'cafe\u0301 river fish 47')).answer.status).toBe(200);
  });
});
