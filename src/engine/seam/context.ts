// The engine's request context: lets a JWT through introspection and revocation, has every response type but `code` refused alike,
// and so every request without a scope, knows a resource in any spelling, and pins every URL to the issuer.
import type Provider from 'oidc-provider';
import { PresentedJwt } from './presented-jwt.ts';

type Params = { [name in 'token' | 'response_type' | 'resource' | 'scope']?: unknown } & object;
type UrlOptions = Parameters<Provider['urlFor']>[1];
/** OIDCContext without `params`, which the engine assigns once and its types declare as a property. */
type ContextClass = new (...args: unknown[]) => { route: string };

const ROUTES_TAKING_A_TOKEN = new Set(['introspection', 'revocation']);
/** A response type that the engine knows and this service doesn't offer. */
const NOT_OFFERED = 'none';

/**
 * RFC 6749 §4.1.2.1: unsupported_response_type. For a type with a token in it the engine would send that error in the
 * fragment mode, which isn't registered here, and fail; one without is refused in the query.
 */
function wantsToken(responseType: unknown): boolean {
  return typeof responseType === 'string' && responseType.includes('token');
}

/** What the engine refuses without `openid`, before it asks which scopes there are at all. */
const NEEDING_OPENID = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce'];

/** The class must be called OIDCContext. `spell` gives a resource the spelling of the configuration. */
export function contextClass(
  Base: ContextClass,
  provider: Provider,
  spell: (resource: string) => string,
): ContextClass {
  return class OIDCContext extends Base {
    #params: Params | undefined;

    // The engine assigns the parsed parameters here, once, before it looks at them.
    get params(): Params | undefined {
      return this.#params;
    }

    set params(params: Params | undefined) {
      const token = params?.token;
      // Refresh tokens have no dot and stay strings; a repeated parameter is an array and still gets its 400.
      if (
        params &&
        ROUTES_TAKING_A_TOKEN.has(this.route) &&
        typeof token === 'string' &&
        token.includes('.')
      ) {
        params.token = new PresentedJwt(token);
      }
      if (params && this.route === 'authorization') {
        if (wantsToken(params.response_type)) params.response_type = NOT_OFFERED;
        // RFC 6749 §3.3: a request without any scope is invalid_scope, whatever else is in it.
        if (params.scope === undefined)
          Object.assign(params, Object.fromEntries(NEEDING_OPENID.map((name) => [name, undefined])));
      }
      // Codes, refresh tokens and grants are kept by this name.
      if (typeof params?.resource === 'string') params.resource = spell(params.resource);
      this.#params = params;
    }

    /** From the issuer alone, whatever the request's Host says. */
    urlFor(name: string, options?: UrlOptions): string {
      return provider.urlFor(name, options);
    }
  };
}
