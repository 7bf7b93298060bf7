// When a person must be asked something: the engine's own policy, the choice of an account, and two checks that it lacks.
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';

/** In a grant: the person allowed an API that has no scopes. No scope can have quotes (RFC 6749 §3.3), so none is granted by it. */
export const WHOLE_API = '"whole"';

/** The prompts `select_account`, `login` and `consent`, in this order. */
export function createInteractionPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  // OIDC Core §3.1.2.1: only when the app asks for it; the engine's `requestable` is the whole check.
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0);
  // A session whose person was disabled or removed: without this the engine's consent check dereferences a grant that
  // isn't there and answers 500 for ever.
  policy
    .get('login')
    ?.checks.add(
      new interactionPolicy.Check(
        'account_unavailable',
        'the signed-in person is not available',
        'login_required',
        (ctx: KoaContextWithOIDC) =>
          ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined,
      ),
    );
  // The engine asks for scopes alone; the person wouldn't be asked about an API that has none.
  policy.get('consent')?.checks.add(
    new interactionPolicy.Check(
      'api_missing',
      'requested API not granted',
      'consent_required',
      (ctx: KoaContextWithOIDC) => missingApis(ctx).length > 0,
      (ctx: KoaContextWithOIDC) => ({ missingApis: missingApis(ctx) }),
    ),
  );
  return policy;
}

function missingApis({ oidc: { resourceServers = {}, entities } }: KoaContextWithOIDC): string[] {
  return Object.entries(resourceServers).flatMap(([resource, { scope }]) => {
    const isGranted = entities.Grant?.getResourceScope(resource).includes(WHOLE_API) === true;
    return scope === '' && !isGranted ? [resource] : [];
  });
}
