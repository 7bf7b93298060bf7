// What a change of the users file means for what people have: a login name that it takes from a person of the store.
import { expect, it } from 'vitest';
import { hashPassword } from '../../src/users/passwords.ts';
import { createPeople } from '../../src/users/people.ts';
import { exchange, signIn, takeCode } from '../world/app.ts';
import { askForCodes, DEVICE_CONFIG, isDonePage, letIn, poll } from '../world/device.ts';
import { eachStore } from '../world/each-store.ts';
import { begin, idOf, silently, signInAs } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { givePasskey } from '../world/second-factors.ts';
import { refresh } from '../world/token-endpoint.ts';
import { type OpenWorld, PASSWORDS } from '../world/world.ts';

const CONFIG = { ...DEVICE_CONFIG, sign_in: { passkeys: true } };

/** What of a sign-in still works. */
async function alive(world: OpenWorld, { browser, tokens }: Awaited<ReturnType<typeof signIn>>) {
  const { access_token: token, refresh_token: refreshToken } = tokens;
  return {
    session: (await silently(world, browser, { scope: 'openid' })) !== 'login_required',
    token: (await introspect(world, token, 'web'))['active'] as boolean,
    userinfo: (await userinfo(world, token)).status === 200,
    refresh: (await refresh(world, refreshToken)).status === 200,
  };
}
const NOTHING = { session: false, token: false, userinfo: false, refresh: false };

eachStore(
  'a person of the store',
  (world) => {
    it('F1-29: whose login name the file takes has nothing any more, and starts anew once it is free', async () => {
      const username = 'person7';
      const id = idOf(username);
      const passwordHash = await hashPassword(PASSWORDS.alice);
      const people = createPeople(world().openedStore.documents);
      expect(await people.add({ id, username, passwordHash, claims: {} })).toBe(true);
      const before = await signIn(world(), { person: username });
      const kept = await signIn(world(), { person: username });
      const code = await takeCode(world(), { person: username });
      const device = await askForCodes(world());
      expect(isDonePage(await letIn(world(), device, { person: username }))).toBe(true);
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
      expect((await poll(world(), device)).body['error']).toBe('invalid_grant');
      expect(await byPasskey()).toBe(401);
      const { recorded } = world();
      expect(recorded.log.filter((line) => line.includes('login name of one of the store'))).toHaveLength(1);

      await world().reload(CONFIG, {});
      expect(await alive(world(), kept)).toEqual(NOTHING);
      expect([await byPasskey(), await byPassword()]).toEqual([200, 200]);
    });
  },
  { config: CONFIG },
);
