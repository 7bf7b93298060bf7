// An authorization request that waits for a person, as the sign-in pages read it.
import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import type { Level } from '../config/sign-in-levels.ts';
import type { Issued } from '../users/accounts.ts';
import { type Amr, BY_PASSWORD } from '../users/authentication-methods.ts';
import type { Client } from '../config/config.ts';
import type { ClientModel } from '../views/models.ts';
import { toClientModel } from './client-model.ts';
import { namedClaims } from './policies/asked-claims.ts';
import { WHOLE_API } from './policies/asked-for.ts';
import type { Engine } from './provider.ts';
import { scopesIn } from './policies/scopes.ts';
import { factorAtOf } from './seam/session-sign-in.ts';
import { issuedBySession } from './signed-in-at.ts';

export const PROMPTS = ['login', 'select_account', 'second_factor', 'notice', 'access', 'consent'] as const;
/** Where the pages of an interaction are. */
export const interactionUrl = (issuer: string, uid: string) => `${issuer}/interaction/${uid}`;

/** What the person is asked for. */
export type Prompt = (typeof PROMPTS)[number];

export type OpenInteraction = {
  readonly uid: string;
  /** Where its pages are. */
  readonly pageUrl: string;
  readonly prompt: Prompt;
  readonly client: ClientModel;
  readonly settings: Client;
  /** The signed-in person, where there is one. */
  readonly accountId: string | undefined;
  /** When they signed in. */
  readonly issued: Issued | undefined;
  /** How. */
  readonly amr: Amr;
  /** When, of the second factor; epoch seconds. */
  readonly factorAt: number | undefined;
  /** What a `second_factor` prompt asks for. */
  readonly needed: Level | undefined;
  /** What the person has granted the app in this session so far. */
  readonly grantId: string | undefined;
  readonly loginHint: string | undefined;
  readonly uiLocales: string | undefined;
  /** Whether the signed-in person is only asked to prove again that it is them. */
  readonly isConfirmation: boolean;
  readonly redirectUri: string;
  /** What the app asks for, granted or not. */
  readonly asked: { readonly scopes: readonly string[]; readonly resource: string | undefined };
  /** What is still to be granted, or everything where the app has the person asked again; the only source of what a consent grants. */
  readonly missing: {
    readonly scopes: readonly string[];
    readonly claims: readonly string[];
    readonly resourceScopes: Readonly<Record<string, readonly string[]>>;
  };
};

export type Details = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Undefined for an app that was removed meanwhile: there is nobody to send the person back to. */
export async function toOpenInteraction(
  { loadClient, provider }: Engine,
  details: Details,
): Promise<OpenInteraction | undefined> {
  const settings = await loadClient(String(details.params['client_id']));
  if (settings === undefined) return undefined;
  const { uid } = details.session ?? {};
  // The engine has just looked for it.
  const session = uid === undefined ? undefined : await provider.Session.findByUid(uid);
  return interactionOf(details, settings, provider.issuer, session);
}

/** Reasons of the engine that the same person can answer with their password. */
const CONFIRMATIONS = new Set(['login_prompt', 'max_age']);
/** Reasons to ask a person for what they may have allowed before. */
const ASKS_AGAIN = new Set(['consent_prompt', 'native_client_prompt']);

function interactionOf(
  details: Details,
  settings: Client,
  issuer: string,
  session: Session | undefined,
): OpenInteraction | undefined {
  const { name, reasons, details: prompted } = details.prompt;
  const prompt = PROMPTS.find((one) => one === name);
  if (prompt === undefined) return undefined;
  const missing = prompted as {
    readonly missingOIDCScope?: readonly string[];
    readonly missingOIDCClaims?: readonly string[];
    readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
    readonly missingApis?: readonly string[];
    readonly level?: Level;
  };
  const scopes = scopesIn(details.params['scope']);
  const asksAgain = reasons.some((reason) => ASKS_AGAIN.has(reason));
  return {
    uid: details.uid,
    pageUrl: interactionUrl(issuer, details.uid),
    prompt,
    client: toClientModel(settings, issuer),
    settings,
    accountId: details.session?.accountId,
    issued: session && issuedBySession(session),
    amr: session?.amr ?? BY_PASSWORD,
    factorAt: session && factorAtOf(session),
    needed: missing.level,
    grantId: details.grantId,
    loginHint: textOf(details.params['login_hint']),
    uiLocales: textOf(details.params['ui_locales']),
    isConfirmation: reasons.every((reason) => CONFIRMATIONS.has(reason)),
    redirectUri: String(details.params['redirect_uri']),
    asked: {
      scopes,
      resource: textOf(details.params['resource']),
    },
    missing: {
      scopes: asksAgain ? scopes : (missing.missingOIDCScope ?? []),
      claims: asksAgain ? namedClaims(details.params['claims']) : (missing.missingOIDCClaims ?? []),
      resourceScopes: {
        ...missing.missingResourceScopes,
        ...Object.fromEntries((missing.missingApis ?? []).map((resource) => [resource, [WHOLE_API]])),
      },
    },
  };
}

function textOf(parameter: unknown): string | undefined {
  return typeof parameter === 'string' ? parameter : undefined;
}
