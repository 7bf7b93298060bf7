// Signing keys of several algorithms: each client's ID tokens and logout tokens in its own, access tokens in RS256, through rotations.
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateByHand } from '../../src/keys/ring-actions.ts';
import { type Node, startNode, withKeys } from '../keys/nodes.ts';
import { signIn, type SignedIn } from '../world/app.ts';
import { HOUR, moveClock, standingClock } from '../world/clock.ts';
import { startLogoutReceiver } from '../world/logout-receiver.ts';
import { get } from '../world/requests.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { refresh } from '../world/token-endpoint.ts';
import { API, GENEROUS } from '../world/world.ts';

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/** Each client and what it wants. */
const APPS = [
  ['web', 'EdDSA'],
  ['web2', 'ES256'],
  ['post', 'PS256'],
  ['spa', 'RS256'],
] as const;
/** RFC 7518 §6.2.1 and §6.3.1, RFC 8037 §2. */
const MEMBERS: Readonly<Record<string, string>> = {
  RS256: 'alg,e,kid,kty,n,use',
  PS256: 'alg,e,kid,kty,n,use',
  ES256: 'alg,crv,kid,kty,use,x,y',
  EdDSA: 'alg,crv,kid,kty,use,x',
};

type Jwk = Readonly<Record<string, string>> & { readonly kid: string; readonly alg: string };

async function keySet(node: Node): Promise<readonly Jwk[]> {
  const { body } = await get(node, '/oauth/jwks.json');
  return body['keys'] as Jwk[];
}

const receiver = await startLogoutReceiver();
afterAll(() => receiver.stop());

const config = {
  ...GENEROUS,
  outgoing: receiver.outgoing,
  signing_keys: { algorithms: ALGORITHMS, rotate_every: '8h', publish_ahead: '2h' },
  clients: receiver.clients(...APPS.map(([client]) => client)).map((client) => {
    const alg = new Map<string, string>(APPS).get(client.client_id);
    return { ...client, ...(alg && { id_token_signed_response_alg: alg }) };
  }),
};

describe.each(['lmdb', 'redis'] as const)('keys of four algorithms, on %s', (engine) => {
  standingClock();
  let redis: RedisServer | undefined;
  let node: Node;
  beforeAll(async () => {
    redis = engine === 'redis' ? await startRedis() : undefined;
    node = await startNode({ config, ...(redis && { store: redis.url }) });
  });
  afterAll(async () => {
    await node.stop();
    await redis?.stop();
  });

  /** Each token by the keys that are published now, the first of its algorithm. */
  async function expectSigned(
    tokens: readonly (readonly [jwt: unknown, alg: string, audience?: string])[],
  ): Promise<readonly string[]> {
    const keys = await keySet(node);
    for (const key of keys) expect(Object.keys(key).toSorted().join()).toBe(MEMBERS[key.alg]);
    const verify = createLocalJWKSet({ keys: [...keys] });
    return Promise.all(
      tokens.map(async ([jwt, alg, audience = API]) => {
        const { protectedHeader } = await jwtVerify(String(jwt), verify, { issuer: node.issuer, audience });
        expect(protectedHeader).toMatchObject({ alg, kid: keys.find((key) => key.alg === alg)?.kid });
        return protectedHeader.kid ?? '';
      }),
    );
  }

  it('the first key of each signs at once, and then one more is published', async () => {
    expect((await keySet(node)).map(({ alg }) => alg)).toEqual(['RS256', ...ALGORITHMS]);
    const { tokens } = await signIn(node);
    expect(decodeProtectedHeader(tokens.id_token ?? '').alg).toBe('EdDSA');
    await node.turn();
    expect((await keySet(node)).map(({ alg }) => alg)).toEqual(ALGORITHMS.flatMap((alg) => [alg, alg]));
    const { body } = await get(node, '/.well-known/openid-configuration');
    expect(body['id_token_signing_alg_values_supported']).toEqual(ALGORITHMS);
  });

  it('PR-41: signs in each client’s algorithm through two rotations, each kid published', async () => {
    const apps = await Promise.all(
      APPS.map(async ([client, alg]) => ({ client, alg, signedIn: await signIn(node, { client }) })),
    );
    const latest = new Map(apps.map(({ client, signedIn }) => [client, signedIn.tokens]));
    const signers = new Set<string>();
    for (let rotation = 0; rotation < 3; rotation += 1) {
      for (const { client, alg } of apps) {
        const { body } = await refresh(node, latest.get(client)?.refresh_token, {}, client);
        latest.set(client, body as SignedIn['tokens']);
        const kids = await expectSigned([
          [body['id_token'], alg, client],
          [body['access_token'], 'RS256'],
        ]);
        for (const kid of kids) signers.add(kid);
      }
      await withKeys(node, ({ keyStore }) => rotateByHand(keyStore, () => Date.now()));
      await node.turn();
      moveClock(2 * HOUR);
      await node.turn();
    }
    for (const { client, alg, signedIn } of apps) {
      const hint = latest.get(client)?.id_token ?? '';
      const page = await signedIn.browser.open(`${node.issuer}/oauth/logout?id_token_hint=${hint}`);
      await signedIn.browser.submit(page, '/oauth/logout/confirm', { logout: 'yes' });
      const [logout] = await receiver.wait(decodeJwt(hint)['sid']);
      await expectSigned([[logout?.token, alg, client]]);
    }
    expect(signers.size).toBe(3 * ALGORITHMS.length);
  });
});
