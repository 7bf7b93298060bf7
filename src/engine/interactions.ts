// What the sign-in pages may do with the engine: read an open interaction and finish it, once. Keeps the engine's
// classes inside engine/; owns no page and no form.
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { Client } from '../config/config.ts';
import type { ClientModel } from '../pages/models.ts';
import { type AdapterParts, recordKey } from './adapter.ts';
import { toClientModel } from './engine-pages.ts';
import type { LiveEngine } from './live-engine.ts';

/** An authorization request that waits for a person. */
export type OpenInteraction = {
  readonly uid: string;
  readonly prompt: 'login' | 'consent';
  readonly client: ClientModel;
  readonly settings: Client;
  /** The signed-in person, at consent. */
  readonly accountId: string | undefined;
  readonly loginHint: string | undefined;
  /** What is still to be granted; the only source of what a consent grants (LG-13). */
  readonly missing: {
    readonly scopes: readonly string[];
    readonly claims: readonly string[];
    readonly resourceScopes: Readonly<Record<string, readonly string[]>>;
  };
};

export interface Interactions {
  /** Undefined when it isn't this browser's, has expired, was finished, or its session changed. */
  find(ctx: Context, uid: string): Promise<OpenInteraction | undefined>;
  /** Each resolves the URL to go on with, or undefined when somebody else finished it first. */
  finishLogin(ctx: Context, interaction: OpenInteraction, accountId: string): Promise<string | undefined>;
  finishConsent(ctx: Context, interaction: OpenInteraction): Promise<string | undefined>;
  /** RFC 6749 §4.1.2.1: the app is told access_denied. */
  deny(ctx: Context, interaction: OpenInteraction): Promise<string | undefined>;
}

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;
type Result = Parameters<Provider['interactionResult']>[2];

export function createInteractions(live: LiveEngine, adapter: AdapterParts): Interactions {
  async function detailsOf(ctx: Context, uid: string): Promise<Details | undefined> {
    try {
      const details = await live.current.provider.interactionDetails(ctx.req, ctx.res);
      // The cookie names the interaction; the path must name the same one.
      return details.uid === uid && details.result === undefined ? details : undefined;
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  }

  async function finish(ctx: Context, uid: string, result: Result): Promise<string | undefined> {
    // One answer per interaction, whoever posts in parallel: the store picks the winner (LG-11).
    const won = await adapter.records.consume('Interaction', recordKey(adapter.hash, 'Interaction', uid));
    if (won !== 'consumed') return undefined;
    return live.current.provider.interactionResult(ctx.req, ctx.res, result, {
      mergeWithLastSubmission: true,
    });
  }

  return {
    async find(ctx, uid) {
      const details = await detailsOf(ctx, uid);
      const clientId = details && String(details.params['client_id']);
      const settings = clientId === undefined ? undefined : live.current.findClient(clientId);
      const client = clientId === undefined ? undefined : await live.current.provider.Client.find(clientId);
      // A client removed meanwhile has nobody to send the person back to.
      if (details === undefined || settings === undefined || client === undefined) return undefined;
      return toOpenInteraction(details, settings, toClientModel(client));
    },

    finishLogin: (ctx, { uid }, accountId) => finish(ctx, uid, { login: { accountId } }),

    async finishConsent(ctx, interaction) {
      const details = await detailsOf(ctx, interaction.uid);
      if (details === undefined || interaction.accountId === undefined) return undefined;
      const { Grant } = live.current.provider;
      const existing = details.grantId === undefined ? undefined : await Grant.find(details.grantId);
      const grant =
        existing ?? new Grant({ accountId: interaction.accountId, clientId: interaction.settings.clientId });
      const { scopes, claims, resourceScopes } = interaction.missing;
      if (scopes.length > 0) grant.addOIDCScope(scopes.join(' '));
      if (claims.length > 0) grant.addOIDCClaims([...claims]);
      for (const [resource, owned] of Object.entries(resourceScopes)) {
        grant.addResourceScope(resource, owned.join(' '));
      }
      const grantId = await grant.save();
      return finish(ctx, interaction.uid, { consent: { grantId } });
    },

    deny: (ctx, { uid }) =>
      finish(ctx, uid, { error: 'access_denied', error_description: 'the person declined the request' }),
  };
}

function toOpenInteraction(
  details: Details,
  settings: Client,
  client: ClientModel,
): OpenInteraction | undefined {
  const { name, details: prompted } = details.prompt;
  if (name !== 'login' && name !== 'consent') return undefined;
  const missing = prompted as {
    readonly missingOIDCScope?: readonly string[];
    readonly missingOIDCClaims?: readonly string[];
    readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
  };
  const loginHint = details.params['login_hint'];
  return {
    uid: details.uid,
    prompt: name,
    client,
    settings,
    accountId: details.session?.accountId,
    loginHint: typeof loginHint === 'string' ? loginHint : undefined,
    missing: {
      scopes: missing.missingOIDCScope ?? [],
      claims: missing.missingOIDCClaims ?? [],
      resourceScopes: missing.missingResourceScopes ?? {},
    },
  };
}
