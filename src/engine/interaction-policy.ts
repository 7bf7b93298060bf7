// When a person must be asked something: the engine's own policy and one check that it lacks.
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';

/** The engine's prompts `login` and `consent`. */
export function createInteractionPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
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
  return policy;
}
