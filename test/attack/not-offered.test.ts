// PR-20 to PR-38: pushed requests, DPoP, client assertions and tokens of other issuers are not supported. With every feature
// that the configuration can enable, they have no endpoint, no effect and no setting.
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { ENDPOINT_TABLE, GRANT_TYPES } from '../../src/config/endpoints.ts';
import { loadConfig } from '../../src/config/load.ts';
import { signIn } from '../world/app.ts';
import { DEFAULT_SCOPE, REDIRECT_URIS, VERIFIER } from '../world/authorization-request.ts';
import { useWorld } from '../world/each-store.ts';
import { ask, complete, redirectOf } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import { get, post, textOf } from '../world/requests.ts';
import { ALL_ON } from '../world/switches.ts';
import { basic, clientCredentials } from '../world/token-endpoint.ts';
import { GENEROUS, SECRETS, WORLD_ENV, worldClients, writeWorldConfig } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';

const world = useWorld({
  config: {
    ...GENEROUS,
    account: true,
    sign_in: { passkeys: true, one_time_codes: true },
    signing_keys: { algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    features: ALL_ON,
  },
});

const keys = await generateKeyPair('ES256', { extractable: true });

/** Creates a valid DPoP proof (RFC 9449 §4.2). */
async function proof(htm: string, url: string, pair = keys): Promise<string> {
  return new SignJWT({ htm, htu: url, jti: crypto.randomUUID() })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: await exportJWK(pair.publicKey) })
    .setIssuedAt()
    .sign(pair.privateKey);
}

/** RFC 7523 §2.2 and §2.1: signed with the client's secret, or with a key that the assertion contains or names. */
async function assertion(audience: string, by: 'secret' | 'key' = 'secret'): Promise<string> {
  const claims = new SignJWT({ jti: crypto.randomUUID() })
    .setIssuer('web')
    .setSubject('web')
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('1m');
  if (by === 'secret')
    return claims.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(SECRETS.web));
  const named = { jwk: await exportJWK(keys.publicKey), jku: 'https://evil.example/jwks' };
  return claims.setProtectedHeader({ alg: 'ES256', ...named }).sign(keys.privateKey);
}

describe('what is not offered', () => {
  it('PR-20, PR-22, PR-32, PR-33, PR-37: has no endpoint, and discovery says nothing of it', async () => {
    for (const name of ['par', 'request', 'reg', 'register', 'backchannel', 'ciba', 'challenge', 'nonce']) {
      const answer = await post(world(), `/oauth/${name}`, {}, { authorization: basic('web') });
      expect(answer.status, name).toBe(404);
    }
    const { body } = await get(world(), '/.well-known/openid-configuration');
    const said = Object.keys(body).filter((member) =>
      /push|dpop|request_|mtls|tls_|registration|backchannel_(?:auth|token)|auth_signing_alg/.test(member),
    );
    // If absent, it would mean true (OpenID Connect Discovery §3).
    expect(said).toEqual(['request_uri_parameter_supported']);
    expect(body['request_uri_parameter_supported']).toBe(false);
    const methods = ['client_secret_basic', 'client_secret_post', 'none'];
    expect(body['token_endpoint_auth_methods_supported']).toEqual(methods);
    expect(body['grant_types_supported']).toEqual(GRANT_TYPES);
  });

  it('PR-20, PR-21, PR-22: takes no request from anywhere else', async () => {
    const wanted = { request_uri: 'urn:ietf:params:oauth:request_uri:abc' };
    expect(redirectOf(await ask(world(), wanted)).query['error']).toBe('request_uri_not_supported');
    const inJwt = { request: `${btoa('{"alg":"none"}').replaceAll('=', '')}.e30.` };
    expect(redirectOf(await ask(world(), inJwt)).query['error']).toBe('request_not_supported');
  });

  it('TK-27, PR-24, PR-26, PR-28, PR-29, PR-30: binds no token to a key, whatever is sent with the request', async () => {
    const url = `${world().issuer}/oauth/token`;
    const person = await signIn(world());
    const form = { grant_type: 'client_credentials' };
    for (const dpop of [
      await proof('POST', url),
      await proof('GET', 'https://evil.example/'),
      '',
      'nonsense',
    ]) {
      const headers = { authorization: basic('svc'), dpop };
      const { status, body } = await post(world(), '/oauth/token', form, headers);
      expect([status, body['token_type']]).toEqual([200, 'Bearer']);
      expect(decodeJwt(String(body['access_token']))['cnf']).toBeUndefined();
      const { cnf, token_type: type } = await introspect(world(), String(body['access_token']));
      expect([cnf, type]).toEqual([undefined, 'Bearer']);
    }
    const asDpop = {
      authorization: `DPoP ${person.tokens.access_token}`,
      dpop: await proof('GET', `${world().issuer}/oauth/userinfo`),
    };
    expect((await get(world(), '/oauth/userinfo', asDpop)).status).toBe(400);
  });

  it('PR-24, PR-30: takes a code and a refresh token with the proof of any key, once more, or without one', async () => {
    const url = `${world().issuer}/oauth/token`;
    const others = await generateKeyPair('ES256', { extractable: true });
    const wanted = { client_id: 'spa', prompt: 'consent', scope: DEFAULT_SCOPE };
    const bound = { ...wanted, dpop_jkt: await calculateJwkThumbprint(await exportJWK(keys.publicKey)) };
    const { code } = await complete(world(), 'alice', bound);
    const dpop = await proof('POST', url, others);
    let form: Record<string, string | undefined> = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URIS.spa,
      code_verifier: VERIFIER,
    };
    for (const headers of [{ dpop }, { dpop }, { dpop: await proof('POST', url) }, {}]) {
      const answer = await post(world(), '/oauth/token', { client_id: 'spa', ...form }, headers);
      expect([answer.status, answer.body['token_type']]).toEqual([200, 'Bearer']);
      expect(decodeJwt(textOf(answer, 'access_token'))['cnf']).toBeUndefined();
      form = { grant_type: 'refresh_token', refresh_token: textOf(answer, 'refresh_token') };
    }
  });

  it('TK-28, PR-32, PR-33, PR-34, PR-37: knows no assertion, of a client or of a workload', async () => {
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    for (const { path: endpoint } of ENDPOINT_TABLE.filter(({ caller }) => caller === 'client')) {
      for (const audience of [world().issuer, `${world().issuer}/oauth/token`]) {
        for (const by of ['secret', 'key'] as const) {
          const form = {
            grant_type: 'client_credentials',
            token: 'x',
            client_id: 'web',
            client_assertion_type: type,
            client_assertion: await assertion(audience, by),
          };
          const { status, body } = await post(world(), endpoint, form);
          expect([endpoint, status, body['error']]).toEqual([endpoint, 401, 'invalid_client']);
        }
      }
    }
    for (const grant of [
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'urn:openid:params:grant-type:ciba',
    ]) {
      const { status, body } = await clientCredentials(world(), {
        grant_type: grant,
        assertion: await assertion(world().issuer),
      });
      expect([status, body['error']], grant).toEqual([400, 'unsupported_grant_type']);
    }
  });

  describe('PR-20 to PR-38: in the file', () => {
    const folder = tempFolder();

    const refused = async (config: Readonly<Record<string, unknown>>): Promise<string> => {
      const { configFile } = await writeWorldConfig(folder, { config }, [1, 2]);
      const loading = loadConfig(configFile, { env: WORLD_ENV, writeKeys: false });
      return loading.then(
        () => 'it loads',
        (error: Error) => error.message,
      );
    };

    it.each([
      ['require_pushed_authorization_requests', true],
      ['dpop_bound_access_tokens', true],
      ['tls_client_certificate_bound_access_tokens', true],
      ['token_endpoint_auth_signing_alg', 'ES256'],
      ['jwks', { keys: [] }],
      ['jwks_uri', 'https://app.example/jwks'],
      ['request_uris', ['https://app.example/request']],
      ['trusts', [{ issuer: 'https://token.actions.example', subject: '*' }]],
    ])('a client has no %s', async (key, value) => {
      const message = await refused({ clients: worldClients({ web: { [key]: value } }) });
      expect(message).toContain(`unknown key "${key}"`);
    });

    const OTHER_METHODS = [
      'private_key_jwt',
      'client_secret_jwt',
      'tls_client_auth',
      'self_signed_tls_client_auth',
    ];
    it.each(OTHER_METHODS)('no client authenticates by %s', async (method) => {
      const clients = worldClients({ web: { token_endpoint_auth_method: method } });
      expect(await refused({ clients })).toContain('token_endpoint_auth_method');
    });

    it('CF-09: no client has a grant that does not exist', async () => {
      const clients = worldClients({ web: { grant_types: ['password'] } });
      expect(await refused({ clients })).toContain('grant_types');
    });

    it.each(['pushed_authorization_requests', 'dpop', 'token_exchange', 'ciba'])(
      'features has no %s',
      async (key) => {
        expect(await refused({ features: { [key]: true } })).toContain(`unknown key "${key}"`);
      },
    );
  });
});
