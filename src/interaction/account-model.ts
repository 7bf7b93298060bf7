// What the page where people help themselves shows.
import { createAccessRules } from '../config/access-rules.ts';
import type { Client } from '../config/config.ts';
import { ACCOUNT_FACTORS_PATH, ACCOUNT_PATH, ENDPOINTS } from '../config/endpoints.ts';
import { toClientModel } from '../oidc/client-model.ts';
import type { FindClient } from '../oidc/clients.ts';
import type { AllowedApp, PersonGrants } from '../oidc/person-grants.ts';
import type { PersonIndex, SecurityEvent } from '../oidc/person-index.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import type { PageModels } from '../views/models.ts';
import type { OwnPage, Visitor } from './own-page.ts';
import type { PagesParts } from './parts.ts';
import { toAllowedModels } from '../oidc/scope-words.ts';
import { toDayText, toTimeText } from './show-second-step.ts';

export type AccountModel = Extract<PageModels['account'], { outcome: 'page' }>;
export type AccountError = NonNullable<AccountModel['error']>;

/** What was just done says so for as long as this. */
const DONE_SECONDS = 60;

type AccountModelParts = Pick<PagesParts, 'config' | 'pages' | 'now'> & {
  readonly findClient: FindClient;
  readonly personSessions: Pick<PersonSessions, 'list' | 'idOf'>;
  readonly grants: Pick<PersonGrants, 'list'>;
  readonly index: Pick<PersonIndex, 'eventsOf'>;
};

type Asked = {
  readonly locale: string;
  /** As the address says. */
  readonly done?: string | undefined;
  readonly error?: AccountError | undefined;
};

export type ToAccountModel = ReturnType<typeof createToAccountModel>;

export function createToAccountModel(parts: AccountModelParts) {
  const { config, findClient, personSessions, grants, index, pages, now } = parts;
  const { issuer, users } = config;
  const rules = createAccessRules(config);
  const url = `${issuer}${ACCOUNT_PATH}`;
  const ofFile = new Set(users.map(({ id }) => id));
  const nameOf = (clientId: string) => {
    const client = findClient(clientId);
    return client === undefined ? clientId : toClientModel(client, issuer).name;
  };

  function passwordOf({ account }: Visitor): AccountModel['password'] {
    if (!account.hasPassword) return 'none';
    return ofFile.has(account.id) ? 'operator' : 'here';
  }

  return async function toModel(visitor: Visitor, page: OwnPage, asked: Asked): Promise<AccountModel> {
    const { locale, done, error } = asked;
    const { account, session, own, isFresh } = visitor;
    const [sessions, allowed, events] = await Promise.all([
      personSessions.list(account.id),
      grants.list(account.id),
      index.eventsOf(account.id),
    ]);
    const current = sessions.filter((one) => one.sessionsSince === own.sessionsSince);
    return {
      outcome: 'page',
      username: account.username,
      ...claimsOf(visitor),
      groups: account.groups,
      csrf: page.token(visitor),
      signInUrl: isFresh ? undefined : page.signInUrl(true),
      password: passwordOf(visitor),
      minLength: config.passwords.minLength,
      passwordAction: `${url}/password`,
      factorsUrl: config.signIn === undefined ? undefined : `${issuer}${ACCOUNT_FACTORS_PATH}`,
      sessions: current.map(({ uid, place, signedInAt }) => ({
        id: personSessions.idOf(uid),
        browser: place?.browser ?? '',
        network: place?.network ?? '',
        day: toDayText(signedInAt, locale),
        current: uid === session.uid,
      })),
      endSessionAction: `${url}/end-session`,
      endOthersAction: `${url}/end-others`,
      signOutUrl: `${issuer}${ENDPOINTS.logout}`,
      apps: config.clients.filter((client) => mayOpen(client, visitor)).map((client) => toAppModel(client)),
      allowed: allowed.map((app) => toAllowedModel(app, locale)),
      withdrawAction: `${url}/withdraw`,
      events: events.toReversed().map((event) => toEventModel(event, locale)),
      done: doneNow(events.at(-1), done, now()),
      error,
    };
  };

  function mayOpen(client: Client, { account }: Visitor): boolean {
    return (
      client.clientUri !== undefined && client.redirectUris.length > 0 && rules.mayUseClient(account, client)
    );
  }

  function toAppModel(client: Client): AccountModel['apps'][number] {
    const { name, startUri, clientUri = '', logoUri } = toClientModel(client, issuer);
    return { name, uri: startUri ?? clientUri, logoUri };
  }

  function toAllowedModel(app: AllowedApp, locale: string): AccountModel['allowed'][number] {
    const words = toAllowedModels(app, config, (key) => pages.text(locale, key));
    return { id: app.clientId, name: nameOf(app.clientId), ...words };
  }

  function toEventModel({ what, at, place, app }: SecurityEvent, locale: string) {
    const { browser = '', network = '' } = place ?? {};
    return { what, at: toTimeText(at, locale), browser, network, app: app && nameOf(app) };
  }
}

/** What of a person's claims is text. */
function claimsOf({ account: { claims } }: Visitor): Pick<AccountModel, 'name' | 'email'> {
  const { name, email } = claims;
  return {
    name: typeof name === 'string' ? name : undefined,
    email: typeof email === 'string' ? email : undefined,
  };
}

/** What the address says was done, where that is the newest event: nobody else's link makes the page say it. */
function doneNow(
  newest: SecurityEvent | undefined,
  said: string | undefined,
  now: number,
): AccountModel['done'] {
  const isNew = newest !== undefined && now / 1000 - newest.at < DONE_SECONDS;
  const { what } = newest ?? {};
  const isOfPage =
    what === 'password_changed' ||
    what === 'session_ended' ||
    what === 'sessions_ended' ||
    what === 'app_withdrawn';
  return isNew && isOfPage && what === said ? what : undefined;
}
