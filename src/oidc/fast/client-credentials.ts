// The short way for the commonest request of all: a plain, correct client_credentials request. It only says yes; whatever
// is unusual or wrong goes to the engine untouched, so no refusal, status or header is written twice. The engine's own
// answer is the reference, and test/flow/plain-client-credentials.test.ts compares the two.
import { randomFillSync } from 'node:crypto';
import type { Client } from '../../config/config.ts';
import type { Clock } from '../../store/store.ts';
import type { Audit } from '../../observability/audit.ts';
import type { AccessTokens } from '../../tokens/access-token.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import { recordIssued } from '../audit-trail.ts';
import type { SecretComparison } from '../client-authentication.ts';
import { credentialsOf, peekForm } from './plain-form.ts';
import type { FindRefusal } from '../policies/scopes.ts';
import type { RequestState, ShortWay } from './fast-answer.ts';

const FIELDS = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);
/** As the engine's own token ids: 256 bits. */
const TOKEN_ID_BYTES = 32;
/** Random bytes are fetched for so many tokens at a time: one by one they are dearer than all else that an id costs. */
const IDS_AT_ONCE = 128;

export type PlainClientCredentialsParts = {
  readonly findClient: (clientId: string) => Client | undefined;
  readonly secrets: SecretComparison;
  readonly tokens: AccessTokens;
  readonly audiences: AudienceRules;
  readonly findRefusal: FindRefusal;
  readonly now: Clock;
  readonly audit: Audit;
  readonly maySign: () => boolean;
};

export function plainClientCredentials(parts: PlainClientCredentialsParts): ShortWay {
  const { findClient, findRefusal, secrets, tokens, audiences, now, audit, maySign } = parts;

  const nextId = createTokenIds();

  async function issue(clientId: string, scopes: readonly string[], state: RequestState) {
    const scope = scopes.length > 0 ? scopes.join(' ') : undefined;
    const audience = audiences.audienceOf(scopes);
    const lifetime = audiences.lifetimeOf(audience);
    const iat = Math.floor(now() / 1000);
    const jti = nextId();
    const jwt = await tokens.sign({
      sub: clientId,
      aud: audience,
      exp: iat + lifetime,
      iat,
      jti,
      client_id: clientId,
      scope,
    });
    recordIssued(audit, state, { clientId, grantType: 'client_credentials', scope, tokenId: jti });
    // RFC 6749 §5.1
    return { access_token: jwt, expires_in: lifetime, scope, token_type: 'Bearer' };
  }

  return async function answerClientCredentials(request, state) {
    const form = maySign() ? peekForm(request, FIELDS) : undefined;
    const credentials =
      form?.['grant_type'] === 'client_credentials' ? credentialsOf(request, form) : undefined;
    if (credentials === undefined) return undefined;
    const { clientId, secret } = credentials;
    const client = findClient(clientId);
    const scopes = plainScopes(form?.['scope']);
    if (client === undefined || scopes === undefined || !mayAskForItself(client)) return undefined;
    if (findRefusal({ client, scopes, isForPerson: false }) !== undefined) return undefined;
    // A secret that is wrong, or slow to compare, is the engine's to refuse, and is counted there.
    const from = { endpoint: 'token', address: state.clientAddress } as const;
    const count = secrets.comparePlain(from, client, secret);
    if (count === undefined) return undefined;
    return async () => {
      await count();
      return issue(clientId, scopes, state);
    };
  };
}

function createTokenIds(): () => string {
  const pool = Buffer.alloc(TOKEN_ID_BYTES * IDS_AT_ONCE);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += TOKEN_ID_BYTES;
    return pool.toString('base64url', used - TOKEN_ID_BYTES, used);
  };
}

function mayAskForItself({ grantTypes, tokenEndpointAuthMethod }: Client): boolean {
  return tokenEndpointAuthMethod !== 'none' && grantTypes.includes('client_credentials');
}

/** The requested scopes, each named once; undefined when the engine has something to say. */
function plainScopes(requested: string | undefined): readonly string[] | undefined {
  if (requested === undefined) return [];
  const names = requested.split(' ');
  return names.includes('') || new Set(names).size < names.length ? undefined : names;
}
