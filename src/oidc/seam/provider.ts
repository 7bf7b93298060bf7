// The engine with our token models in it. The only place where an engine class is replaced; why and how: ARCHITECTURE.md.
import Provider, { type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { callerOf } from '../../config/endpoints.ts';
import type { App } from '../app.ts';
import { modelNames, modelOf } from '../models.ts';
import { type Granted, grantedResource } from '../policies/scopes.ts';
import { accessTokenModel } from './access-token.ts';
import { clientCredentialsModel } from './client-credentials.ts';
import { contextClass, type ContextParts } from './context.ts';
import type { Answer, SendAnswer } from '../send-page.ts';
import type { ModelClass } from './model.ts';
import { bindToBrowser, bindToSession, type BoundInteraction, type BoundModel } from './bindings.ts';
import { keepSignIn, type SessionClass } from './session-sign-in.ts';
import { keepMembers, type RewrittenModel } from './stored-members.ts';

type SeamParts = Pick<
  App,
  'tokens' | 'audiences' | 'revoked' | 'findMachineToken' | 'browsers' | 'takeBeforeUse'
>;

export type SeamHooks = Readonly<{
  /** Resolves true when `secret` is one of the client's live secrets; may throw what the host answers (429, 503). */
  compareClientSecret: (
    ctx: KoaContextWithOIDC | undefined,
    clientId: string,
    secret: string,
  ) => Promise<boolean>;
  /** Called for a client without a secret where it names itself; may throw what the host answers (429). */
  admitPublicClient: (ctx: KoaContextWithOIDC, clientId: string) => Promise<void>;
}> &
  Omit<ContextParts, 'spell'>;

type FoundClient = { readonly clientId: string; readonly clientAuthMethod: string };
type ClientFinder = { find(id: string): Promise<FoundClient | undefined> };
type UsedModel = { readonly prototype: Granted & { consume: () => Promise<void> } };
type ClientPrototype = {
  clientId: string;
  compareClientSecret(secret: string): Promise<boolean>;
};

/** Everything about the code or the token has been checked by then, but the resource, which the engine compares when it is used up. */
function countUses({ prototype }: UsedModel, takeBeforeUse: SeamParts['takeBeforeUse']): void {
  const { consume } = prototype;
  prototype.consume = async function countAndConsume() {
    const { ctx } = Provider;
    grantedResource(ctx?.oidc.params?.['resource'], this);
    await takeBeforeUse(ctx);
    await consume.call(this);
  };
}

type IdTokenClass = {
  validate: (jwt: string, client: object) => Promise<{ readonly header: { readonly typ?: string } }>;
};

/** A hint is an ID token (OIDC Core §3.1.2.1). A logout token has the same issuer, audience and key (OIDC Back-Channel Logout §2.4). */
function refuseOtherHints(model: IdTokenClass): void {
  const { validate } = model;
  model.validate = async function validateIdToken(...args) {
    const found = await validate.apply(this, args);
    if ((found.header.typ ?? 'JWT') !== 'JWT') throw new TypeError('not an ID token');
    return found;
  };
}

export class PosternProvider extends Provider {
  constructor(issuer: string, configuration: Configuration, parts: SeamParts, hooks: SeamHooks) {
    super(issuer, configuration);
    const { tokens, audiences, revoked, findMachineToken, browsers, takeBeforeUse } = parts;
    const { findClient, compareClientSecret, admitPublicClient } = hooks;

    // Before AccessToken is replaced by a class that is made of it.
    for (const name of modelNames) {
      const { traits, members } = modelOf(name);
      const model: unknown = this[name];
      if (traits.includes('sessionBound')) bindToSession(model as BoundModel, this);
      if (traits.includes('usedOnce')) countUses(model as UsedModel, takeBeforeUse);
      if (members !== undefined) keepMembers(model as RewrittenModel, members);
    }
    // defineProperties: the types declare these as readonly properties, at run time they are getters on the prototype.
    Object.defineProperties(this, {
      AccessToken: {
        value: accessTokenModel(this.AccessToken as unknown as ModelClass, tokens, audiences),
      },
      ClientCredentials: {
        value: clientCredentialsModel(
          this.ClientCredentials as unknown as ModelClass,
          tokens,
          audiences,
          revoked,
          findMachineToken,
        ),
      },
      OIDCContext: {
        value: contextClass(this.OIDCContext as unknown as Parameters<typeof contextClass>[0], this, {
          ...hooks,
          spell: (resource) => audiences.findResource(resource)?.resource ?? resource,
        }),
      },
    });

    refuseOtherHints(this.IdToken as unknown as IdTokenClass);
    bindToBrowser(this.Interaction as unknown as BoundInteraction, browsers);
    keepSignIn(this.Session as unknown as SessionClass, () => Provider.ctx);

    // The engine awaits this for client_secret_basic and client_secret_post. Its own version knows a single secret in the clear.
    const client = this.Client.prototype as unknown as ClientPrototype;
    client.compareClientSecret = function compare(secret) {
      return compareClientSecret(Provider.ctx, this.clientId, secret);
    };
    // A client without a secret has no such step. The first look-up of the request is the one that authenticates it.
    const finder = this.Client as unknown as ClientFinder;
    const find = finder.find.bind(finder);
    // Built when first asked for: the engine would copy all of its static clients at once, and remembers 100 others.
    const built = new Map<string, FoundClient>();
    const findAndAdmit: ClientFinder['find'] = async (id) => {
      const found = built.get(id) ?? (await find(id));
      if (found !== undefined && findClient(id) !== undefined) built.set(id, found);
      const { ctx } = Provider;
      const isFirst =
        ctx !== undefined && ctx.oidc.client === undefined && callerOf(ctx.oidc.route) === 'client';
      if (isFirst && found?.clientAuthMethod === 'none') await admitPublicClient(ctx, found.clientId);
      return found;
    };
    Object.defineProperty(this.Client, 'find', { value: findAndAdmit });
  }

  /** What the engine brings: only `query`. Its form_post has a script inside the page, and `fragment` leaks codes (RFC 9700 §4.3). */
  override registerResponseMode(...args: Parameters<Provider['registerResponseMode']>): void {
    if (args[0] === 'query') super.registerResponseMode(...args);
  }

  offerResponseMode(name: string, send: SendAnswer): void {
    super.registerResponseMode(name, (ctx, redirectUri, answer) => send(ctx, redirectUri, answer as Answer));
  }
}
