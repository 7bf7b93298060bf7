// What the service says it can do, and nothing else.
import { describe, expect, it } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { newBrowser } from '../world/person.ts';
import { get, post } from '../world/requests.ts';
import { useWorld } from '../world/each-store.ts';

const world = useWorld({ issuer: 'https://id.example/auth' });

describe('CF-06: discovery', () => {
  it('CF-06: is what is offered and nothing else', async () => {
    const answer = await get(world(), '/.well-known/openid-configuration');
    const base = 'https://id.example/auth';
    expect(answer.body).toEqual({
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      userinfo_endpoint: `${base}/oauth/userinfo`,
      jwks_uri: `${base}/oauth/jwks.json`,
      introspection_endpoint: `${base}/oauth/introspect`,
      revocation_endpoint: `${base}/oauth/revoke`,
      end_session_endpoint: `${base}/oauth/logout`,
      scopes_supported: ['openid', 'email', 'profile', 'offline_access'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      subject_types_supported: ['public'],
      authorization_response_iss_parameter_supported: true,
      request_uri_parameter_supported: false,
      claims_supported: `sub email email_verified name family_name given_name middle_name nickname
        preferred_username profile picture website gender birthdate zoneinfo locale updated_at sid auth_time
        iss`.split(/\s+/),
    });
  });

  it('CF-06: what is not offered is not there either', async () => {
    const routes = `/oauth/par /oauth/request /request /oauth/device /device /device/auth /oauth/reg
      /reg /register /backchannel /challenge /credential /token /auth /me /jwks /session/end /reset
      /webauthn /.well-known/webfinger /.well-known/openid-credential-issuer /healthz /readyz /metrics /try`.split(
      /\s+/,
    );
    for (const route of routes) {
      expect((await get(world(), route)).status, route).toBe(404);
    }
  });

  it('LG-20, LG-41, LG-42, LG-44, IN-17, LO-14: of what is not built yet nothing can be reached', async () => {
    const routes = '/forgot /forgot-password /reset-password /recover /signup /totp /otp /mfa'.split(' ');
    for (const route of routes) {
      expect((await get(world(), route)).status, route).toBe(404);
      expect((await post(world(), route, { email: 'a@x\r\nBcc: b@y' })).status, route).toBe(404);
    }
    for (const step of ['reset', 'totp', 'otp', 'recovery', 'passkey', 'webauthn', 'register']) {
      expect((await post(world(), `/interaction/abc/${step}`, {})).status, step).toBe(404);
    }
    const discovery = (await get(world(), '/.well-known/openid-configuration')).text;
    expect(discovery).not.toMatch(/backchannel|frontchannel|acr_values|amr/);
    const page = await newBrowser(world()).open(authorizationUrl(world()));
    expect(page.text).toMatch(/name="password"/);
    expect(page.text).not.toMatch(/forgot|one-time|webauthn/i);
  });

  it('CF-06: the keys have the members of the specification and no private one', async () => {
    const { keys } = (await get(world(), '/oauth/jwks.json')).body as { keys: Record<string, string>[] };
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
      expect(key).toMatchObject({ alg: 'RS256', kty: 'RSA', use: 'sig' });
    }
  });
});
