// The sections of the account page that are its own: profile, password, sessions, apps, recent activity.
import type { Context } from 'koa';
import type { Client } from '../../config/config.ts';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Host } from '../../interaction/host.ts';
import type { AccountFields, Section, Visitor } from '../../interaction/account-page.ts';
import { toClientModel } from '../../oidc/client-model.ts';
import { toAllowedModels } from '../../oidc/scope-words.ts';
import { issuedBySession } from '../../oidc/seam/session-sign-in.ts';
import type { FoundSession } from '../../oidc/user-sessions.ts';
import type { UserLists } from '../../oidc/user-lists.ts';
import { noteInActivity, recordAct } from '../../users/acts.ts';
import type { SecurityEvent } from '../../users/user-index.ts';
import { createChangePassword } from './change-password.ts';
import { createUserGrants } from './user-grants.ts';

/** How long the page confirms a change. */
const DONE_SECONDS = 60;
const DONE = ['password_changed', 'session_ended', 'sessions_ended', 'app_withdrawn'] as const;

export function createSections(host: Host, userLists: UserLists): readonly Section[] {
  const url = `${host.config.issuer}${ACCOUNT_PATH}`;
  return [
    profile,
    ...createSignIns(host, userLists, url),
    createApps(host, userLists, url),
    createActivity(host, userLists),
  ];
}

const profile: Section = {
  fields: async ({ account: { username, claims, groups } }) => ({
    username,
    name: textOf(claims['name']),
    email: textOf(claims['email']),
    groups,
  }),
};

type EndedBy = 'session_ended' | 'sessions_ended';

/** Ends the sessions that still exist. `what` undefined: the user's activity already says why they ended. */
const endIn =
  (host: Host, userSessions: UserLists['userSessions']) =>
  async (ctx: Context, { account }: Visitor, uids: readonly string[], what?: EndedBy) => {
    const [actor, fields] = [actorOf(ctx), { account_id: account.id, reason: 'ended_by_the_person' }];
    let hasEnded = false;
    for (const uid of uids) {
      if (!(await userSessions.end(account.id, uid))) continue;
      recordAct(host, actor, ['sign_out', 'success'], fields);
      hasEnded = true;
    }
    if (hasEnded && what !== undefined) await noteInActivity(host, actor, account.id, { what });
  };

/** Password and sessions: a new password ends the other sessions. */
function createSignIns(host: Host, { userSessions }: UserLists, url: string): readonly [Section, Section] {
  const changePassword = createChangePassword(host);
  const { config, hash, findLive } = host;

  /** The ID of a session on the page. It gives no access, and differs at other services. */
  const idOf = (uid: string) => hash(`session of a person:${uid}`);

  /** Resolves the live sessions, the newest first. */
  async function list(accountId: string) {
    const found = await userSessions.findAll(accountId);
    const isLive = ({ session }: FoundSession) => findLive(accountId, issuedBySession(session));
    const live = await Promise.all(found.map(isLive));
    return found.filter((_one, index) => live[index] !== undefined).toReversed();
  }

  async function othersOf({ account, session }: Visitor): Promise<readonly string[]> {
    const sessions = await list(account.id);
    return sessions.map(({ uid }) => uid).filter((uid) => uid !== session.uid);
  }

  const end = endIn(host, userSessions);

  const password: Section = {
    fields: async ({ account }) => ({
      password: passwordOf(account),
      minLength: config.passwords.minLength,
      passwordAction: `${url}/password`,
    }),
    changes: {
      async password(ctx, visitor, form) {
        const others = await othersOf(visitor);
        const error = await changePassword(ctx, visitor, form);
        const refused = { account_id: visitor.account.id, action: 'password', reason: error };
        if (error === undefined) await end(ctx, visitor, others);
        else recordAct(host, actorOf(ctx), ['account_changed', 'failure'], refused);
        return error;
      },
    },
  };
  const sessions: Section = {
    async fields({ account, session, factors }) {
      const all = await list(account.id);
      const current = all.filter(
        ({ session: { sessionsSince = 0 } }) => sessionsSince === factors.sessionsSince,
      );
      return {
        sessions: current.map(({ uid, session: { place, usedAt, loginTs: signedInAt = 0 } }) => ({
          id: idOf(uid),
          browser: place?.browser ?? '',
          network: place?.network ?? '',
          at: signedInAt,
          usedAt: uid === session.uid ? undefined : usedAt,
          current: uid === session.uid,
        })),
        endSessionAction: `${url}/end-session`,
        endOthersAction: `${url}/end-others`,
        signOutUrl: `${config.issuer}${ENDPOINTS.logout}`,
      };
    },
    changes: {
      async 'end-session'(ctx, visitor, form) {
        const uid = (await othersOf(visitor)).find((one) => idOf(one) === form.field('id'));
        if (uid !== undefined) await end(ctx, visitor, [uid], 'session_ended');
        return undefined;
      },
      async 'end-others'(ctx, visitor) {
        await end(ctx, visitor, await othersOf(visitor), 'sessions_ended');
        return undefined;
      },
    },
  };
  return [password, sessions];
}

/** The apps that the user can open, and the access that they have given to apps. */
function createApps(host: Host, userLists: UserLists, url: string): Section {
  const grants = createUserGrants(host, userLists);
  const { config, rules, pages } = host;
  const { issuer } = config;
  return {
    async fields({ account }, locale) {
      const allowed = await grants.list(account.id);
      return {
        apps: config.clients
          .filter((client) => isStart(client) && rules.mayUseClient(account, client))
          .map((client) => toAppModel(client, issuer)),
        allowed: allowed.map((app) => {
          const words = toAllowedModels(app, config, (key) => pages.text(locale, key));
          return { id: app.clientId, name: nameOf(host, app.clientId), ...words };
        }),
        withdrawAction: `${url}/withdraw`,
      };
    },
    changes: {
      async withdraw(ctx, { account }, form) {
        const [accountId, app, actor] = [account.id, form.field('id'), actorOf(ctx)];
        // Ends every token of the app for this user. False: there was none.
        if (!(await grants.withdraw(accountId, app))) return undefined;
        const fields = { account_id: accountId, client_id: app, reason: 'withdrawn_by_the_person' };
        recordAct(host, actor, ['consent_withdrawn', 'success'], fields);
        await noteInActivity(host, actor, accountId, { what: 'app_withdrawn', app });
        return undefined;
      },
    },
  };
}

function createActivity(host: Host, { index }: UserLists): Section {
  function toEventModel({ what, at, place, app }: SecurityEvent) {
    const { browser = '', network = '' } = place ?? {};
    return { what, at, browser, network, app: app && nameOf(host, app) };
  }

  return {
    async fields({ account }) {
      const events = await index.eventsOf(account.id);
      return { events: events.toReversed().map(toEventModel), done: doneNow(events.at(-1), host.now()) };
    },
  };
}

function nameOf({ clients, config }: Host, clientId: string): string {
  const client = clients.find(clientId);
  return client === undefined ? clientId : toClientModel(client, config.issuer).name;
}

const isStart = ({ clientUri, redirectUris }: Client) => clientUri !== undefined && redirectUris.length > 0;

function toAppModel(client: Client, issuer: string): AccountFields['apps'][number] {
  const { name, startUri, clientUri = '', logoUri } = toClientModel(client, issuer);
  return { name, uri: startUri ?? clientUri, logoUri };
}

function passwordOf({ hasPassword, canSetPassword }: Visitor['account']): AccountFields['password'] {
  if (!hasPassword) return 'none';
  return canSetPassword ? 'here' : 'operator';
}

const textOf = (claim: unknown) => (typeof claim === 'string' ? claim : undefined);

/** The newest event, if it is a change that was just made on this page. */
function doneNow(newest: SecurityEvent | undefined, now: number): AccountFields['done'] {
  const isNew = newest !== undefined && now / 1000 - newest.at < DONE_SECONDS;
  return isNew ? DONE.find((what) => what === newest.what) : undefined;
}
