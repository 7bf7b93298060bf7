// What a feature declares: data that loads with the configuration. Its behavior is in its run.ts (running.ts). The core folds over the
// list (index.ts) and names no feature.
import type { ZodType } from 'zod';
import type { Beginning } from '../config/demo.ts';
import type { Endpoint, UserGrant } from '../config/endpoint-rows.ts';
import type { Model } from '../config/model-rows.ts';
import type { Rule } from '../config/rules.ts';
import type { LimitRow } from '../config/schema-limits.ts';
import type { MetricTable } from '../observability/metrics.ts';

type Shape = Readonly<Record<string, ZodType>>;

/** Undefined: the user isn't in the index. */
type SortOf = (user: IndexedUser) => string | undefined;
export type IndexedUser = Readonly<{ username: string; claims: Readonly<Record<string, unknown>> }>;

type LookUp = (path: readonly string[], reference: string) => Promise<string | undefined>;

/** Reads `env:` and `file:` references and reports faults. `open`: values that aren't secret. Relative paths start in `folder`. */
export type Reading = Readonly<Record<'secret' | 'open', LookUp>> & { readonly folder: string };

export type Declaration = Readonly<{
  /** The name of its folders, document and templates. With `_` for `-`, the prefix of its texts. */
  name: string;
  /** Whether it is loaded. `config` is typed by the keys that it reads. */
  isOn: (config: never) => boolean;
  /** Its keys below `features`. */
  switches?: Shape;
  /** Its keys at the top of the file. */
  service?: Shape;
  /** Workers only: keys of `service` that are specific to one machine and take effect at the next start. */
  ofMachine?: readonly string[];
  /** Its keys in a client. */
  client?: Shape;
  /** Access only: its keys in an API. */
  resource?: Shape;
  /** Email only: replaces references in its keys with secrets, file contents and folders. */
  read?: (form: never, reading: Reading) => Promise<object>;
  /** Rules that combine several keys of a client. */
  clientRules?: readonly Rule<never, never>[];
  /** Rules that combine several keys of the file. */
  serviceRules?: readonly Rule<never, never>[];
  /** Device flow only: grants with which a user authorizes an app. */
  grants?: readonly UserGrant[];
  /** Email only: indexes of the store's users (users/username-index.ts). */
  userIndexes?: Readonly<Record<string, SortOf>>;
  /** Email only: sends notices (users/user-events.ts). */
  sendsNotes?: true;
  /** Paths that are served while it is on, and answer 404 while it is off. */
  endpoints?: readonly Endpoint[];
  /** Limits by name. The names share a prefix of the feature. */
  limits?: Readonly<Record<string, LimitRow>>;
  /** Events of the audit trail, each with a row in docs/observability.md. */
  audit?: readonly string[];
  /** Metrics, each with a row in docs/observability.md. `snapshot` of its job reads the gauges. */
  metrics?: MetricTable;
  /** Device flow only: models of the engine that are stored for it. */
  models?: Readonly<Record<string, Model>>;
  /** The models of its pages by name (views/models.ts); the names are prefixes of its texts, too. */
  pages?: Shape;
  /** What its sections of the account page show. */
  sections?: Shape;
  /** Try-out only: where a new administrator starts while the demo client exists. */
  begin?: readonly ((config: never) => Beginning | undefined)[];
}>;
