// What the page where users help themselves shows.
import type { Client } from '../config/config.ts';
import { ACCOUNT_PATH, FACTORS_PATH } from '../config/endpoint-rows.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { toClientModel } from '../oidc/client-model.ts';
import type { AllowedApp } from '../oidc/user-grants.ts';
import type { SecurityEvent } from '../users/user-index.ts';
import type { PageModels } from '../views/models.ts';
import type { AccountPage, Host } from './host.ts';
import type { OwnPage, Visitor } from './own-page.ts';

import { toAllowedModels } from '../oidc/scope-words.ts';
import { toDayText, toTimeText } from './time-texts.ts';

type AccountModel = Extract<PageModels['account'], { outcome: 'page' }>;
export type AccountError = NonNullable<AccountModel['error']>;

/** What was just done says so for as long as this. */
const DONE_SECONDS = 60;
const DONE = ['password_changed', 'session_ended', 'sessions_ended', 'app_withdrawn'] as const;

export function createToAccountModel(
  { config, rules, clients, pages, now }: Host,
  { userSessions, grants, index }: AccountPage,
) {
  const { issuer } = config;
  const url = `${issuer}${ACCOUNT_PATH}`;
  const nameOf = (clientId: string) => {
    const client = clients.find(clientId);
    return client === undefined ? clientId : toClientModel(client, issuer).name;
  };

  return async function toModel(
    visitor: Visitor,
    page: OwnPage,
    locale: string,
    error: AccountError | undefined,
  ): Promise<AccountModel> {
    const { account, session, own, isFresh } = visitor;
    const [sessions, allowed, events] = await Promise.all([
      userSessions.list(account.id),
      grants.list(account.id),
      index.eventsOf(account.id),
    ]);
    const current = sessions.filter((one) => one.sessionsSince === own.sessionsSince);
    return {
      outcome: 'page',
      username: account.username,
      name: textOf(account.claims['name']),
      email: textOf(account.claims['email']),
      groups: account.groups,
      csrf: page.token(visitor),
      signInUrl: isFresh ? undefined : page.signInUrl(true),
      password: passwordOf(account),
      minLength: config.passwords.minLength,
      passwordAction: `${url}/password`,
      factorsUrl: config.signIn === undefined ? undefined : `${issuer}${FACTORS_PATH}`,
      sessions: current.map(({ uid, place, signedInAt }) => ({
        id: userSessions.idOf(uid),
        browser: place?.browser ?? '',
        network: place?.network ?? '',
        day: toDayText(signedInAt, locale),
        current: uid === session.uid,
      })),
      endSessionAction: `${url}/end-session`,
      endOthersAction: `${url}/end-others`,
      signOutUrl: `${issuer}${ENDPOINTS.logout}`,
      apps: config.clients
        .filter((client) => isStart(client) && rules.mayUseClient(account, client))
        .map((client) => toAppModel(client, issuer)),
      allowed: allowed.map((app) => toAllowedModel(app, locale)),
      withdrawAction: `${url}/withdraw`,
      events: events.toReversed().map((event) => toEventModel(event, locale)),
      done: doneNow(events.at(-1), now()),
      error,
    };
  };

  function toAllowedModel(app: AllowedApp, locale: string): AccountModel['allowed'][number] {
    const words = toAllowedModels(app, config, (key) => pages.text(locale, key));
    return { id: app.clientId, name: nameOf(app.clientId), ...words };
  }

  function toEventModel({ what, at, place, app }: SecurityEvent, locale: string) {
    const { browser = '', network = '' } = place ?? {};
    return { what, at: toTimeText(at, locale), browser, network, app: app && nameOf(app) };
  }
}

/** Whether users can begin there. */
const isStart = ({ clientUri, redirectUris }: Client) => clientUri !== undefined && redirectUris.length > 0;

function toAppModel(client: Client, issuer: string): AccountModel['apps'][number] {
  const { name, startUri, clientUri = '', logoUri } = toClientModel(client, issuer);
  return { name, uri: startUri ?? clientUri, logoUri };
}

function passwordOf({ hasPassword, canSetPassword }: Visitor['account']): AccountModel['password'] {
  if (!hasPassword) return 'none';
  return canSetPassword ? 'here' : 'operator';
}

const textOf = (claim: unknown) => (typeof claim === 'string' ? claim : undefined);

/** The newest event, where it is a change that was made here a moment ago. */
function doneNow(newest: SecurityEvent | undefined, now: number): AccountModel['done'] {
  const isNew = newest !== undefined && now / 1000 - newest.at < DONE_SECONDS;
  return isNew ? DONE.find((what) => what === newest.what) : undefined;
}
