// The engine's request context. It corrects the parameters of a request before the engine reads them,
// and builds every URL from the issuer.
import type { IncomingMessage } from 'node:http';
import { unescape } from 'node:querystring';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { callerOf, grantBegunAt } from '../../config/endpoints.ts';
import type { App } from '../app.ts';
import type { KnownClients } from '../clients.ts';
import { scopesIn } from '../policies/scopes.ts';
import { PresentedJwt } from './presented-jwt.ts';

type Authorization =
  'response_type' | 'response_mode' | 'resource' | 'scope' | 'nonce' | 'acr_values' | 'max_age';
type Params = Partial<
  Record<Authorization | 'token' | 'client_id' | 'client_secret' | 'request' | 'request_uri', unknown>
>;
type UrlOptions = Parameters<Provider['urlFor']>[1];
/** OIDCContext without `params`, which the engine assigns once and its types declare as a property. */
type ContextClass = new (...args: unknown[]) => {
  route: string;
  session: { state?: Record<string, unknown> };
  ctx: Pick<Context, 'state'> & { readonly req: Pick<IncomingMessage, 'headers'> };
};

const ROUTES_TAKING_A_TOKEN = new Set(['introspection', 'revocation']);
/** A response type that the engine knows and this service doesn't offer. */
const NOT_OFFERED = 'none';

/**
 * RFC 6749 §4.1.2.1: unsupported_response_type. For a type with a token in it the engine would send that error in the
 * fragment mode, which isn't registered here, and fail; one without is refused in the query.
 */
const wantsToken = (responseType: unknown) =>
  typeof responseType === 'string' && responseType.includes('token');

/** Parameters that the engine refuses without `openid`, before it checks whether there are scopes at all. */
const NEEDING_OPENID = ['claims_locales', 'id_token_hint', 'nonce'];

/** RFC 9470 §4: both are for requests without `openid`, too, where the engine refuses them. options.ts restores them. */
function setStepUpAside(state: Context['state'], params: Params): void {
  const { acr_values, max_age } = params;
  const isOpenid = scopesIn(params.scope).includes('openid') || Array.isArray(acr_values);
  state['stepUp'] = isOpenid ? undefined : { acr_values, max_age };
  if (!isOpenid) params.acr_values = params.max_age = undefined;
}

/**
 * RFC 6749 §2.3.1: a client may omit an empty secret. Some public clients send it with Basic, with nothing after the colon; the engine
 * would then require a secret.
 */
function namePublicClient(
  { headers }: Pick<IncomingMessage, 'headers'>,
  params: Params,
  { clients }: ContextParts,
) {
  const [, encoded] = /^basic ([\w+/]+={0,2})$/i.exec(headers.authorization ?? '') ?? [];
  const [, id] = /^([^:]+):$/.exec(Buffer.from(encoded ?? '', 'base64').toString('latin1')) ?? [];
  const clientId = unescape(id?.replaceAll('+', ' ') ?? '');
  if (clients.find(clientId)?.tokenEndpointAuthMethod !== 'none' || params.client_secret !== undefined)
    return;
  if (params.client_id !== undefined && params.client_id !== clientId) return;
  params.client_id = clientId;
  delete headers.authorization;
}

/** Refresh tokens have no dot and stay strings; a repeated parameter is an array and still gets its 400. */
function wrapJwt(params: Params): void {
  const { token } = params;
  if (typeof token === 'string' && token.includes('.')) params.token = new PresentedJwt(token);
}

/** Fills in default scopes before the engine reads them: its hooks run after the first checks of the scope. */
function fillInScope(params: Params, { clients, findDefault }: ContextParts): void {
  const { client_id: clientId, resource: named } = params;
  if (params.scope !== undefined || typeof clientId !== 'string') return;
  const resource = typeof named === 'string' ? named : undefined;
  const scopes = findDefault({ client: clients.find(clientId), resource, isForUser: true });
  if (scopes.length === 0) return;
  params.scope = scopes.join(' ');
  // Many apps send a nonce with each request. There is no ID token for it, so the engine would refuse it.
  if (!scopes.includes('openid')) params.nonce = undefined;
}

/** Makes the engine report what is wrong with a request where it would report something else. */
function correctError(params: Params, { clients, metadataOf }: ContextParts): void {
  // The object of such a request may name the response mode, but it isn't read.
  const isObject = (params.request ?? params.request_uri) !== undefined;
  const client = isObject ? clients.find(String(params.client_id)) : undefined;
  const modes = client && metadataOf(client).response_modes;
  if (modes?.includes('query') === false) [params.response_mode] = modes;
  if (wantsToken(params.response_type)) params.response_type = NOT_OFFERED;
  // Without a response type there is no default mode, and the engine would report that instead.
  if (params.response_type === undefined) params.response_mode ??= 'query';
  // RFC 6749 §3.3: a request without any scope is invalid_scope, whatever else is in it.
  if (params.scope === undefined)
    Object.assign(params, Object.fromEntries(NEEDING_OPENID.map((name) => [name, undefined])));
}

/** The engine compares a form with the secret that it stored for the page; our form has its own secret. */
function useFormSecret(context: InstanceType<ContextClass>): void {
  const { formSecret: secret } = context.ctx.state as { readonly formSecret?: string };
  if (secret !== undefined) context.session.state = { secret };
}

/** As the configuration spells it: codes, refresh tokens and grants are stored under this name. */
function spellResource(params: Params, { audiences }: ContextParts): void {
  const { resource } = params;
  if (typeof resource === 'string') params.resource = audiences.findResource(resource)?.resource ?? resource;
}

type ContextParts = KnownClients & Pick<App, 'audiences' | 'findDefault'>;

/** The class must be called OIDCContext. */
export function contextClass(Base: ContextClass, provider: Provider, parts: ContextParts): ContextClass {
  return class OIDCContext extends Base {
    #params: Params | undefined;

    // The engine assigns the parsed parameters here, once, before it looks at them.
    get params(): Params | undefined {
      return this.#params;
    }

    set params(params: Params | undefined) {
      this.#params = params;
      if (params === undefined) return;
      const { route, ctx } = this;
      if (ROUTES_TAKING_A_TOKEN.has(route)) wrapJwt(params);
      useFormSecret(this);
      if (grantBegunAt(route) !== undefined) {
        fillInScope(params, parts);
        setStepUpAside(ctx.state, params);
      }
      if (route === 'authorization') correctError(params, parts);
      if (callerOf(route) === 'client') namePublicClient(ctx.req, params, parts);
      spellResource(params, parts);
    }

    /** Builds a URL from the issuer alone, whatever the request's Host says. */
    urlFor(name: string, options?: UrlOptions): string {
      return provider.urlFor(name, options);
    }
  };
}
