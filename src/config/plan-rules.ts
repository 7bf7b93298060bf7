// What a change of each key of the file means: one table from the key to a severity and a sentence.
import { isListedDocument } from './client-id-url.ts';
import type { Client, Lifetimes, Resource } from './config.ts';
import { formatDuration, formatInstant } from './notation.ts';
import {
  AT_START,
  becomes,
  change,
  dropped,
  shorterOrLonger,
  entry,
  type Rule,
  says,
  show,
  toggle,
} from './plan-rule.ts';
import { SIGN_IN_RULES } from './plan-sign-in-rules.ts';

/** The rule of the key itself, or of the nearest one above it. */
export function planRuleFor(key: string): Rule {
  const rule = RULES[key];
  if (rule !== undefined) return rule;
  const above = key.slice(0, Math.max(0, key.lastIndexOf('.')));
  return above === '' || above.endsWith('[]') ? becomes() : planRuleFor(above);
}

/** A key must verify for as long as the longest token lives. */
function tokenLifetime(other: keyof Lifetimes): Rule {
  return (difference, context) => {
    const longest = Math.max(context.next.lifetimes[other], Number(difference.to));
    return shorterOrLonger(
      'tokens that were issued before keep their longer life',
      `tokens live longer than those that were issued before, and a key that stops signing is kept for ${formatDuration(longest)} and more`,
    )(difference, context);
  };
}

/** An API without a lifetime of its own has the general one. */
const apiTokenLifetime: Rule = (difference, context) => {
  const from = difference.from ?? context.current.lifetimes.accessToken;
  const to = difference.to ?? context.next.lifetimes.accessToken;
  return tokenLifetime('idToken')({ ...difference, from, to }, context);
};

const ownerOf = (resources: readonly Resource[], scope: unknown): string | undefined =>
  resources.find(({ scopes }) => scopes.some((one) => one === scope))?.resource;

const api: Rule = ({ kind, from }, { next }) => {
  if (kind !== 'removed') return ['change', 'is new'];
  const heirs = new Set((from as Resource).scopes.map((scope) => ownerOf(next.resources, scope)));
  const [heir] = heirs;
  return heirs.size === 1 && heir !== undefined
    ? ['breaking', `is renamed: the audience of its tokens becomes ${heir}, which the API must accept first`]
    : ['breaking', 'is removed: no more tokens are issued for this API'];
};

const apiScope: Rule = (difference, context) => {
  const { current, next } = context;
  const isGone = difference.kind === 'removed';
  const scope = String(isGone ? difference.from : difference.to);
  const owner = ownerOf(isGone ? next.resources : current.resources, scope);
  if (owner === undefined) return dropped('requests for it are refused')(difference, context);
  return isGone
    ? ['breaking', `${scope} moves to ${owner}, and so does the audience of its tokens`]
    : ['change', `${scope} comes from ${owner}`];
};

const client: Rule = (difference, context) => {
  const { clientDocuments } = context.next;
  const { clientId } = (difference.from ?? difference.to) as Client;
  if (difference.kind === 'removed' && isListedDocument(clientId, clientDocuments?.hosts ?? []))
    return ['change', 'is pinned no more: what its document says from now on is fetched'];
  return entry("its tokens, codes and open sign-ins end at once, and it can't introspect any more")(
    difference,
    context,
  );
};

const GRANT_LOST: Readonly<Record<string, string>> = {
  authorization_code: "people can't sign in to it any more, and codes that were issued are refused",
  refresh_token: 'its refresh tokens are refused at once; people sign in again when access tokens end',
  client_credentials: 'it gets no more tokens as itself; those that it has live to their end',
};

const secretEntry: Rule = ({ kind, from }, { now }) => {
  if (kind === 'added') return ['change', 'is new'];
  return (from as { readonly expiresAt: number }).expiresAt <= now
    ? ['change', 'is removed; it had expired']
    : ['breaking', 'is removed: clients that still use it get 401'];
};

const secretEnd: Rule = ({ from, to }, { now }) => {
  const end = Number(to);
  if (end <= now && Number(from) > now)
    return ['breaking', 'ends with this: clients that still use it get 401'];
  return ['change', end === Infinity ? 'never expires' : `expires ${formatInstant(end)}`];
};

const secretBeginning: Rule = ({ from, to }, { now }) => {
  const beginning = Number(to);
  if (beginning <= now) return ['change', 'is accepted at once'];
  return [Number(from) <= now ? 'breaking' : 'change', `is not accepted before ${formatInstant(beginning)}`];
};

/** Of a rule, or of one scope of scope_groups. */
function groupsOf(value: unknown): string {
  const names = typeof value === 'object' && value !== null && 'groups' in value ? value.groups : value;
  return Array.isArray(names) ? names.join(', ') : 'everybody';
}

/** Who loses and gains by it is said of each person. */
const forGroups: Rule = (difference) => {
  if (difference.kind !== 'changed') return ['change', change(difference)];
  return ['change', `is for ${groupsOf(difference.to)} now, not for ${groupsOf(difference.from)}`];
};

const DOCUMENTS_END =
  'tokens, codes and open sign-ins of its apps end at once, but for those in clients ("postern client pin" makes one of an app)';

const RULES: Readonly<Record<string, Rule>> = {
  ...SIGN_IN_RULES,
  store: says(
    'breaking',
    `is another one: sessions, grants, refresh tokens and signing keys of the old one are not in the new one; ${AT_START}`,
  ),
  listen: becomes(AT_START),
  management: becomes(AT_START),
  workers: becomes(AT_START),
  log: becomes(AT_START),
  audit: becomes(AT_START),
  trusted_proxies: dropped('client addresses that it reports are ignored'),
  'cors.allowed_origins': dropped('browsers refuse its scripts, unless their client lists it'),
  'features.client_credentials': toggle(
    ['change', 'is on now'],
    ['breaking', 'is off now: no service gets a token'],
  ),
  'features.device_flow': toggle(
    ['change', 'is on now: devices may ask, for clients with that grant type'],
    ['breaking', 'is off now: no device is let in; those that are inside go on refreshing'],
  ),
  'features.response_modes': dropped('no app gets its answers so'),
  lifetimes: shorterOrLonger(
    'what was issued before keeps its longer life',
    'what was issued before keeps its shorter life',
  ),
  'lifetimes.access_token': tokenLifetime('idToken'),
  'lifetimes.id_token': tokenLifetime('accessToken'),
  'lifetimes.refresh_token': shorterOrLonger(
    'refresh tokens that were issued before keep their later end until they are used',
    'refresh tokens that were issued before keep their earlier end until they are used',
  ),
  'lifetimes.refresh_token_absolute': shorterOrLonger(
    'chains of refresh tokens that are older than this end at their next use',
    'chains of refresh tokens may go on for longer',
  ),
  signing_keys: becomes('for keys that are made from now on'),
  'signing_keys.algorithms': (difference) => [
    'change',
    difference.kind === 'removed'
      ? `${change(difference)}: its keys verify what they signed, until its next rotation is over`
      : `${change(difference)}: its first key is published now and signs at once`,
  ],
  groups: ({ to }) =>
    to === undefined
      ? ['change', 'is dropped: people of the store who are in it get nothing by it']
      : ['change', `is ${show(to, '')}`],
  'resources[]': api,
  'resources[].access': forGroups,
  'resources[].scope_groups': forGroups,
  'resources[].default_scopes': dropped('requests without scope go without it'),
  'resources[].scopes': apiScope,
  'resources[].clients': dropped('it gets no more tokens for this API'),
  'resources[].introspection_clients': dropped('it sees every token of this API as inactive'),
  'resources[].access_token': apiTokenLifetime,
  'clients[]': client,
  'clients[].redirect_uris': dropped('requests that name it are refused, also those of an open sign-in'),
  'clients[].post_logout_redirect_uris': dropped('people are not sent back there after signing out'),
  'clients[].backchannel_logout_uri': ({ to }) => [
    'change',
    to === undefined
      ? "is removed: the app isn't notified any more that a session has ended"
      : `is ${show(to, '')}: the app is notified there that a session has ended`,
  ],
  'clients[].grant_types': (difference, context) =>
    dropped(GRANT_LOST[String(difference.from)] ?? 'requests for it are refused')(difference, context),
  'clients[].response_modes': dropped('requests for it are refused, also those of an open sign-in'),
  'clients[].scope': dropped('requests for it are refused, and refresh tokens that have it lose it'),
  'clients[].access': forGroups,
  'clients[].default_scope': dropped('requests without scope go without it'),
  'clients[].client_secrets[]': secretEntry,
  'clients[].client_secrets[].label': says('change', 'has another name'),
  'clients[].client_secrets[].expires_at': secretEnd,
  'clients[].client_secrets[].not_before': secretBeginning,
  'clients[].token_endpoint_auth_method': becomes(
    'a client that authenticates as before gets 401',
    'breaking',
  ),
  'clients[].id_token_signed_response_alg': becomes(
    'an app that expects the old algorithm refuses its ID tokens',
    'breaking',
  ),
  'clients[].require_pkce': toggle(
    ['breaking', 'is required now: authorization requests without PKCE are refused'],
    ['change', "isn't required any more"],
  ),
  'clients[].allowed_cors_origins': dropped(
    'browsers refuse its scripts, unless cors.allowed_origins has it',
  ),
  'clients[].consent': (difference) => [
    'change',
    `${change(difference)}: people ${difference.to === 'explicit' ? 'are asked at their next sign-in' : "aren't asked any more"}`,
  ],
  client_documents: ({ to }) =>
    to === undefined
      ? ['breaking', `is removed: ${DOCUMENTS_END}`]
      : ['change', 'is new: apps of these hosts may ask people to sign in'],
  'client_documents.hosts': dropped(DOCUMENTS_END),
  'client_documents.scope': dropped(
    'requests for it by apps that nobody registered are refused, and their refresh tokens that have it lose it',
  ),
  'outgoing.internal_hosts': dropped('what it resolves to on your network is not asked any more'),
  'users[]': entry('every session and token of this person ends'),
  'users[].username': (difference) => [
    'breaking',
    `signs in with this name now, not with ${String(difference.from)}`,
  ],
  'users[].disabled': toggle(
    ['breaking', 'is disabled: every session and token of this person ends'],
    ['change', 'may sign in again'],
  ),
  'users[].claims': says('change', 'has another value'),
};
