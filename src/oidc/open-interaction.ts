// An authorization request that waits for a user, as the sign-in pages read it.
import type Provider from 'oidc-provider';
import type { Level } from '../config/sign-in-levels.ts';
import { BY_PASSWORD } from '../users/authentication-methods.ts';
import { toClientModel } from './client-model.ts';
import { type AskedFor, WHOLE_API } from './policies/asked-for.ts';
import type { EngineApp } from './provider.ts';
import { scopesIn } from './policies/scopes.ts';
import { issuedBySession } from './seam/session-sign-in.ts';

export const PROMPTS = ['login', 'select_account', 'second_factor', 'notice', 'access', 'consent'] as const;
export type Prompt = (typeof PROMPTS)[number];

export type OpenInteraction = NonNullable<Awaited<ReturnType<typeof toOpenInteraction>>>;

type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

/** The engine's reasons for a prompt that the same user can answer with their password. */
const CONFIRMATIONS = new Set(['login_prompt', 'max_age']);
/** Reasons to ask the user again for what they may have allowed before. */
const ASKS_AGAIN = new Set(['consent_prompt', 'native_client_prompt']);

/** Undefined when the app was removed meanwhile, so that the user can't be sent back to it. */
export async function toOpenInteraction({ clients, provider, issuer }: EngineApp, details: Details) {
  const settings = await clients.load(String(details.params['client_id']));
  const { name, reasons, details: prompted } = details.prompt;
  const prompt = PROMPTS.find((one) => one === name);
  if (settings === undefined || prompt === undefined) return undefined;
  // The engine has just looked this session up.
  const session = details.session && (await provider.Session.findByUid(details.session.uid));
  const scopes = scopesIn(details.params['scope']);
  return {
    uid: details.uid,
    pageUrl: `${issuer}/interaction/${details.uid}`,
    prompt,
    client: toClientModel(settings, issuer),
    settings,
    accountId: details.session?.accountId,
    session: details.session,
    issued: session && issuedBySession(session),
    amr: session?.amr ?? BY_PASSWORD,
    /** Time of the second factor, in epoch seconds. */
    factorAt: session?.factorAt,
    /** The level that a `second_factor` prompt asks for. */
    needed: prompted['level'] as Level | undefined,
    /** The grant that the app has in this session so far. */
    grantId: details.grantId,
    loginHint: textOf(details.params['login_hint']),
    uiLocales: textOf(details.params['ui_locales']),
    /** Whether the signed-in user only has to confirm their identity. */
    isConfirmation: reasons.every((reason) => CONFIRMATIONS.has(reason)),
    redirectUri: String(details.params['redirect_uri']),
    /** Whether the app is answered by a redirect instead of one of our pages. */
    isRedirected:
      details.params['redirect_uri'] !== undefined &&
      (details.params['response_mode'] ?? 'query') === 'query',
    /** What the app asks for, granted or not. */
    asked: { scopes, resource: textOf(details.params['resource']) },
    /** What is still to be granted, or everything when the app wants the user asked again. A consent grants this and nothing else. */
    missing: missingOf(details.prompt, scopes),
  };
}

function missingOf({ reasons, details }: Details['prompt'], scopes: readonly string[]): AskedFor {
  const { missingOIDCScope, missingResourceScopes, missingApis } = details as {
    readonly missingOIDCScope?: readonly string[];
    readonly missingResourceScopes?: AskedFor['resourceScopes'];
    readonly missingApis?: readonly string[];
  };
  const asksAgain = reasons.some((reason) => ASKS_AGAIN.has(reason));
  return {
    scopes: asksAgain ? scopes : (missingOIDCScope ?? []),
    resourceScopes: {
      ...missingResourceScopes,
      ...Object.fromEntries((missingApis ?? []).map((resource) => [resource, [WHOLE_API]])),
    },
  };
}

const textOf = (parameter: unknown): string | undefined =>
  typeof parameter === 'string' ? parameter : undefined;
