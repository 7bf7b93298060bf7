import { describe, expect, it } from 'vitest';
import { vetClientDocument } from '../../../src/features/client-documents/vet.ts';

const CLIENT_ID = 'https://docs.example/client.json';
const SCOPE = ['openid', 'offline_access', 'mcp.tools'];

const GOOD = {
  client_id: CLIENT_ID,
  client_name: 'Example editor',
  redirect_uris: ['https://docs.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};

type Sent = { readonly contentType?: string | undefined; readonly body?: string; readonly clientId?: string };

function vet(changes: Readonly<Record<string, unknown>> = {}, sent: Sent = {}) {
  const { contentType, body, clientId } = {
    contentType: 'application/json',
    body: JSON.stringify({ ...GOOD, ...changes }),
    clientId: CLIENT_ID,
    ...sent,
  };
  return vetClientDocument({ clientId, contentType, body: Buffer.from(body) }, SCOPE);
}

/** Returns the client of a document that must be valid. */
function accepted(...given: Parameters<typeof vet>) {
  const result = vet(...given);
  if ('refused' in result) throw new Error(result.refused);
  return result.client;
}

/** Returns the reason why a document is rejected. */
function refusal(...given: Parameters<typeof vet>): string {
  const result = vet(...given);
  return 'refused' in result ? result.refused : 'nothing is wrong';
}

describe('the document of a client', () => {
  it('becomes a public client that asks users and has PKCE', () => {
    expect(accepted()).toMatchObject({
      clientId: CLIENT_ID,
      clientName: 'Example editor',
      redirectUris: ['https://docs.example/callback'],
      grantTypes: ['authorization_code', 'refresh_token'],
      tokenEndpointAuthMethod: 'none',
      applicationType: 'web',
      requirePkce: true,
      consent: 'explicit',
      scopes: SCOPE,
      secrets: [],
    });
  });

  it('needs nothing but client_id and redirect_uris', () => {
    const body = JSON.stringify({ client_id: CLIENT_ID, redirect_uris: GOOD.redirect_uris });
    expect(accepted({}, { body })).toMatchObject({
      grantTypes: ['authorization_code'],
      // Only clients with refresh_token may get offline access.
      scopes: ['openid', 'mcp.tools'],
    });
  });

  it.each([
    [
      'an assistant that prefers assertions and can do without',
      {
        client_uri: 'https://docs.example/',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
        token_endpoint_auth_signing_alg: 'RS256',
        jwks_uri: 'https://docs.example/oauth/jwks.json',
        response_types: ['code'],
      },
      'web',
    ],
    [
      'an assistant with more grants than it needs here',
      {
        client_uri: 'https://docs.example',
        grant_types: [...GOOD.grant_types, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
        response_types: ['code'],
      },
      'web',
    ],
    [
      'an editor, on the web and on the device',
      {
        redirect_uris: ['https://docs.example/redirect', 'http://127.0.0.1/', 'http://localhost:33418/'],
        grant_types: [...GOOD.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
        application_type: 'native',
      },
      'native',
    ],
  ])('is taken as well-known apps publish it: %s', (_, changes, applicationType) => {
    expect(accepted(changes)).toMatchObject({
      applicationType,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['authorization_code', 'refresh_token'],
    });
  });

  it('may have null for what it leaves out', () => {
    const empty = { client_uri: null, scope: null, jwks: null, application_type: null };
    expect(accepted(empty)).toEqual(accepted());
  });

  it.each([
    ['[]', 'no JSON object'],
    ['"text"', 'no JSON object'],
    ['{"client_id":', 'no JSON object'],
    ['', 'no JSON object'],
    [`\uFEFF${JSON.stringify(GOOD)}`, 'no JSON object'],
    [JSON.stringify(GOOD).replace('{', '{"client_name":"Another",'), 'a member twice'],
    [JSON.stringify(GOOD).replace('{', String.raw`{"client\u005fname":"Another",`), 'a member twice'],
    [JSON.stringify(GOOD).replace('{', '{"jwks":{"keys":[{"kty":"EC","kty":"RSA"}]},'), 'a member twice'],
    [JSON.stringify(GOOD).replace('{', '{"__proto__":{"scope":"openid"},'), '__proto__'],
    [JSON.stringify({ ...GOOD, x: [[[[[[1]]]]]] }), 'more than 6 deep'],
    [`${JSON.stringify(GOOD)}${' '.repeat(5120)}`, 'more than 5120 bytes'],
  ])('is refused where the body is %.20j', (body, words) => {
    expect(refusal({}, { body })).toContain(words);
  });

  it('may have the same member in two objects, and braces and colons in texts', () => {
    const jwks = { keys: [{ kty: 'EC', x5c: ['{"d":"["}'] }, { kty: 'EC' }] };
    expect(accepted({ jwks, client_name: 'A {b}: "c' }).clientName).toBe('A {b}: "c');
  });

  it.each(['d', 'p', 'k', 'oth'])('is refused with a private key: %s', (member) => {
    const jwks = {
      keys: [
        { kty: 'RSA', e: 'AQAB' },
        { kty: 'EC', [member]: 'canary-8f2k' },
      ],
    };
    expect(refusal({ jwks })).toBe('jwks: has a private key');
  });

  it('may have 5,120 bytes', () => {
    const text = JSON.stringify(GOOD);
    expect(accepted({}, { body: text + ' '.repeat(5120 - text.length) })).toEqual(accepted());
    expect(refusal({}, { body: text + ' '.repeat(5121 - text.length) })).toContain('5120 bytes');
  });

  it.each([
    [{ redirect_uris: undefined }, 'redirect_uris: authorization_code requires at least one'],
    [{ redirect_uris: 'https://docs.example/cb' }, 'redirect_uris: must be a list, not text'],
    [{ redirect_uris: [7] }, 'redirect_uris[0]: must be text'],
    [{ client_name: 'Bank\u202Egnp.exe' }, 'client_name: must not contain control characters'],
    [{ application_type: 'service' }, 'application_type: must be one of web, native'],
    [{ response_types: ['token'] }, 'response_types: must have code'],
    [{ response_types: 'code' }, 'response_types: must have code'],
    [{ scope: ['openid'] }, 'scope: must be text'],
  ])('is refused with %j', (changes, words) => {
    expect(refusal(changes)).toContain(words);
  });

  it('AC-32: is never implicit, and may ask for lasting access where it has refresh_token', () => {
    expect(accepted({ consent: 'implicit' }).consent).toBe('explicit');
    expect(accepted({ scope: 'mcp.tools' }).scopes).toEqual(['offline_access', 'mcp.tools']);
    const once = { scope: 'mcp.tools offline_access', grant_types: ['authorization_code'] };
    expect(accepted(once).scopes).toEqual(['mcp.tools']);
  });
});

describe('MC-13: the content type of a document', () => {
  const OTHER_TYPES = [
    'text/html',
    undefined,
    'image/svg+xml',
    'text/plain',
    'application/jsonp',
    'text/json',
    '',
  ];
  it.each(OTHER_TYPES)('is refused when it is %j', (contentType) => {
    expect(refusal({}, { contentType })).toContain('Content-Type');
  });

  it.each([
    'application/json; charset=utf-8',
    'application/foo+json',
    'Application/JSON',
    'application/json;x',
  ])('may be %s', (contentType) => {
    expect(accepted({}, { contentType })).toEqual(accepted());
  });
});

describe('MC-18: a document that gives itself rights', () => {
  it('has the scopes and grants that such clients may have', () => {
    const greedy = accepted({
      scope: 'openid admin mcp.admin mcp.tools',
      grant_types: ['authorization_code', 'client_credentials', 'implicit'],
      consent: 'implicit',
      require_pkce: false,
      id_token_signed_response_alg: 'none',
      id_token_claims: 'full',
      allowed_cors_origins: ['https://evil.example'],
      rate_limits: { token: '9999999/1s' },
      default_scope: 'mcp.admin',
      access: { groups: ['staff'] },
      backchannel_logout_uri: 'https://evil.example/logout',
      response_modes: ['form_post', 'fragment'],
      initiate_login_uri: 'https://evil.example/',
    });
    const modest = accepted({ scope: 'openid mcp.tools', grant_types: ['authorization_code'] });
    expect(greedy).toEqual(modest);
    expect(greedy).toMatchObject({
      scopes: ['openid', 'mcp.tools'],
      grantTypes: ['authorization_code'],
      idTokenClaims: 'minimal',
      rateLimits: {},
    });
  });

  it.each([
    [{ grant_types: ['client_credentials'] }, 'grant_types'],
    [{ grant_types: ['refresh_token'] }, 'grant_types'],
    [{ grant_types: 'authorization_code' }, 'grant_types'],
    [{ scope: 'admin mcp.admin' }, 'scope'],
    [{ scope: '' }, 'scope'],
  ])('is refused where nothing is left of it: %j', (changes, field) => {
    expect(refusal(changes)).toMatch(new RegExp(`^${field}: `));
  });
});

describe('MC-19: addresses inside a document', () => {
  it('are dropped where something would be loaded from them', () => {
    const loaded = {
      logo_uri: 'https://10.0.0.5/logo.png',
      sector_identifier_uri: 'https://10.0.0.5/sector',
      request_uris: ['https://10.0.0.5/request'],
      jwks_uri: 'https://10.0.0.5/jwks',
    };
    expect(accepted(loaded)).toEqual(accepted());
  });

  it.each(['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'])('require an https URL: %s', (key) => {
    for (const value of ['javascript:alert(1)', 'http://docs.example/', 'data:text/html,x', '//x', 7, {}])
      expect(refusal({ [key]: value }), JSON.stringify(value)).toBe(`${key}: must be an https URL`);
  });
});
