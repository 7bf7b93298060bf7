// Decides when to prompt a user: the engine's own policy, the choice of an account, and the checks that the engine lacks.
import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { isUrlClient } from '../../config/client-id-url.ts';
import type { Parts } from '../../features/parts.ts';
import { askedFor, WHOLE_API } from './asked-for.ts';

const { Check, Prompt } = interactionPolicy;

/** The error that the app gets for a user without access, from the engine or from the page. */
export const NO_ACCESS = 'the user may not use this app';

/** The prompts `select_account` and `login`, those of features, and `consent`, in this order. */
export function createInteractionPolicy(features: readonly Parts[]): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const [login, consent] = [policy.get('login')?.checks, policy.get('consent')?.checks];
  // OIDC Core §3.1.2.1: only when the app asks for it; the engine's `requestable` is the whole check.
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0);
  // A session whose user was disabled or removed: without this the engine's consent check dereferences a grant that
  // isn't there and answers 500 for ever.
  login?.add(
    new Check(
      'account_unavailable',
      'the signed-in user is not available',
      'login_required',
      ({ oidc }: KoaContextWithOIDC) => oidc.session?.accountId !== undefined && oidc.account === undefined,
    ),
  );
  for (const { prompts } of features) prompts?.(policy);
  // The engine only checks scopes, so it wouldn't ask the user about an API without scopes.
  consent?.add(
    new Check(
      'api_missing',
      'requested API not granted',
      'consent_required',
      (ctx: KoaContextWithOIDC) => missingApis(ctx).length > 0,
      (ctx: KoaContextWithOIDC) => ({ missingApis: missingApis(ctx) }),
    ),
  );
  consent?.add(documentCheck(), 0);
  return policy;
}

/** Asks each time for a client by document: a document may claim any name, and the session's grant may be of another redirect_uri. */
const documentCheck = () =>
  new Check(
    'document_client_prompt',
    'apps known by their document ask each time',
    'consent_required',
    ({ oidc }: KoaContextWithOIDC) =>
      isUrlClient(oidc.client?.clientId ?? '') && oidc.result?.consent === undefined,
    (ctx: KoaContextWithOIDC) => {
      const { scopes, resourceScopes } = askedFor(ctx);
      return { missingOIDCScope: scopes, missingResourceScopes: resourceScopes };
    },
  );

function missingApis({ oidc: { resourceServers = {}, entities } }: KoaContextWithOIDC): string[] {
  return Object.entries(resourceServers).flatMap(([resource, { scope }]) => {
    const isGranted = entities.Grant?.getResourceScope(resource).includes(WHOLE_API) === true;
    return scope === '' && !isGranted ? [resource] : [];
  });
}
