// What a feature declares: data that loads with the configuration. What it does is in its run.ts (running.ts). The core folds over the
// list (index.ts), and names no feature.
import type { ZodType } from 'zod';
import type { Endpoint } from '../config/endpoint-rows.ts';
import type { Rule } from '../config/rules.ts';
import type { LimitRow } from '../config/schema-limits.ts';

type Shape = Readonly<Record<string, ZodType>>;

/** Its address, and what the start prints. */
export type Beginning = { readonly url: string; readonly facts: readonly string[] };
export type Begin<C> = (config: C) => Beginning | undefined;

/** A grant of the token endpoint by which a user lets an app in. */
export type UserGrant = Readonly<{
  type: string;
  /** Routes of the engine: where an app asks for it, and where a user comes back to from the pages of a sign-in. */
  begins: string;
  resumes: string;
}>;

export type Trait =
  /** Has a scope. Each read removes what its client may no longer ask for (policies/narrowed-scope.ts). */
  | 'scoped'
  /** Belongs to a grant and is revoked with it (adapter.ts). */
  | 'grantable'
  /** Expires with its session, unless it has offline access (seam/bindings.ts). */
  | 'sessionBound'
  /** Can be used once. A limit counts the use (seam/provider.ts). */
  | 'usedOnce'
  /** Replicas have it before the request goes on. */
  | 'awaited';

/** A model of the engine as it is stored. */
export type Model = Readonly<{
  traits: readonly Trait[];
  /** What a record has besides its times; one without it is damaged. */
  needs?: string;
  /** Our members of a model that is saved again (seam/stored-members.ts). */
  members?: readonly string[];
}>;

export type Declaration = Readonly<{
  /** Of its folders, its document, its templates; and the prefix of its texts, with `_` for `-`. */
  name: string;
  /** Its keys below `features`, at the top of the file, and of a client and an API. */
  switches?: Shape;
  service?: Shape;
  client?: Shape;
  resource?: Shape;
  /** What its keys, and the core's beside them, can't be together. */
  clientRules?: readonly Rule<never, never>[];
  serviceRules?: readonly Rule<never, never>[];
  grants?: readonly UserGrant[];
  /** What is served for it; where it is off, with 404. */
  endpoints?: readonly Endpoint[];
  /** By name; the first part of it is the feature's own. */
  limits?: Readonly<Record<string, LimitRow>>;
  /** Its events in the audit trail, each with a row in docs/observability.md. */
  audit?: readonly string[];
  /** Of the engine's, which are stored for it. */
  models?: Readonly<Record<string, Model>>;
  /** The models of its pages by name (views/models.ts); the names are prefixes of its texts, too. */
  pages?: Shape;
  /** What its sections of the account page show. */
  sections?: Shape;
  /** Of the try-out alone: where a newcomer begins, while the demo client is there. */
  begin?: readonly Begin<never>[];
  /** Of client-documents alone: whether a client that the file doesn't have is one nevertheless. */
  knowsClient?: (config: never, clientId: string) => boolean;
  /** Typed by the keys that it looks at. */
  isOn: (config: never) => boolean;
}>;
