// What a row of the table of models says (oidc/models.ts).

export type Trait =
  /** Has a scope. Each read removes what its client may no longer ask for (policies/narrowed-scope.ts). */
  | 'scoped'
  /** Belongs to a grant and is revoked with it (adapter.ts). */
  | 'grantable'
  /** Expires with its session, unless it has offline access (seam/bindings.ts). */
  | 'sessionBound'
  /** Can be used once. A limit counts the use (seam/provider.ts). */
  | 'usedOnce'
  /** Replicas have it before the request continues. */
  | 'awaited';

/** A model of the engine as it is stored. */
export type Model = Readonly<{
  traits: readonly Trait[];
  /** Members of a record besides its times; a record without one is damaged. */
  needs?: string;
  /** Our members of a model that is saved again (seam/stored-members.ts). */
  members?: readonly string[];
}>;
