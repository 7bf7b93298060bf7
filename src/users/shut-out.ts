// Whom a change of the file keeps from an app that hears of the end of sessions.
import { isDeepStrictEqual } from 'node:util';
import { createAccessRules, type Grouped } from '../config/access-rules.ts';
import type { Config } from '../config/config.ts';
import type { People } from './people.ts';

export type ShutOut = { readonly id: string; readonly clientId: string };

type Member = Grouped & { readonly id: string };

/** Of the clients of `after` with a `backchannel_logout_uri`. Throws StoreUnavailable. */
export async function findShutOut(
  before: Config,
  after: Config,
  people: Pick<People, 'list'>,
): Promise<readonly ShutOut[]> {
  const clients = after.clients.filter(({ backchannelLogoutUri }) => backchannelLogoutUri !== undefined);
  const accessBefore = new Map(before.clients.map(({ clientId, access }) => [clientId, access]));
  const hasOtherRule = clients.some(
    ({ clientId, access }) => !isDeepStrictEqual(access, accessBefore.get(clientId)),
  );
  const now: readonly Member[] = [...after.users, ...(hasOtherRule ? await people.list() : [])];
  const inFile = new Map<string, Member>(before.users.map((user) => [user.id, user]));
  const [was, is] = [createAccessRules(before), createAccessRules(after)];
  return now.flatMap((person) =>
    clients
      .filter((client) => was.mayUseClient(inFile.get(person.id) ?? person, client))
      .filter((client) => !is.mayUseClient(person, client))
      .map(({ clientId }) => ({ id: person.id, clientId })),
  );
}
