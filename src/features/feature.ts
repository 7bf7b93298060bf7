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
  /** What is served for it; where it is off, with 404. */
  endpoints?: readonly Endpoint[];
  /** By name; the first part of it is the feature's own. */
  limits?: Readonly<Record<string, LimitRow>>;
  /** Its events in the audit trail, each with a row in docs/observability.md. */
  audit?: readonly string[];
  /** The models of its pages by name (views/models.ts). */
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
