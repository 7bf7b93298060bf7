// What an operator asks of a store and the service never does: whether its servers are fit, its documents copied out and in.

export type ServerFindings = {
  readonly server: string;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
};

/** A document with its place and its version, which some documents are sealed with. */
export type PlacedDocument = {
  readonly collection: string;
  readonly id: string;
  readonly value: string;
  readonly version: number;
};

export interface StoreAdministration {
  findings(): Promise<readonly ServerFindings[]>;
  exportDocuments(): Promise<readonly PlacedDocument[]>;
  /** A copy of everything, into a folder that must not exist; the service may run. Absent where the server has its own way. */
  backup?(folder: string): Promise<void>;
  close(): Promise<void>;
}
