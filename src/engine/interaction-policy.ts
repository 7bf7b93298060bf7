// When a person must be asked something: the engine's own policy, the choice of an account, and one check that it lacks.
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';

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
  return policy;
}
