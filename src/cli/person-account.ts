// What the account page shows of a person, for the command line.
import type { Config } from '../config/config.ts';
import { createTombstoneSeconds } from '../oidc/lifetimes.ts';
import type { SecurityEvent } from '../oidc/person-index.ts';
import { createPersonGrants } from '../oidc/person-grants.ts';
import { WHOLE_API } from '../oidc/policies/asked-for.ts';
import { createRememberedConsents } from '../oidc/policies/remembered-consents.ts';
import { accountsOf, personListsOf } from '../server/person-lists.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';

export type PersonAccount = NonNullable<ReturnType<typeof openPersonAccount>>;

const NOWHERE = { browser: '', network: '' };

/** Undefined while nobody asks for the lists. */
export function openPersonAccount(config: Config, store: Store, hash: KeyedHash) {
  const { clock, records } = store;
  const accounts = accountsOf(config, store, hash);
  const tombstoneSeconds = createTombstoneSeconds()(config);
  const lists = personListsOf(config, store, { hash, clock, tombstoneSeconds, onDamaged: ignore, accounts });
  if (lists === undefined) return undefined;
  const { index, sessions, parts } = lists;
  const lifetimeSeconds = config.lifetimes.consent;
  const consents = createRememberedConsents({ ...parts, records, lifetimeSeconds });
  const grants = createPersonGrants({ ...parts, consents });

  return {
    /** Undefined while there is no account page. Throws StoreUnavailable. */
    async describe(accountId: string) {
      if (!config.account) return undefined;
      const [signedIn, allowed, events] = await Promise.all([
        sessions.list(accountId),
        grants.list(accountId),
        index.eventsOf(accountId),
      ]);
      return {
        sessions: signedIn.map(({ place = NOWHERE, signedInAt }) => ({ ...place, since: toIso(signedInAt) })),
        allowed: allowed.map(({ clientId, scopes, resourceScopes }) => ({
          client_id: clientId,
          scope: [...new Set([...scopes, ...Object.values(resourceScopes).flat()])]
            .filter((scope) => scope !== WHOLE_API)
            .join(' '),
        })),
        events: events.toReversed().map(({ what, at, app, place = NOWHERE }) => ({
          what,
          at: toIso(at),
          client_id: app,
          ...place,
        })),
      };
    },
    endVoid: (accountId: string) => sessions.endVoid(accountId),
    leave: (accountId: string, clientId: string) => sessions.leave(accountId, clientId),
    tell: (accountId: string, what: SecurityEvent['what']) => index.addEvent(accountId, { what }),
  };
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** The service reports what is damaged. */
const ignore = () => undefined;

const place = ({ browser, network }: { browser: string; network: string }) =>
  [browser || 'unknown browser', network].filter((part) => part !== '').join(', ');

/** Below `postern user show`. */
export function toAccountLines({
  sessions,
  allowed,
  events,
}: NonNullable<Awaited<ReturnType<PersonAccount['describe']>>>): readonly string[] {
  return [
    'signed in:',
    ...sessions.map((session) => `  ${session.since}  ${place(session)}`),
    'apps with access:',
    ...allowed.map(({ client_id: id, scope }) => `  ${id}: ${scope}`),
    'last events:',
    ...events.map(
      (event) => `  ${[event.at, event.what, event.client_id, place(event)].filter(Boolean).join('  ')}`,
    ),
  ];
}
