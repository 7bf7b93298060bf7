import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { get } from '../world/requests.ts';
import { raw } from '../world/raw.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const METADATA = '/.well-known/oauth-authorization-server';

describe('discovery', () => {
  const world = useWorld();
  const document = async () => (await get(world(), DISCOVERY)).body;

  it('Spec §4 GET /.well-known/openid-configuration: answers JSON without authentication', async () => {
    const answer = await get(world(), DISCOVERY);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it.each([
    ['issuer', ''],
    ['authorization_endpoint', '/oauth/authorize'],
    ['token_endpoint', '/oauth/token'],
    ['userinfo_endpoint', '/oauth/userinfo'],
    ['jwks_uri', '/oauth/jwks.json'],
    ['introspection_endpoint', '/oauth/introspect'],
    ['revocation_endpoint', '/oauth/revoke'],
    ['end_session_endpoint', '/oauth/logout'],
  ])('Spec §2 discovery document, %s: is {base_url}%s', async (field, path) => {
    expect((await document())[field]).toBe(`${world().issuer}${path}`);
  });

  it.each([
    ['scopes_supported', ['openid', 'email', 'profile', 'offline_access']],
    ['response_types_supported', ['code']],
    ['grant_types_supported', ['authorization_code', 'refresh_token', 'client_credentials']],
    ['id_token_signing_alg_values_supported', ['RS256']],
    ['code_challenge_methods_supported', ['S256']],
    ['token_endpoint_auth_methods_supported', ['client_secret_basic', 'client_secret_post', 'none']],
    ['subject_types_supported', ['public']],
    ['response_modes_supported', ['query']],
  ])('Spec §2 discovery document, %s: is exactly %j, in this order', async (field, values) => {
    expect((await document())[field]).toEqual(values);
  });

  it('names nothing that the service does not offer', async () => {
    expect(Object.keys(await document()).toSorted()).toEqual([
      'authorization_endpoint',
      'authorization_response_iss_parameter_supported',
      'claims_supported',
      'code_challenge_methods_supported',
      'end_session_endpoint',
      'grant_types_supported',
      'id_token_signing_alg_values_supported',
      'introspection_endpoint',
      'issuer',
      'jwks_uri',
      'request_uri_parameter_supported',
      'response_modes_supported',
      'response_types_supported',
      'revocation_endpoint',
      'scopes_supported',
      'subject_types_supported',
      'token_endpoint',
      'token_endpoint_auth_methods_supported',
      'userinfo_endpoint',
    ]);
    expect((await document())['request_uri_parameter_supported']).toBe(false);
    expect((await document())['authorization_response_iss_parameter_supported']).toBe(true);
  });

  it('does not advertise the scopes of resources', async () => {
    expect((await get(world(), DISCOVERY)).text).not.toMatch(/reports\.read|other\.read/);
  });

  it('is the same document at the address of RFC 8414', async () => {
    expect((await get(world(), METADATA)).text).toBe((await get(world(), DISCOVERY)).text);
  });

  it('Spec §8 clients cache discovery: it says for how long, and 304 to who has it', async () => {
    const first = await get(world(), DISCOVERY);
    expect(first.headers.get('cache-control')).toBe('public, max-age=300, must-revalidate');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    const ask = (known: string) =>
      raw(world().base, { target: DISCOVERY, headers: { 'if-none-match': known } });
    expect(await ask(etag)).toMatchObject({ status: 304, text: '' });
    expect(await ask('"other"')).toMatchObject({ status: 200, text: first.text });
  });

  it.each([
    ['a forged Host', { host: 'evil.example' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }],
    ['Forwarded', { forwarded: 'host=evil.example;proto=https' }],
    ['an Origin', { origin: 'https://evil.example' }],
  ])('is byte for byte the same with %s', async (_case, headers) => {
    const plain = await raw(world().base, { target: DISCOVERY });
    const odd = await raw(world().base, { target: DISCOVERY, headers });
    expect(odd.status).toBe(200);
    expect(odd.text).toBe(plain.text);
    expect(odd.headers['etag']).toBe(plain.headers['etag']);
  });

  it('answers HEAD with the headers alone and refuses POST', async () => {
    const head = await raw(world().base, { method: 'HEAD', target: DISCOVERY });
    expect([head.status, head.text]).toEqual([200, '']);
    const posted = await raw(world().base, { method: 'POST', target: DISCOVERY });
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});
