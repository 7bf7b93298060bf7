// The engine's request context: lets a JWT through introspection and revocation, has every response type
// but `code` refused alike, and pins every URL to the issuer.
import type Provider from 'oidc-provider';
import { PresentedJwt } from './presented-jwt.ts';

type Params = { token?: unknown; response_type?: unknown } & object;
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

/** The class must be called OIDCContext. */
export function contextClass(Base: ContextClass, provider: Provider): ContextClass {
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
      if (params && this.route === 'authorization' && wantsToken(params.response_type)) {
        params.response_type = NOT_OFFERED;
      }
      this.#params = params;
    }

    /** From the issuer alone, whatever the request's Host says. */
    urlFor(name: string, options?: UrlOptions): string {
      return provider.urlFor(name, options);
    }
  };
}
