// The engine's request context: lets a JWT through introspection and revocation, and pins every URL to the issuer.
import type Provider from 'oidc-provider';
import { PresentedJwt } from './presented-jwt.ts';

type Params = { token?: unknown } & object;
type UrlOptions = Parameters<Provider['urlFor']>[1];
/** OIDCContext without `params`, which the engine assigns once and its types declare as a property. */
type ContextClass = new (...args: unknown[]) => { route: string };

const ROUTES_TAKING_A_TOKEN = new Set(['introspection', 'revocation']);

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
      this.#params = params;
    }

    /** From the issuer alone, whatever the request's Host says. */
    urlFor(name: string, options?: UrlOptions): string {
      return provider.urlFor(name, options);
    }
  };
}
