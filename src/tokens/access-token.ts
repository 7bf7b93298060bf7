// The access token as a JWT (RFC 9068): signs and verifies with one fixed key set. New keys need a new instance. Revocation,
// accounts and grants are checked elsewhere.
import { createLocalJWKSet, errors, jwtVerify, type JWK } from 'jose';
import { SKEW_SECONDS } from '../config/key-times.ts';
import type { KeySet } from '../keys/key-set.ts';
import { StoreUnavailable, type Clock } from '../store/store.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Audience, AudienceRules } from './audience.ts';
import { Remembered } from '../limits/bounded-map.ts';
import { createSignData } from './sign-data.ts';

/** RFC 9068 §2.2, by their protocol names. Times in epoch seconds. */
type AccessTokenClaims = Readonly<{
  iss: string;
  /** The user, or the client itself for client_credentials. */
  sub: string;
  aud: Audience;
  exp: number;
  iat: number;
  jti: string;
  client_id: string;
  scope?: string | undefined;
  auth_time?: number | undefined;
  acr?: string | undefined;
}>;

export type AccessTokens = ReturnType<typeof createAccessTokens>;

/** Remembered tokens: an API asks about the same token with each of its requests. */
const MOST_TOKENS = 2000;
const REQUIRED_CLAIMS = ['sub', 'aud', 'exp', 'iat', 'jti', 'client_id'];
const TYPE = 'at+jwt';

/** jose compares `iat` with the clock only where a `maxTokenAge` is set. The clocks of both nodes may be off. */
function isCurrent({ iat, exp }: AccessTokenClaims, time: number): boolean {
  const seconds = Math.floor(time / 1000);
  return exp > seconds && iat <= seconds + 2 * SKEW_SECONDS;
}

const isText = (value: unknown) => typeof value === 'string';

/** Checks what jose doesn't: that these claims have the types that they have in all our tokens. */
function hasForm({ sub, aud, jti, client_id: clientId, scope }: AccessTokenClaims): boolean {
  const texts: unknown[] = [sub, jti, clientId, ...[aud].flat()];
  return texts.every(isText) && aud.length > 0 && (scope === undefined || isText(scope));
}

/** `isPossible`: see audience.ts. */
export function createAccessTokens(
  issuer: string,
  keySet: KeySet,
  now: Clock,
  isPossible: AudienceRules['isPossible'] = () => true,
) {
  const { kid, privateJwk } = keySet.active;
  const signPayload = createSigner({ alg: 'RS256', typ: TYPE, kid }, privateJwk);
  // A local set: a header's jwk, jku or x5u is never read, and no kid causes a remote look-up (RFC 8725 §3.10).
  const published = keySet.published.filter(({ alg }) => alg === 'RS256');
  const verificationKeys = createLocalJWKSet({ keys: published });

  // Tokens whose signature and form were verified with these keys: that result doesn't change, and other keys need another instance. Each
  // call checks the time; whether a token was revoked isn't checked here at all.
  const verified = new Remembered<AccessTokenClaims>(MOST_TOKENS);

  /** Verifications in progress: each model of the engine asks about the same token at the same time. */
  const verifying = new Map<string, Promise<AccessTokenClaims | undefined>>();

  /** Resolves the claims of a token that is ours and valid now; undefined for everything else. Never throws for a bad token. */
  async function verify(jwt: string): Promise<AccessTokenClaims | undefined> {
    const time = now();
    const known = verified.get(jwt);
    if (known !== undefined) return isCurrent(known, time) ? known : undefined;
    const asked = verifying.get(jwt) ?? verifyAnew(jwt, time).finally(() => verifying.delete(jwt));
    verifying.set(jwt, asked);
    return asked;
  }

  async function verifyAnew(jwt: string, time: number): Promise<AccessTokenClaims | undefined> {
    if (!hasOneSpelling(jwt)) return undefined;
    try {
      const { payload } = await jwtVerify(jwt, verificationKeys, {
        issuer,
        typ: TYPE,
        algorithms: ['RS256'],
        requiredClaims: REQUIRED_CLAIMS,
        currentDate: new Date(time),
      });
      const claims = payload as unknown as AccessTokenClaims;
      if (!hasForm(claims)) return undefined;
      // A user's token needs no check of its lifetime: it ends with its record.
      if (!isPossible(claims.aud, isMachineToken(claims) ? claims.exp - claims.iat : 0)) return undefined;
      // Shared between callers, so it is frozen.
      Object.freeze(claims.aud);
      verified.set(jwt, Object.freeze(claims));
      return isCurrent(claims, time) ? claims : undefined;
    } catch (error) {
      // Only "this token is bad" may become undefined; anything else is a fault and must be seen.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  return {
    issuer,
    /** Compact JWS, RS256, `typ: at+jwt`. `extra` can add claims, never replace one. */
    sign: (claims: Omit<AccessTokenClaims, 'iss'>, extra?: Readonly<Record<string, unknown>>) =>
      signPayload({ ...extra, iss: issuer, ...claims }),
    verify,
  };
}

/**
 * Measures signatures, and signs only while `maySign`: a node that couldn't confirm its keys for too long may have a key that the others
 * have removed. `sign` throws StoreUnavailable.
 */
export function signOnlyWhile(
  maySign: () => boolean,
  tokens: AccessTokens,
  metrics: Pick<Metrics, 'observe'>,
): AccessTokens {
  return {
    ...tokens,
    async sign(claims, extra) {
      assertMaySign(maySign);
      const startedAt = performance.now();
      const jwt = await tokens.sign(claims, extra);
      metrics.observe('signature', startedAt);
      return jwt;
    },
  };
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * RFC 7515 §7.1, compact. jose would create the same text, but it copies and encodes the header and the claims each time: 35 us a token,
 * the largest cost after the signature itself (0.41 ms on the same machine).
 */
function createSigner(header: object, privateJwk: JWK) {
  const signData = createSignData('RS256', privateJwk);
  const encodedHeader = encode(header);
  return async function signPayload(payload: object): Promise<string> {
    const input = `${encodedHeader}.${encode(payload)}`;
    const signature = await signData(Buffer.from(input));
    return `${input}.${signature.toString('base64url')}`;
  };
}

export function assertMaySign(maySign: () => boolean): void {
  if (maySign()) return;
  throw new StoreUnavailable({ cause: new Error('the signing keys were not confirmed for too long') });
}

/**
 * RFC 7515 §2: base64url without padding, line breaks or stray bits. Decoders accept all that in the signature, the only part that isn't
 * signed; a second spelling would slip past code that compares or counts tokens.
 */
function hasOneSpelling(jwt: string): boolean {
  const signature = jwt.slice(jwt.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** Whether the token is a client's own: its subject is the client, whose id is never a user's (`usr_…`). */
export const isMachineToken = ({ sub, client_id: clientId }: AccessTokenClaims) => sub === clientId;
