import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { introspect, signIn, userinfo } from '../world/flows.ts';
import { API, PEOPLE, startWorld, type World } from '../world/world.ts';

describe('the authorization-code flow with PKCE', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world.stop());

  it('signs a person in through openid-client and gives one token for the API and for userinfo', async () => {
    const { tokens } = await signIn(world);
    expect(tokens.token_type).toBe('bearer');
    expect(tokens.refresh_token).toMatch(/^[\w-]{43}$/);
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' });
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: world.issuer,
      sub: PEOPLE.alice,
      aud: [API, world.issuer],
      client_id: 'web',
      scope: 'openid email profile offline_access reports.read',
    });
    const keys = createRemoteJWKSet(new URL(`${world.issuer}/oauth/jwks.json`));
    await jwtVerify(tokens.access_token, keys, { issuer: world.issuer, audience: API, typ: 'at+jwt' });

    const claims = await userinfo(world, tokens.access_token);
    expect(claims.status).toBe(200);
    expect(claims.body).toMatchObject({ sub: PEOPLE.alice, email: 'alice@example.com', name: 'Alice Example' });
    expect(await introspect(world, tokens.access_token)).toMatchObject({ active: true, sub: PEOPLE.alice });
  });
});
