// Which claims each scope gives (OIDC Core §5.4), and where else a client or an API is told one.
import type { AccessRules } from '../config/access-rules.ts';
import { personScopes, type Config } from '../config/config.ts';
import { isTooLong } from '../config/id-token-size.ts';
import type { Account } from '../users/accounts.ts';
import type { Audience, AudienceRules } from '../tokens/audience.ts';
import type { FindClient } from './clients.ts';

/** A scope and its one claim. */
const GROUPS = 'groups';

const PROFILE = [
  'name',
  'family_name',
  'given_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'updated_at',
];
const STANDARD: ReadonlyMap<string, readonly string[]> = new Map([
  ['openid', ['sub']],
  ['email', ['email', 'email_verified']],
  ['profile', PROFILE],
  [GROUPS, [GROUPS]],
]);

type Switches = Pick<Config, 'groups' | 'scopes'>;
type Values = Readonly<Record<string, unknown>>;

function claimsOfScopes(config: Switches): Readonly<Record<string, string[]>> {
  const given = personScopes(config).map((scope): [string, string[]] => [
    scope,
    [...(STANDARD.get(scope) ?? []), ...(config.scopes[scope]?.claims ?? [])],
  ]);
  return Object.fromEntries(given.filter(([, claims]) => claims.length > 0));
}

export type ClaimsParts = {
  readonly config: Switches;
  readonly audiences: Pick<AudienceRules, 'findResource'>;
  readonly findClient: FindClient;
  readonly rules: Pick<AccessRules, 'groupsFor'>;
};

export interface Claims {
  readonly byScope: Readonly<Record<string, string[]>>;
  /** Everything that this client may be told of a person, where a scope gives it. */
  told(account: Account, clientId: string | undefined): Values;
  /** The same, without the groups where the ID token would be too long with them; userinfo has them then. */
  inIdToken(told: Values, scope: string): Values;
  /**
   * What an access token for this audience has besides (RFC 9068 §2.2.3.1). null: the person has no such claim now, and introspection tells one
   * that they get later.
   */
  inAccessToken(audience: Audience, scopes: Iterable<string>, told: Values): Values;
  /** What introspection tells of the same token now, with what else was put into it. */
  now(token: TokenWithClaims, account: Account): Values;
}

type TokenWithClaims = {
  readonly clientId?: string | undefined;
  readonly aud?: Audience | undefined;
  readonly extra?: Values | undefined;
};

/** What else is put into an access token (options.ts). No claim of a person has such a name. */
const OF_SIGN_IN: ReadonlySet<string> = new Set(['auth_time', 'acr']);

export function createClaims({ config, audiences, findClient, rules }: ClaimsParts): Claims {
  const byScope = claimsOfScopes(config);
  const hasGroups = GROUPS in byScope;
  const given = (scopes: Iterable<string>) => new Set([...scopes].flatMap((scope) => byScope[scope] ?? []));

  function told(account: Account, clientId: string | undefined): Values {
    const groups = hasGroups && clientId !== undefined ? rules.groupsFor(account, { clientId }) : undefined;
    return { ...account.claims, sub: account.id, ...(groups && { [GROUPS]: groups }) };
  }

  function wantedAt(audience: Audience, scopes: Iterable<string>): readonly string[] {
    const wanted = [audience].flat().flatMap((one) => audiences.findResource(one)?.accessTokenClaims ?? []);
    if (wanted.length === 0) return wanted;
    const names = given(scopes);
    return wanted.filter((name) => names.has(name));
  }

  return {
    byScope,
    told,
    inIdToken(all, scope) {
      const names = given(scope.split(' '));
      if (!names.has(GROUPS)) return all;
      const inside = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
      return isTooLong(inside) ? { ...all, [GROUPS]: undefined } : all;
    },
    inAccessToken: (audience, scopes, all) =>
      Object.fromEntries(wantedAt(audience, scopes).map((name) => [name, all[name] ?? null])),
    now({ clientId, aud = [], extra = {} }, account) {
      const names = Object.keys(extra).filter((name) => !OF_SIGN_IN.has(name));
      if (names.length === 0) return extra;
      const wanted = wantedAt(aud, findClient(clientId ?? '')?.scopes ?? []);
      const all = told(account, clientId);
      const current = names.map((name) => [name, wanted.includes(name) ? all[name] : undefined]);
      return { ...extra, ...Object.fromEntries(current) };
    },
  };
}
