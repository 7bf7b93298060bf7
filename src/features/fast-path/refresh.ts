// The answer to a plain, correct refresh by a client with a secret. It reads and issues the engine's own models, in the steps of the
// engine's refresh_token grant. The engine's answer is the reference: test/features/fast-path compares the two.
import { errors } from 'oidc-provider';
import type Provider from 'oidc-provider';
import type { Client } from '../../config/config.ts';
import { originOf } from '../../observability/audit.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { User } from '../../users/user.ts';
import { recordIssued, UNCONFIRMED } from '../../oidc/engine-events.ts';
import type { EngineApp } from '../../oidc/provider.ts';
import { issuedWithGrant } from '../../oidc/seam/session-sign-in.ts';
import { asOneRequest, type FastAnswer, leaveToEngine, peekRequest } from './plain-request.ts';

/** The engine answers requests with `scope` or `resource`. */
const FIELDS = new Set(['grant_type', 'refresh_token', 'client_id', 'client_secret']);
const GRANT_TYPE = 'refresh_token';

type RefreshToken = InstanceType<Provider['RefreshToken']>;
type PlainToken = RefreshToken & { grantId: string; gty: string; scope: string };
type Grant = InstanceType<Provider['Grant']>;
type EngineClient = InstanceType<Provider['Client']>;
/** Everything that is checked before the token is used up. */
type Found = Readonly<{
  old: PlainToken;
  grant: Grant;
  account: User;
  client: EngineClient;
  settings: Client;
}>;

export function fastRefresh(parts: EngineApp): FastAnswer {
  const { provider, config, audit, maySign, records } = parts;
  // An API whose tokens have claims of the user needs the engine's request.
  const isPlainService = config.resources.every(({ accessTokenClaims }) => accessTokenClaims.length === 0);

  async function issue(found: Found) {
    const { old, grant, client } = found;
    const { accountId, grantId, expiresWithSession, sessionUid, sid } = old;
    await old.consume();
    const gty = withRefresh(old.gty);
    const ofBoth = { client, accountId, grantId, expiresWithSession, sessionUid, sid, gty };
    const { acr, amr, authTime, claims, iiat, nonce, scope, rotations = 0 } = old;
    const ofSignIn = { acr, amr, authTime, claims, iiat, nonce, scope };
    const next = new provider.RefreshToken({ ...ofBoth, ...ofSignIn, rotations: rotations + 1 });
    const refreshToken = await next.save();
    const token = new provider.AccessToken(ofBoth);
    token.claims = claims;
    token.scope = grant.getOIDCScopeFiltered(next.scopes);
    // `source` provides its claims outside the engine's requests.
    const jwt = await Object.assign(token, { source: next }).save();
    return { refreshToken, token, jwt, idToken: await issueIdToken(parts, found, next) };
  }

  return async function answerRefresh(request, state) {
    const from = { endpoint: 'token', address: state.clientAddress } as const;
    const plain = isPlainService && maySign() ? peekRequest(parts, request, FIELDS, from) : undefined;
    if (plain?.form['grant_type'] !== GRANT_TYPE || !plain.client.grantTypes.includes(GRANT_TYPE))
      return undefined;
    const { form, client, count } = plain;
    try {
      return await asOneRequest(parts, async () => {
        const found = await find(parts, client, form['refresh_token']).catch(leaveToEngine);
        if (found === undefined) return undefined;
        await count();
        const { token, jwt, refreshToken, idToken } = await issue(found);
        const { accountId, scope, jti } = token;
        const who = { client_id: client.clientId, account_id: accountId };
        const issued = { ...who, grant_type: GRANT_TYPE, scope, token_id: jti };
        records.afterwards(() => recordIssued(audit, state, issued));
        return {
          access_token: jwt,
          expires_in: token.expiration,
          id_token: idToken,
          refresh_token: refreshToken,
          scope,
          token_type: token.tokenType,
        };
      });
    } catch (error) {
      // Another request used the token meanwhile, which ended its family. The engine answers that.
      if (error instanceof errors.InvalidGrant) return undefined;
      // Recorded like the engine's failures.
      if (error instanceof StoreUnavailable && error.mayBeDone)
        audit.record('token_issued', 'failure', {
          ...originOf(state),
          client_id: client.clientId,
          grant_type: GRANT_TYPE,
          endpoint: from.endpoint,
          reason: UNCONFIRMED,
        });
      throw error;
    }
  };
}

/** Resolves undefined if the engine must answer, or anything is unusual. */
async function find(
  { provider, findLive, findRefusal, guard }: EngineApp,
  settings: Client,
  value: string | undefined,
): Promise<Found | undefined> {
  const { clientId } = settings;
  const old = await provider.RefreshToken.find(value ?? '');
  if (!isPlain(old) || old.clientId !== clientId) return undefined;
  const grant = await provider.Grant.find(old.grantId);
  if (grant?.clientId !== clientId || grant.accountId !== old.accountId) return undefined;
  const account = await findLive(old.accountId, issuedWithGrant(grant));
  const client = await provider.Client.find(clientId);
  if (account === undefined || client === undefined) return undefined;
  const refusal = findRefusal({ client: settings, scopes: [...old.scopes], isForUser: true });
  const { scope } = old;
  if (refusal !== undefined || !(await guard.sees(account, old)) || old.scope !== scope) return undefined;
  return { old, grant, account, client, settings };
}

/** Whether the token is unused, and for no API in particular. */
function isPlain(token: RefreshToken | undefined): token is PlainToken {
  const { consumed, resource, grantId, gty, scope, claims = {} } = token ?? {};
  const isWhole = [grantId, gty, scope].every(Boolean);
  return (
    token !== undefined && isWhole && (consumed ?? resource) === undefined && Object.keys(claims).length === 0
  );
}

const withRefresh = (gty: string) => (gty.endsWith(GRANT_TYPE) ? gty : `${gty} ${GRANT_TYPE}`);

async function issueIdToken(
  { provider, claims }: EngineApp,
  { grant, account, client, settings }: Found,
  { scopes, acr, amr, authTime, nonce, sid }: RefreshToken,
): Promise<string | undefined> {
  if (!scopes.has('openid')) return undefined;
  // OIDC Core §5.4: the access token works at userinfo, which has the claims.
  const disclosed =
    settings.idTokenClaims === 'full'
      ? claims.inIdToken(claims.forClient(account, settings.clientId), [...scopes].join(' '))
      : {};
  const available = { ...disclosed, sub: account.id, acr, amr, auth_time: authTime };
  const token = new provider.IdToken(available, { client });
  Object.assign(token, {
    scope: grant.getOIDCScopeFiltered(scopes),
    mask: {},
    rejected: grant.getRejectedOIDCClaims(),
  });
  token.set('nonce', nonce);
  token.set('sid', sid);
  return token.issue({ use: 'idtoken' });
}
