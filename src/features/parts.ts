// What one application has of a feature that is on: optional parts of a plain object, each folded at one place of the core.
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type {
  Adapter,
  ClientMetadata,
  Configuration,
  interactionPolicy,
  KoaContextWithOIDC,
} from 'oidc-provider';
import type { Grouped } from '../config/access-rules.ts';
import type { Client } from '../config/config.ts';
import type { Snapshot } from '../observability/metrics.ts';
import type { SendAnswer } from '../oidc/send-page.ts';
import type { Amr } from '../users/authentication-methods.ts';
import type { Enrolment, Factors } from '../users/factors.ts';

export type Parts = Readonly<{
  /** Where clients are that the file doesn't have. */
  clients?: ClientSource;
  /** Of the engine's own settings, besides the core's. */
  engine?: Pick<Configuration, 'features' | 'ttl'>;
  /** Where the records of a model that it declares are, if not with the others. */
  adapter?: (model: string) => Adapter | undefined;
  /** In front of the engine, in the order of the list. */
  around?: (provider: Provider) => Middleware;
  /** RFC 7591 metadata of a client, besides the core's. */
  clientMetadata?: (client: Client) => Partial<ClientMetadata>;
  /** RFC 8414 metadata, besides the core's or instead of it. */
  discovery?: Readonly<Record<string, unknown>>;
  /** Adds what a user is asked or told between the sign-in and the consent. */
  prompts?: (policy: interactionPolicy.DefaultPolicy) => void;
  guard?: Guard;
  /** What users may not have of what is asked for: of access alone. */
  narrowing?: Narrowing;
  /** Adds a factor to a user: of second factors alone. */
  enrolment?: Enrolment;
  /** Of the try-out alone: on the management listener, behind what operators ask it. */
  management?: Middleware;
  /** What of the engine's classes it changes, before the instance serves. */
  seam?: (provider: Provider & Seam) => void;
  job?: (provider: Provider) => Job;
}>;

/** What goes on besides requests while its application serves. */
export type Job = Readonly<{
  start: () => void;
  /** Resolves when nothing is under way. */
  stop: () => Promise<void>;
  /** For the metrics. */
  snapshot?: (this: void) => Promise<Snapshot>;
}>;

/** Undefined where it doesn't know the client. Throws what the host answers: ClientUnavailable, TooManyRequests, StoreUnavailable. */
export type ClientSource = (clientId: string) => Promise<Client | undefined>;

/** A request, or a code or a token that came of one. */
export type Wanted = Readonly<{
  clientId?: string | undefined;
  scope?: unknown;
  resource?: unknown;
  aud?: unknown;
}>;

/** A code or a refresh token has its amr itself, an access token among its claims. */
export type GivenToken = Wanted &
  Readonly<{
    kind?: string;
    accountId?: string | undefined;
    amr?: Amr | undefined;
    extra?: Readonly<Record<string, unknown>> | undefined;
  }>;

/** Whether what a user was given may still be used, and whether there is anything to ask. */
export type Guard = Readonly<{
  /** At an endpoint of the engine. Takes from a code or a refresh token what is lost; or ends its grant, for good, and throws. */
  admit?: (ctx: KoaContextWithOIDC, user: Grouped, token: GivenToken) => Promise<boolean>;
  /** At introspection and on the fast path. Takes from a refresh token what is lost. */
  sees?: (user: Grouped, token: GivenToken) => Promise<boolean>;
  /** Whether the fast path answers for this client as the engine would, with no more than `sees`. Who says nothing, says no. */
  isPlain?: (client: Client) => boolean;
  /** Of a session at a page of ours. */
  isEnough?: (session: { readonly amr: Amr; readonly sessionsSince: number }, own: Factors) => boolean;
}>;

/** All of them agree. */
export function guardOf(features: readonly Parts[]): Required<Guard> {
  const guards = features.flatMap(({ guard }) => guard ?? []);
  return {
    async admit(...args) {
      for (const { admit } of guards) if ((await admit?.(...args)) === false) return false;
      return true;
    },
    async sees(...args) {
      for (const { sees } of guards) if ((await sees?.(...args)) === false) return false;
      return true;
    },
    isPlain: (client) => features.every(({ guard }) => guard?.isPlain?.(client) === true),
    isEnough: (...args) => guards.every(({ isEnough }) => isEnough?.(...args) !== false),
  };
}

export type Narrowing = Readonly<{
  isDenied: (user: Grouped, wanted: Wanted) => boolean;
  /** Takes from a request what the signed-in user may not have. False: nothing is left, or they may not use the app. */
  narrow: (ctx: KoaContextWithOIDC) => boolean;
  /** What an interaction keeps for `restore`. */
  kept: (ctx: KoaContextWithOIDC) => object;
  /** Gives a request that goes on the scope that it began with: another user may have signed in since. */
  restore: (ctx: KoaContextWithOIDC) => void;
}>;

/** What our engine offers besides its own methods (oidc/seam/provider.ts). */
export type Seam = Readonly<{
  /** A further way to send the answer of an authorization request. */
  offerResponseMode: (name: string, send: SendAnswer) => void;
}>;
