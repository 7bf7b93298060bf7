// The effect of a changed users file on what users have: an entry that is removed and returns, and a username that it takes from a user of
// the store.
import { expect, it } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { hashPassword } from '../../src/users/passwords.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { exchange, signIn, takeCode } from '../world/app.ts';
import { runVerb } from '../world/command-line.ts';
import { eachStore } from '../world/each-store.ts';
import { begin, enterPassword, idOf, signInAs, silently } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { givePasskey } from '../world/second-factors.ts';
import { startRedis } from '../world/servers.ts';
import { userVerb } from '../world/terminal.ts';
import { refresh } from '../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE, startWorld } from '../world/world.ts';

/** Without the entry of Alice. */
const GONE = { alice: { id: 'usr_zoe00000000000000003', username: 'zoe' } };
const CONFIG = { ...GENEROUS, sign_in: { passkeys: true } };

/** The parts of a sign-in that still work. */
async function alive(world: OpenWorld, { browser, tokens }: Awaited<ReturnType<typeof signIn>>) {
  const { access_token: token, refresh_token: refreshToken } = tokens;
  return {
    session: (await silently(world, browser, { scope: 'openid' })) !== 'login_required',
    token: (await introspect(world, token, 'web'))['active'] as boolean,
    userinfo: (await userinfo(world, token)).status === 200,
    refresh: (await refresh(world, refreshToken)).status === 200,
  };
}
const EVERYTHING = { session: true, token: true, userinfo: true, refresh: true };
const NOTHING = { session: false, token: false, userinfo: false, refresh: false };

eachStore('a user of the store', { config: CONFIG }, (world) => {
  it('F1-29: whose login name the file takes has nothing any more, and starts anew once it is free', async () => {
    const username = 'person7';
    const id = idOf(username);
    const passwordHash = await hashPassword(PASSWORDS.alice);
    const people = createStoredUsers(world().openedStore);
    expect(await people.add({ id, username, passwordHash, claims: {} })).toBe(true);
    const before = await signIn(world(), { person: username });
    const kept = await signIn(world(), { person: username });
    const code = await takeCode(world(), { person: username });
    const key = await givePasskey(world(), username);
    const byPasskey = async () => {
      const { browser, page } = await begin(world());
      return (await browser.submit(page, '/passkey', { response: key.assert(world(), page) })).status;
    };
    const byPassword = async () => {
      const { browser, page } = await begin(world());
      return (await signInAs(browser, page, username)).status;
    };
    expect([await byPasskey(), await byPassword()]).toEqual([200, 200]);

    await world().reload(CONFIG, { alice: { username: 'Person7' } });
    expect(await alive(world(), before)).toEqual(NOTHING);
    await expect(exchange(code)).rejects.toThrow();
    expect(await byPasskey()).toBe(401);
    const { recorded } = world();
    expect(recorded.log.filter((line) => line.includes('username of a user in the store'))).toHaveLength(1);

    await world().reload(CONFIG, {});
    expect(await alive(world(), kept)).toEqual(NOTHING);
    expect([await byPasskey(), await byPassword()]).toEqual([200, 200]);
  });

  it('F1-20: who was deleted has nothing any more, even if the file has the ID later', async () => {
    const username = 'person8';
    const id = idOf(username);
    const passwordHash = await hashPassword(PASSWORDS.alice);
    await createStoredUsers(world().openedStore).add({ id, username, passwordHash, claims: {} });
    const before = await signIn(world(), { person: username });
    expect((await userVerb(world(), ['delete', username], '', runVerb)).code).toBe(0);
    await world().reload(CONFIG, { bob: { id, username } });
    expect(await alive(world(), before)).toEqual(NOTHING);
    await world().reload(CONFIG, {});
  });

  it('F1-20: an entry that is gone opens nothing and ends nothing; once it is back, what was there is revoked', async () => {
    const states = createAccountStates(world().openedStore.documents);
    const before = await signIn(world());
    const bob = await signIn(world(), { person: 'bob' });
    const { validAfter } = await states.get(PEOPLE.alice);
    await world().reload(CONFIG, GONE);
    expect(await alive(world(), before)).toEqual(NOTHING);
    expect((await enterPassword(world())).page.status).toBe(401);
    expect((await states.get(PEOPLE.alice)).validAfter).toBe(validAfter);

    await world().reload(CONFIG, {});
    expect(await alive(world(), before)).toEqual(NOTHING);
    const after = await signIn(world());
    await world().reload({ ...CONFIG, branding: { name: 'Other' } }, {});
    expect(await alive(world(), after)).toEqual(EVERYTHING);
    expect(await alive(world(), bob)).toEqual(EVERYTHING);
  });
});

it('F1-20: an entry that one of two nodes lacks ends nothing by that, and everything once when it returns there, also by a restart', async () => {
  const redis = await startRedis();
  const first = await startWorld({ store: redis.url });
  const { issuer } = first;
  const startOlder = async (people: object) => startWorld({ store: redis.url, issuer, people });
  let older = await startOlder(GONE);
  try {
    // Each one is used once: a second use of a refresh token ends its family.
    const [one, two] = [await signIn(first), await signIn(first)];
    expect(await introspect(older, one.tokens.access_token, 'web')).toEqual({ active: false });
    await first.reload({ branding: { name: 'Other' } });
    expect(await alive(first, one)).toEqual(EVERYTHING);

    await older.reload({}, {});
    expect(await alive(first, two)).toEqual(NOTHING);
    const [three, four] = [await signIn(first), await signIn(first)];
    await first.reload({});
    await older.reload({ branding: { name: 'Other' } }, {});
    expect(await alive(first, three)).toEqual(EVERYTHING);

    await older.reload({}, GONE);
    expect(await introspect(first, four.tokens.access_token, 'web')).toMatchObject({ active: true });
    await older.stop();
    older = await startOlder({});
    expect(await alive(first, four)).toEqual(NOTHING);
  } finally {
    await older.stop();
    await first.stop();
    await redis.stop();
  }
});
