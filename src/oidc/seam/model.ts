// The parts of the engine's model classes that its public types omit or type too loosely; the contract test fails when an upgrade
// changes them. Also the code that both of our token models share.
import type { AccessTokens } from '../../tokens/access-token.ts';
import type { Audience } from '../../tokens/audience.ts';

/** The stored form of a token, as the engine's `getValueAndPayload` returns it. Times in epoch seconds. */
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
  /** The engine's type says string; introspection returns an array unchanged. */
  aud?: Audience | undefined;
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

/** Signs the record as a JWT. */
export function signRecord(
  tokens: AccessTokens,
  { jti, iat, exp, clientId, scope, extra = {} }: TokenPayload,
  of: Readonly<{ sub: string; aud: Audience }>,
): Promise<string> {
  return tokens.sign(
    // RFC 6749 §3.3: at least one scope; a resource without scopes leaves none.
    { ...of, exp, iat, jti, client_id: clientId, scope: scope === '' ? undefined : scope },
    // null: see inAccessToken in claims.ts.
    Object.fromEntries(Object.entries(extra).filter(([, claim]) => claim !== null)),
  );
}
