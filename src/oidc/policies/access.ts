// Who may use which app and API, and which scopes are left to a user (`access` and `scope_groups` of the file): decided by the groups
// that the user has now, wherever a request of theirs, or what came of one, is looked at.
import { type Account, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { AccessRules, Grouped } from '../../config/access-rules.ts';
import type { AccessSettings, Resource } from '../../config/config.ts';
import { type Audit, originOf } from '../../observability/audit.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import { endGrantOf } from './asked-for.ts';
import { scopesIn } from './scopes.ts';

/** A request, or a code or a token that came of one. */
export type Wanted = Readonly<{
  clientId?: string | undefined;
  scope?: unknown;
  resource?: unknown;
  aud?: unknown;
}>;

/** What of the scopes is left; or which rule of the file denies all of it, and whether it is the app's own. */
export type Decision =
  { readonly left: readonly string[] } | { readonly rule: string; readonly isOfApp: boolean };

export type AccessPolicy = NonNullable<ReturnType<typeof createAccessPolicy>>;

type AccessPolicyParts = Readonly<{
  config: AccessSettings;
  rules: AccessRules;
  audiences: AudienceRules;
  audit: Audit;
}>;

function createDecide(rules: AccessRules, audiences: AudienceRules) {
  /** What denies the user this API. `isNamed`: by the request itself or the token, not by one of the scopes alone. */
  function denialAt(
    user: Grouped,
    api: Resource,
    { left, isNamed }: { left: readonly string[]; isNamed: boolean },
  ) {
    const rule = `resources[${api.resource}]`;
    if (!rules.mayUseResource(user, api)) return `${rule}.access`;
    const isLeft = api.scopes.length === 0 || left.some((one) => api.scopes.includes(one));
    return isLeft || (left.length > 0 && !isNamed) ? undefined : `${rule}.scope_groups`;
  }

  return function decide(user: Grouped, { clientId = '', scope, resource, aud }: Wanted): Decision {
    if (!rules.mayUseClient(user, { clientId }))
      return { rule: `clients[${clientId}].access`, isOfApp: true };
    const scopes = scopesIn(scope);
    const named = new Set([resource ?? aud ?? []].flat().map(String).map(audiences.findResource));
    const owners = audiences.ownersOf(scopes).map(audiences.findResource);
    const apis = [...new Set([...named, ...owners])].filter((one) => one !== undefined);
    const left = apis.reduce((some, api) => rules.scopesLeft(user, api, some), scopes);
    for (const api of apis) {
      const rule = denialAt(user, api, { left, isNamed: named.has(api) });
      if (rule !== undefined) return { rule, isOfApp: false };
    }
    return { left };
  };
}

/** Undefined where the file has no such rules. */
export function createAccessPolicy({ config, rules, audiences, audit }: AccessPolicyParts) {
  const hasRules =
    config.clients.some(({ access }) => access !== undefined) ||
    config.resources.some(
      ({ access, scopeGroups }) => access !== undefined || Object.keys(scopeGroups).length > 0,
    );
  if (!hasRules) return undefined;
  const decide = createDecide(rules, audiences);
  const askedScopes = new WeakMap<KoaContextWithOIDC, string>();

  function decideRequest({ oidc: { account, client, params = {} } }: KoaContextWithOIDC): Decision {
    const { scope, resource } = params;
    // Ours, of findAccount.
    return decide(account as Account & Grouped, { clientId: client?.clientId, scope, resource });
  }

  function record({ state, oidc }: KoaContextWithOIDC, accountId: string | undefined, rule: string): void {
    const who = { client_id: oidc.client?.clientId, account_id: accountId };
    audit.record('access_denied', 'failure', { ...originOf(state), ...who, endpoint: oidc.route, rule });
  }

  return {
    decide,

    /** Gives a request that goes on the scope that it began with: another user may have signed in since. */
    restore({ oidc: { entities, params = {} } }: KoaContextWithOIDC): void {
      const { askedScope } = (entities.Interaction ?? {}) as { readonly askedScope?: unknown };
      if (typeof askedScope === 'string') params['scope'] = askedScope;
    },

    /** Takes from a request what the signed-in user may not have. False: nothing is left, or they may not use the app. */
    narrow(ctx: KoaContextWithOIDC): boolean {
      const { params = {} } = ctx.oidc;
      const decision = decideRequest(ctx);
      if ('rule' in decision) return false;
      const narrowed = decision.left.join(' ');
      if (decision.left.length < scopesIn(params['scope']).length) {
        askedScopes.set(ctx, String(params['scope']));
        params['scope'] = narrowed;
      }
      return true;
    },

    /** What an interaction keeps for `restore`. */
    kept: (ctx: KoaContextWithOIDC) => ({ askedScope: askedScopes.get(ctx) }),

    /** Whether the signed-in user may not use the app. Throws where they may, though not the API, or nothing of it. */
    isDenied(ctx: KoaContextWithOIDC): boolean {
      const decision = decideRequest(ctx);
      if ('left' in decision) return false;
      record(ctx, ctx.oidc.account?.accountId, decision.rule);
      if (!decision.isOfApp) throw new errors.AccessDenied('the person may not use this API');
      return true;
    },

    /**
     * Whether `token` may still be used. Takes scopes from a code or a refresh token; where nothing is left, ends the grant, for good, and
     * throws.
     */
    async admit(ctx: KoaContextWithOIDC, user: Grouped, token: Wanted): Promise<boolean> {
      const decision = decide(user, token);
      if (ctx.oidc.route !== 'token') return 'left' in decision;
      if ('left' in decision) {
        Object.assign(token, { scope: decision.left.join(' ') });
        return true;
      }
      await endGrantOf(ctx);
      record(ctx, ctx.oidc.entities.Grant?.accountId, decision.rule);
      throw new errors.InvalidGrant('the person may not use this client or API any more');
    },
  };
}
