// What the seam needs of the engine's model classes and the public types leave out or type too loosely. Types only;
// the contract test fails when an upgrade makes them untrue.

/** The stored form of a token, as the engine's `getValueAndPayload` hands it out. Times in epoch seconds. */
type TokenPayload = Readonly<{
  jti: string;
  iat: number;
  exp: number;
  clientId: string;
  accountId?: string;
  scope?: string;
  aud?: string;
  extra?: Readonly<Record<string, unknown>>;
}>;

export interface Model {
  jti: string;
  clientId: string;
  accountId?: string;
  scope?: string | undefined;
  /** The engine's type says string; introspection answers an array as it is. */
  aud?: string | readonly string[] | undefined;
  iat: number;
  exp: number;
  getValueAndPayload(): Promise<{ value: string; payload: TokenPayload | undefined }>;
  destroy(): Promise<void>;
  emit(event: string): void;
}

export interface ModelClass {
  new (properties?: object): Model;
  find(value: unknown, options?: object): Promise<Model | undefined>;
}
