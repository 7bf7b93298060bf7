// What a change means for clients, and for the tokens and secrets that they hold. Owns the words.
import type { Client, ClientSecret } from './config.ts';
import { compareLists, compareRest, compareValues, item } from './plan-items.ts';
import type { PlanItem, Sides } from './plan.ts';
import { formatInstant, secretState } from './secret-expiry.ts';
import { secretId } from './secret-id.ts';

export function planClients(
  { current, next }: Sides<{ readonly clients: readonly Client[] }>,
  now: number,
): PlanItem[] {
  const before = new Map(current.clients.map((client) => [client.clientId, client]));
  const after = new Map(next.clients.map((client) => [client.clientId, client]));
  return [
    ...current.clients.flatMap(({ clientId }) =>
      after.has(clientId) ? [] : item('breaking', `clients[${clientId}]`, REMOVED),
    ),
    ...next.clients.flatMap((client) => {
      const old = before.get(client.clientId);
      return old === undefined
        ? item('change', `clients[${client.clientId}]`, 'is new')
        : planClient({ current: old, next: client }, now);
    }),
  ];
}

const REMOVED =
  'is removed: its tokens, codes and sign-ins that are under way end at once, and it can not introspect any more';

function planClient(sides: Sides<Client>, now: number): PlanItem[] {
  const { current, next } = sides;
  const at = (key: string) => `clients[${next.clientId}].${key}`;
  const both = <K extends keyof Client>(key: K): Sides<Client[K]> => ({
    current: current[key],
    next: next[key],
  });
  const narrower = {
    dropped: 'is dropped: requests for it are refused, and refresh tokens that have it lose it',
  };
  return [
    ...planSecrets(sides, at('client_secrets'), now),
    ...compareLists(at('redirect_uris'), both('redirectUris'), {
      dropped: 'is dropped: requests that name it are refused, also those whose sign-in is under way',
    }),
    ...compareLists(at('post_logout_redirect_uris'), both('postLogoutRedirectUris'), {
      dropped: 'is dropped: people are not sent back there after signing out',
    }),
    ...planGrants(sides, at('grant_types')),
    ...compareLists(at('scope'), both('scopes'), narrower),
    ...planAuthentication(sides, at),
    ...compareLists(at('allowed_cors_origins'), both('allowedCorsOrigins'), {
      dropped: 'is dropped: browsers refuse its scripts, unless cors.allowed_origins has it',
    }),
    ...compareValues(at('consent'), both('consent'), {
      meaning:
        next.consent === 'explicit'
          ? 'people are asked at their next sign-in'
          : 'people are not asked any more',
    }),
    ...compareRest(at, sides, SPOKEN_FOR),
  ];
}

const SPOKEN_FOR = [
  'clientId',
  'secrets',
  'redirectUris',
  'postLogoutRedirectUris',
  'grantTypes',
  'scopes',
  'tokenEndpointAuthMethod',
  'requirePkce',
  'allowedCorsOrigins',
  'consent',
] as const satisfies readonly (keyof Client)[];

const GRANT_LOST: Readonly<Record<string, string>> = {
  authorization_code: 'people can not sign in to it any more, and codes under way are refused',
  refresh_token: 'its refresh tokens are refused at once; people must sign in again when access tokens end',
  client_credentials: 'it gets no more tokens as itself; those that it has live to their end',
};

function planGrants({ current, next }: Sides<Client>, path: string): PlanItem[] {
  return [
    ...current.grantTypes
      .filter((grant) => !next.grantTypes.includes(grant))
      .flatMap((grant) => item('breaking', path, `${grant} is dropped: ${GRANT_LOST[grant] ?? ''}`)),
    ...next.grantTypes
      .filter((grant) => !current.grantTypes.includes(grant))
      .flatMap((grant) => item('change', path, `${grant} is new`)),
  ];
}

function planAuthentication({ current, next }: Sides<Client>, at: (key: string) => string): PlanItem[] {
  const items = compareValues(
    at('token_endpoint_auth_method'),
    { current: current.tokenEndpointAuthMethod, next: next.tokenEndpointAuthMethod },
    { severity: 'breaking', meaning: 'a client that authenticates as before gets 401' },
  );
  if (current.requirePkce === next.requirePkce) return items;
  const pkce = next.requirePkce
    ? item('breaking', at('require_pkce'), 'is required now: authorization requests without PKCE are refused')
    : item('change', at('require_pkce'), 'is not required any more');
  return [...items, ...pkce];
}

function planSecrets({ current, next }: Sides<Client>, path: string, now: number): PlanItem[] {
  const before = new Map(current.secrets.map((secret) => [secretId(secret), secret]));
  const after = new Map(next.secrets.map((secret) => [secretId(secret), secret]));
  const items: PlanItem[] = [];
  for (const [id, secret] of before) {
    const label = secret.name ?? id;
    const isDead = secretState(secret, now) === 'expired';
    const kept = after.get(id);
    if (kept !== undefined) items.push(...planKeptSecret({ current: secret, next: kept }, path, now));
    else if (isDead) items.push(...item('change', path, `secret ${label}, which has expired, is removed`));
    else items.push(...item('breaking', path, `secret ${label} is removed: whoever still uses it gets 401`));
  }
  for (const [id, secret] of after) {
    if (!before.has(id)) items.push(...item('change', path, `secret ${secret.name ?? id} is new`));
  }
  return items;
}

function planKeptSecret(sides: Sides<ClientSecret>, path: string, now: number): PlanItem[] {
  const { current, next } = sides;
  const label = next.name ?? secretId(next);
  const isRenamed = current.name !== next.name;
  return [
    ...(isRenamed
      ? item('change', path, `secret ${current.name ?? secretId(current)} is called ${label} now`)
      : []),
    ...planEnd(sides, path, { label, now }),
    ...planBeginning(sides, path, { label, now }),
  ];
}

type Labelled = { readonly label: string; readonly now: number };

function planEnd({ current, next }: Sides<ClientSecret>, path: string, { label, now }: Labelled): PlanItem[] {
  const [before, after] = [current.expiresAt ?? Infinity, next.expiresAt ?? Infinity];
  if (before === after) return [];
  if (after <= now && before > now) {
    return item('breaking', path, `secret ${label} ends with this: whoever still uses it gets 401`);
  }
  return item(
    'change',
    path,
    `secret ${label} expires ${after === Infinity ? 'never' : formatInstant(after)}`,
  );
}

function planBeginning(
  { current, next }: Sides<ClientSecret>,
  path: string,
  { label, now }: Labelled,
): PlanItem[] {
  const [before, after] = [current.notBefore ?? 0, next.notBefore ?? 0];
  if (before === after) return [];
  return after > now
    ? item(
        before <= now ? 'breaking' : 'change',
        path,
        `secret ${label} is not accepted before ${formatInstant(after)}`,
      )
    : item('change', path, `secret ${label} is accepted at once`);
}
