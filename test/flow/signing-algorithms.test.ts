// ID tokens in the algorithm that a client names, and the key set with a family of keys for each.
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { expect, it } from 'vitest';
import { signIn } from '../world/app.ts';
import { eachStore } from '../world/each-store.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { get } from '../world/requests.ts';
import { type OpenWorld, worldClients } from '../world/world.ts';

const MEMBERS = {
  RS256: 'alg,e,kid,kty,n,use',
  PS256: 'alg,e,kid,kty,n,use',
  ES256: 'alg,crv,kid,kty,use,x,y',
  EdDSA: 'alg,crv,kid,kty,use,x',
} as const;
const ALL = Object.keys(MEMBERS);
const OPTIONS = {
  config: {
    signing_keys: { algorithms: ALL },
    clients: worldClients({
      web2: { id_token_signed_response_alg: 'ES256' },
      post: { id_token_signed_response_alg: 'EdDSA' },
      spa: { id_token_signed_response_alg: 'PS256' },
    }),
  },
};

async function keySetOf(world: OpenWorld): Promise<JSONWebKeySet> {
  return JSON.parse((await get(world, '/oauth/jwks.json')).text) as JSONWebKeySet;
}

eachStore(
  'several algorithms',
  (place) => {
    it('PR-41: shows each family with its own members, the active key first', async () => {
      const { keys } = await keySetOf(place());
      expect([...new Set(keys.map(({ alg }) => alg))]).toEqual(ALL);
      for (const key of keys) {
        expect(Object.keys(key).toSorted().join()).toBe(MEMBERS[key.alg as keyof typeof MEMBERS]);
      }
      const discovery = await get(place(), '/.well-known/openid-configuration');
      expect(discovery.body['id_token_signing_alg_values_supported']).toEqual(ALL);
    });

    it.each([
      ['web', 'RS256'],
      ['spa', 'PS256'],
      ['web2', 'ES256'],
      ['post', 'EdDSA'],
    ] as const)('PR-41: signs ID tokens of %s by %s, and access tokens by RS256', async (client, alg) => {
      const world = place();
      const keySet = await keySetOf(world);
      // openid-client has verified it already, by the header's own algorithm.
      const { tokens } = await signIn(world, { client });
      const { protectedHeader } = await jwtVerify(tokens.id_token ?? '', createLocalJWKSet(keySet));
      expect(protectedHeader).toEqual({ alg, kid: keySet.keys.find((key) => key.alg === alg)?.kid });
      expect(decodeProtectedHeader(tokens.access_token).alg).toBe('RS256');
      expect((await userinfo(world, tokens.access_token)).status).toBe(200);
    });
  },
  OPTIONS,
);
