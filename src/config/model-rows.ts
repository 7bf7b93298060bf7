// The types of the rows in the table of models (oidc/models.ts).

export type Trait =
  /** Has a scope. Each read removes scopes that the client may no longer request (policies/narrowed-scope.ts). */
  | 'scoped'
  /** Belongs to a grant and is revoked with it (adapter.ts). */
  | 'grantable'
  /** Expires with its session, unless it has offline access (seam/bindings.ts). */
  | 'sessionBound'
  /** Can be used once. A limit counts the use (seam/provider.ts). */
  | 'usedOnce'
  /** The request waits until replicas have the record. */
  | 'awaited';

/** A model of the engine as it is stored. */
export type Model = Readonly<{
  traits: readonly Trait[];
  /** Required members of a record besides its times. A record that lacks one is damaged. */
  needs?: string;
  /** Our members of a record that the engine reads and saves again (seam/stored-members.ts). */
  members?: readonly string[];
}>;
