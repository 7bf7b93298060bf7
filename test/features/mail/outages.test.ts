// An outage of the store at any write of the request that uses an emailed link: the link still works, or it has worked.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { useWorld } from '../../world/each-store.ts';
import { GENEROUS } from '../../world/world.ts';
import { startMailServer } from './mail-server.ts';
import { askFor, createAddressUsers, idOfStored, newAddress, openLink, postLink, quiet } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
const { linkTo, newUser } = createAddressUsers(server);
const mail = { ...server.mail, sign_up: { domains: 'any' } };
const config = { ...GENEROUS, account: true, mail, trusted_proxies: ['127.0.0.1'] };
/** More than the writes of each request. */
const TRIES = 14;

/** Which write of a request fails, by its path; `isLost`: only its answer. Writes in the background don't count. */
type Outage = { left: number; readonly isLost: boolean };
const outages = new Map<string, Outage>();
const requests = new AsyncLocalStorage<Outage | undefined>();
const onRequest = (message: unknown) =>
  requests.enterWith(outages.get((message as { request: IncomingMessage }).request.url ?? ''));
subscribe('http.server.request.start', onRequest);
afterAll(() => void unsubscribe('http.server.request.start', onRequest));

type Write = (...args: readonly unknown[]) => Promise<unknown>;
function failingAtWrite(store: Store): Store {
  for (const part of [store.documents, store.index, store.records])
    for (const [name, write] of Object.entries(part) as [string, Write][]) {
      const broken: Write = async (...args) => {
        const outage = requests.getStore();
        if (outage === undefined || (outage.left -= 1) !== 0) return write(...args);
        const { isLost } = outage;
        if (isLost) await write(...args);
        throw Object.assign(new StoreUnavailable(), { mayBeDone: isLost });
      };
      if (/^(?:putA?l?l?|remove|save|consume|destroy|exchange)$/.test(name))
        Object.assign(part, { [name]: broken });
    }
  return store;
}

describe('an outage', () => {
  const world = useWorld({ config, handStore: failingAtWrite });
  const users = () => createStoredUsers(world().openedStore);
  const password = 'a-new-password-for-an-outage';
  const chosen = { password, again: password };

  /** Resolves a link, the fields of its form, and whether it was used. */
  type Link = readonly [string, object, () => Promise<unknown>];
  const LINKS: Readonly<Record<string, () => Promise<Link>>> = {
    async 'a reset'() {
      const { id, username, old } = await newUser(world());
      const before = await users().findById(id);
      await askFor(world(), username);
      const isUsed = async () => (await users().findById(id))?.passwordHash !== before?.passwordHash;
      return [await linkTo(old), chosen, isUsed];
    },
    async 'an invitation'() {
      const email = newAddress();
      const [username = ''] = email.split('@');
      const id = idOfStored(`${username}x`);
      await users().add({ id, username, passwordHash: undefined, claims: { email } });
      await askFor(world(), username);
      return [await linkTo(email), chosen, async () => (await users().findById(id))?.hasPassword];
    },
    async 'the confirmation of an address'() {
      const user = await newUser(world(), { email_verified: false });
      return [await user.link(user.old), {}, async () => (await user.claims())?.['email_verified']];
    },
    async 'a change of address'() {
      const [user, to] = [await newUser(world()), newAddress()];
      return [await user.link(to), {}, async () => (await user.claims())?.['email'] === to];
    },
    async 'an undo'() {
      const user = await newUser(world());
      await postLink(world(), await user.link(newAddress()));
      const isUsed = async () => (await user.claims())?.['email'] === user.old && user.isSignedOut();
      return [await linkTo(user.old), {}, isUsed];
    },
    async 'a sign-up'() {
      const email = newAddress();
      const [username = ''] = email.split('@');
      await askFor(world(), email, { page: 'sign-up' });
      return [await linkTo(email), { username }, () => users().findByUsername(username)];
    },
  };

  it.concurrent.each(Object.entries(LINKS))('at any write spends no link of %s (ML-35)', async (_, begin) => {
    const links = await Promise.all(Array.from({ length: 2 * TRIES }, begin));
    await quiet(world());
    for (const isLost of [false, true]) {
      let isBroken = true;
      for (let write = 1; isBroken; write += 1) {
        const [link, fields, isUsed] = links.pop() ?? ['', {}, () => Promise.resolve()];
        const page = await openLink(world(), link);
        const outage = { left: write, isLost };
        const { pathname } = new URL(link);
        outages.set(pathname, outage);
        const { status } = await page.post(fields);
        isBroken = outage.left <= 0;
        outages.delete(pathname);
        const again = (await page.post(fields)).status;
        const works = isLost ? [200, 303, 410] : [200, 303];
        expect([200, 303, 503]).toContain(status);
        expect(status === 503 ? works : [410], `${write} ${isLost}`).toContain(again);
        expect(await isUsed()).toBeTruthy();
      }
    }
  });
});
