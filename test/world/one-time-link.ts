// Links as `postern user` prints them.
import type { Store } from '../../src/store/store.ts';
import { createAccountStates } from '../../src/users/account-state.ts';
import { createOneTimeLinks, type LinkPurpose } from '../../src/users/one-time-links.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { factorsOf } from './second-factors.ts';
import { hashOf } from './stored.ts';

/** Creates a link and resolves its token. */
export async function newLink(
  place: { readonly openedStore: Store; readonly issuer: string },
  purpose: LinkPurpose,
  accountId: string,
  seconds = 600,
): Promise<string> {
  const { documents, records } = place.openedStore;
  const states = createAccountStates(documents);
  const hash = await hashOf(place.openedStore);
  const factors = await factorsOf(place);
  const links = createOneTimeLinks({
    records,
    states,
    factors,
    hash,
    now: () => Date.now(),
  });
  const { validAfter: stateSince } = await states.get(accountId);
  const { validAfter: passwordSince = 0 } =
    (await createStoredUsers(place.openedStore).findById(accountId)) ?? {};
  return links.create({ purpose, accountId, passwordSince, stateSince }, seconds);
}
