// The engine with our token models in it. The only place where an engine class is replaced; why and how: ARCHITECTURE.md.
import Provider, { type Client, type Configuration } from 'oidc-provider';
import { callerOf } from '../../config/endpoints.ts';
import { assertMaySign } from '../../tokens/access-token.ts';
import type { App } from '../app.ts';
import type { KnownClients } from '../clients.ts';
import { modelNames, modelOf } from '../models.ts';
import { type Granted, grantedResource } from '../policies/scopes.ts';
import { accessTokenModel } from './access-token.ts';
import { clientCredentialsModel } from './client-credentials.ts';
import { contextClass } from './context.ts';
import type { Answer, SendAnswer } from '../send-page.ts';
import type { ModelClass } from './model.ts';
import { bindToBrowser, bindToSession, type BoundInteraction, type BoundModel } from './bindings.ts';
import { keepSignIn } from './session-sign-in.ts';
import { keepMembers, type RewrittenModel } from './stored-members.ts';

type UsedModel = { readonly prototype: Granted & { consume: () => Promise<void> } };

/** Counts the request before its code or token is used up. Only the resource is unchecked by then: the engine compares it later. */
function countUses({ prototype }: UsedModel, { maySign, takeBeforeUse }: App): void {
  const { consume } = prototype;
  prototype.consume = async function countAndConsume() {
    const { ctx } = Provider;
    // An answer that can't be signed must not use anything up.
    assertMaySign(maySign);
    grantedResource(ctx?.oidc.params?.['resource'], this);
    await takeBeforeUse(ctx);
    await consume.call(this);
  };
}

/** A hint is an ID token (OIDC Core §3.1.2.1). A logout token has the same issuer, audience and key (OIDC Back-Channel Logout §2.4). */
function refuseOtherHints(model: Provider['IdToken']): void {
  const validate = model.validate.bind(model);
  model.validate = async (...args) => {
    const found = await validate(...args);
    if ((found.header['typ'] ?? 'JWT') !== 'JWT') throw new TypeError('not an ID token');
    return found;
  };
}

/** Replaces the engine's comparison with one plain-text secret; it awaits this for client_secret_basic and client_secret_post. */
function authenticate({ Client: model }: Provider, { clients, compareSecret, admitClient }: App): void {
  model.prototype.compareClientSecret = async function compare(this: Client, secret) {
    return Provider.ctx !== undefined && compareSecret(Provider.ctx, this.clientId, secret);
  };
  const find = model.find.bind(model);
  // Built at the first look-up: the engine would copy all of its static clients at once, and caches only 100 others.
  const built = new Map<string, Client>();
  model.find = async function findAndAdmit(id) {
    const found = built.get(id) ?? (await find(id));
    if (found !== undefined && clients.find(id) !== undefined) built.set(id, found);
    const { ctx } = Provider;
    // A client without a secret skips that comparison. The first look-up of the request is the one that authenticates it.
    const isFirst =
      ctx !== undefined && ctx.oidc.client === undefined && callerOf(ctx.oidc.route) === 'client';
    const settings = isFirst && found?.clientAuthMethod === 'none' ? await clients.load(id) : undefined;
    if (isFirst && settings !== undefined) await admitClient(ctx, settings);
    return found;
  };
}

export class PosternProvider extends Provider {
  constructor(issuer: string, configuration: Configuration, app: App & KnownClients) {
    super(issuer, configuration);
    // Before AccessToken is replaced by its subclass.
    for (const name of modelNames) {
      const { traits, members } = modelOf(name);
      const model: unknown = this[name];
      if (traits.includes('sessionBound')) bindToSession(model as BoundModel, this);
      if (traits.includes('usedOnce')) countUses(model as UsedModel, app);
      if (members !== undefined) keepMembers(model as RewrittenModel, members);
    }
    // defineProperties: the types declare these as readonly properties, at run time they are getters on the prototype.
    Object.defineProperties(this, {
      AccessToken: { value: accessTokenModel(this.AccessToken as unknown as ModelClass, app) },
      ClientCredentials: {
        value: clientCredentialsModel(this.ClientCredentials as unknown as ModelClass, app),
      },
      OIDCContext: {
        value: contextClass(this.OIDCContext as unknown as Parameters<typeof contextClass>[0], this, app),
      },
    });

    refuseOtherHints(this.IdToken);
    bindToBrowser(this.Interaction as unknown as BoundInteraction, app.browsers);
    keepSignIn(this.Session.prototype, () => Provider.ctx);
    authenticate(this, app);
  }

  /** Keeps only the engine's `query`. Its form_post has a script inside the page, and `fragment` leaks codes (RFC 9700 §4.3). */
  override registerResponseMode(...args: Parameters<Provider['registerResponseMode']>): void {
    if (args[0] === 'query') super.registerResponseMode(...args);
  }

  offerResponseMode(name: string, send: SendAnswer): void {
    super.registerResponseMode(name, (ctx, redirectUri, answer) => send(ctx, redirectUri, answer as Answer));
  }
}
