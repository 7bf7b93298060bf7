// The user's claims that clients and APIs get: by scope (OIDC Core §5.4), in access tokens and at introspection.
import type { AccessRules } from '../config/access-rules.ts';
import { claimsOfScopes, isTooLong } from '../config/claims-of-scopes.ts';
import type { Client, ScopeSettings } from '../config/config.ts';
import type { User } from '../users/user.ts';
import type { Audience, AudienceRules } from '../tokens/audience.ts';
import type { GivenToken } from './guard.ts';

/** The name of a scope and of its only claim. */
const GROUPS = 'groups';

type Values = Readonly<Record<string, unknown>>;

export type Claims = ReturnType<typeof createClaims>;

/** Claims of the sign-in in an access token (options.ts). No claim of a user has such a name. */
const OF_SIGN_IN: ReadonlySet<string> = new Set(['auth_time', 'acr', 'amr']);

export function createClaims(config: ScopeSettings, audiences: AudienceRules, rules: AccessRules) {
  const byScope = claimsOfScopes(config);
  const hasGroups = GROUPS in byScope;
  const given = (scopes: Iterable<string>) => new Set([...scopes].flatMap((scope) => byScope[scope] ?? []));

  /** All claims of the user, with the groups that this client may see. Scopes decide which of them it gets. */
  function forClient(account: User, clientId: string | undefined): Values {
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
    forClient,
    /** Selects the claims of an ID token by `scope`. Omits groups when they would make it too long; userinfo has them then. */
    inIdToken(all: Values, scope: string): Values {
      const names = given(scope.split(' '));
      const inside = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
      return names.has(GROUPS) && isTooLong(inside) ? { ...inside, [GROUPS]: undefined } : inside;
    },
    /**
     * The user's claims in an access token for this audience (RFC 9068 §2.2.3.1). null: the user has no such claim yet;
     * introspection shows it as soon as they do.
     */
    inAccessToken: (audience: Audience, scopes: Iterable<string>, all: Values): Values =>
      Object.fromEntries(wantedAt(audience, scopes).map((name) => [name, all[name] ?? null])),
    /** The current values of these claims for introspection, with the other claims of the token. `client`: the token's client. */
    now(token: GivenToken, account: User, client: Pick<Client, 'scopes'>): Values {
      const { clientId, aud = [], extra = {} } = token;
      const names = Object.keys(extra).filter((name) => !OF_SIGN_IN.has(name));
      if (names.length === 0) return extra;
      const wanted = wantedAt(aud, client.scopes);
      const all = forClient(account, clientId);
      const current = names.map((name) => [name, wanted.includes(name) ? all[name] : undefined]);
      return { ...extra, ...Object.fromEntries(current) };
    },
  };
}
