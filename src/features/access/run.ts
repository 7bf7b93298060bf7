// Who may use which app and API, and which scopes a user may have (`access` and `scope_groups` of the file). The user's current groups
// decide, whenever one of their requests or tokens is checked.
import { type Account, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { AccessRules, Grouped } from '../../config/access-rules.ts';
import type { Resource } from '../../config/config.ts';
import { originOf } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import type { Wanted } from '../../oidc/guard.ts';
import { endGrantOf } from '../../oidc/policies/asked-for.ts';
import { NO_ACCESS } from '../../oidc/policies/interaction-policy.ts';
import { scopesIn } from '../../oidc/policies/scopes.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import type { Parts } from '../parts.ts';

const { Check, Prompt } = interactionPolicy;

/** The scopes that are left; or the rule of the file that denies all of them, and whether it is the app's own. */
type Decision = { readonly left: readonly string[] } | Readonly<{ rule: string; isOfApp: boolean }>;

function createDecide(rules: AccessRules, audiences: AudienceRules) {
  /** The rule that denies the user this API. `isNamed`: the request itself or the token names it, not only a scope. */
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

export function open({ rules, audiences, audit }: App): Parts {
  const decide = createDecide(rules, audiences);
  const askedScopes = new WeakMap<KoaContextWithOIDC, string>();

  function decideRequest({ oidc: { account, client, params = {} } }: KoaContextWithOIDC): Decision {
    const { scope, resource } = params;
    // Our own type, from findAccount.
    return decide(account as Account & Grouped, { clientId: client?.clientId, scope, resource });
  }

  function record({ state, oidc }: KoaContextWithOIDC, accountId: string | undefined, rule: string): void {
    const who = { client_id: oidc.client?.clientId, account_id: accountId };
    audit.record('access_denied', 'failure', { ...originOf(state), ...who, endpoint: oidc.route, rule });
  }

  /** Whether the signed-in user may not use the app. Throws if they may use the app, but not the API, or no scope of it. */
  function isDenied(ctx: KoaContextWithOIDC): boolean {
    const decision = decideRequest(ctx);
    if ('left' in decision) return false;
    record(ctx, ctx.oidc.account?.accountId, decision.rule);
    if (!decision.isOfApp) throw new errors.AccessDenied('the user may not use this API');
    return true;
  }

  return {
    /** For a known user who may not use the app. RFC 6749 §4.1.2.1: with prompt=none, the app gets the error at once. */
    prompts(policy) {
      const check = new Check('access_denied', NO_ACCESS, 'access_denied', isDenied);
      policy.add(new Prompt({ name: 'access' }, check), policy.length - 1);
    },

    narrowing: {
      isDenied: (user, wanted) => 'rule' in decide(user, wanted),

      narrow(ctx) {
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

      kept: (ctx) => ({ askedScope: askedScopes.get(ctx) }),

      restore({ oidc: { entities, params = {} } }) {
        const { askedScope } = (entities.Interaction ?? {}) as { readonly askedScope?: unknown };
        if (typeof askedScope === 'string') params['scope'] = askedScope;
      },
    },

    guard: {
      isPlain: () => true,

      async admit(ctx, user, token) {
        const decision = decide(user, token);
        if (ctx.oidc.route !== 'token') return 'left' in decision;
        if ('left' in decision) {
          Object.assign(token, { scope: decision.left.join(' ') });
          return true;
        }
        await endGrantOf(ctx);
        record(ctx, ctx.oidc.entities.Grant?.accountId, decision.rule);
        throw new errors.InvalidGrant('the user may not use this client or API any more');
      },

      /** Rejects an access token if a scope of it is lost, because an API may read its scopes from the JWT. */
      async sees(user, token) {
        const decision = decide(user, token);
        if ('rule' in decision) return false;
        const scope = decision.left.join(' ');
        if (token.kind === 'RefreshToken') Object.assign(token, { scope });
        return (token.scope ?? '') === scope;
      },
    },
  };
}
