// Signing keys of several algorithms: each client's ID tokens in its own, access tokens in RS256, through rotations.
import {
  CompactSign,
  type CompactJWSHeaderParameters,
  createLocalJWKSet,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compromiseKey, rotateByHand } from '../../src/keys/ring-actions.ts';
import { KEYS_COLLECTION, RING_ID } from '../../src/keys/ring-document.ts';
import { FAST_KEYS, type Node, startNode, withKeys } from '../keys/nodes.ts';
import { machineToken, signIn, type SignedIn } from '../world/app.ts';
import { HOUR, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { introspect } from '../world/presented-tokens.ts';
import { get } from '../world/requests.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { refresh } from '../world/token-endpoint.ts';
import { API, GENEROUS, worldClients } from '../world/world.ts';
import { useStarted } from '../world/started.ts';

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/** Each client and its algorithm. */
const APPS = [
  ['web', 'EdDSA'],
  ['web2', 'ES256'],
  ['post', 'PS256'],
  ['spa', 'RS256'],
] as const;
/** Members of a public key (RFC 7518 §6.2.1 and §6.3.1, RFC 8037 §2). */
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

const rotate = (node: Node) => withKeys(node, ({ keyStore }) => rotateByHand(keyStore));

/** The status of a request with this hint; 200 if the hint is accepted. */
async function hinted(node: Node, hint: unknown): Promise<number> {
  return (await get(node, `/oauth/logout?id_token_hint=${String(hint)}`, { accept: 'text/html' })).status;
}

const config = {
  ...GENEROUS,
  signing_keys: { ...FAST_KEYS.signing_keys, algorithms: ALGORITHMS },
  clients: worldClients(
    Object.fromEntries(APPS.map(([client, alg]) => [client, { id_token_signed_response_alg: alg }])),
  ),
};

describe('keys of four algorithms', () => {
  standingClock();
  const node = useStarted(() => startNode({ config }));

  /** Expects each token to verify with the published keys, and to be signed by the first key of its algorithm. */
  async function expectSigned(
    tokens: readonly (readonly [jwt: unknown, alg: string, audience?: string])[],
  ): Promise<readonly string[]> {
    const keys = await keySet(node());
    for (const key of keys) expect(Object.keys(key).toSorted().join()).toBe(MEMBERS[key.alg]);
    const verify = createLocalJWKSet({ keys: [...keys] });
    return Promise.all(
      tokens.map(async ([jwt, alg, audience = API]) => {
        const { protectedHeader } = await jwtVerify(String(jwt), verify, { issuer: node().issuer, audience });
        expect(protectedHeader).toMatchObject({ alg, kid: keys.find((key) => key.alg === alg)?.kid });
        return protectedHeader.kid ?? '';
      }),
    );
  }

  it('the first key of each signs at once, and one more is published', async () => {
    const { tokens } = await signIn(node());
    expect(decodeProtectedHeader(tokens.id_token ?? '').alg).toBe('EdDSA');
    expect((await keySet(node())).map(({ alg }) => alg)).toEqual(ALGORITHMS.flatMap((alg) => [alg, alg]));
    const { body } = await get(node(), '/.well-known/openid-configuration');
    expect(body['id_token_signing_alg_values_supported']).toEqual(ALGORITHMS);
  });

  it('PR-41: signs in each client’s algorithm through two rotations, each kid published', async () => {
    const apps = await Promise.all(
      APPS.map(async ([client, alg]) => ({ client, alg, signedIn: await signIn(node(), { client }) })),
    );
    const latest = new Map(apps.map(({ client, signedIn }) => [client, signedIn.tokens]));
    const signers = new Set<string>();
    for (let rotation = 0; rotation < 3; rotation += 1) {
      for (const { client, alg } of apps) {
        const { body } = await refresh(node(), latest.get(client)?.refresh_token, {}, client);
        latest.set(client, body as SignedIn['tokens']);
        const kids = await expectSigned([
          [body['id_token'], alg, client],
          [body['access_token'], 'RS256'],
        ]);
        for (const kid of kids) signers.add(kid);
      }
      await rotate(node());
      await node().turn();
      moveClock(2 * HOUR);
      await node().turn();
      // The key has retired, but still verifies.
      for (const { id_token: idToken = '' } of latest.values()) {
        const { alg, kid } = decodeProtectedHeader(idToken);
        expect((await keySet(node())).find((key) => key.alg === alg)?.kid).not.toBe(kid);
        expect(await hinted(node(), idToken)).toBe(200);
      }
    }
    expect(signers.size).toBe(3 * ALGORITHMS.length);
  });

  it('IS-11: takes no hint and no access token by another algorithm or key of its own', async () => {
    const { tokens } = await signIn(node());
    const { active, others } = await withKeys(node(), async ({ keyStore }) =>
      keyStore.toKeySet(await keyStore.load()),
    );
    const keys = new Map<string, JWK>(
      [{ ...active, alg: 'RS256' }, ...others].map(({ alg, privateJwk }) => [alg, privateJwk]),
    );
    const forge = async (jwt: string, keyOf: string, header: CompactJWSHeaderParameters) => {
      const jwk = keys.get(keyOf) ?? {};
      const { alg, kid = String(jwk.kid), ...rest } = header;
      const key =
        alg === 'HS256' ? Buffer.from(String(jwk.x ?? jwk.n)) : await importJWK({ ...jwk, alg }, alg);
      const payload = Buffer.from(jwt.split('.')[1] ?? '', 'base64url');
      return new CompactSign(payload).setProtectedHeader({ alg, kid, ...rest }).sign(key);
    };
    const idToken = tokens.id_token ?? '';
    const kid = String(keys.get('EdDSA')?.kid);
    expect(await hinted(node(), await forge(idToken, 'EdDSA', { alg: 'EdDSA' }))).toBe(200);
    for (const [keyOf, alg] of [
      ['RS256', 'RS256'],
      ['PS256', 'PS256'],
      ['PS256', 'RS256'],
      ['RS256', 'PS256'],
      ['ES256', 'ES256'],
      ['EdDSA', 'Ed25519'],
      ['EdDSA', 'HS256'],
      ['RS256', 'HS256'],
    ] as const) {
      const what = `${alg} by the key of ${keyOf}`;
      expect(await hinted(node(), await forge(idToken, keyOf, { alg })), what).toBe(400);
      expect(await hinted(node(), await forge(idToken, keyOf, { alg, kid })), `${what}, kid`).toBe(400);
    }
    const typ = 'at+jwt';
    const good = await forge(tokens.access_token, 'RS256', { alg: 'RS256', typ });
    expect(await introspect(node(), good)).toMatchObject({ active: true });
    for (const [keyOf, alg] of [
      ['PS256', 'PS256'],
      ['PS256', 'RS256'],
      ['RS256', 'PS256'],
      ['ES256', 'ES256'],
      ['EdDSA', 'EdDSA'],
    ] as const) {
      for (const named of [undefined, active.kid]) {
        const header = { alg, typ, ...(named !== undefined && { kid: named }) };
        const forged = await forge(tokens.access_token, keyOf, header);
        expect(await introspect(node(), forged), `${alg} by the key of ${keyOf}`).toEqual({ active: false });
      }
    }
  });

  it('KY-19: a leaked key of one algorithm is out at once, and the others go on', async () => {
    for (const [client, alg] of APPS) {
      const { tokens } = await signIn(node(), { client });
      const idToken = tokens.id_token ?? '';
      const { kid: leaked = '' } = decodeProtectedHeader(idToken);
      const before = await keySet(node());
      const heir = before.filter((key) => key.alg === alg)[1]?.kid;
      await withKeys(node(), ({ keyStore }) => compromiseKey(keyStore, leaked));
      await node().turn();
      expect(await hinted(node(), idToken)).toBe(400);
      const after = await keySet(node());
      expect(after.find((key) => key.alg === alg)?.kid).toBe(heir);
      expect(after.map(({ kid }) => kid)).not.toContain(leaked);
      expect(after.filter((key) => key.alg !== alg)).toEqual(before.filter((key) => key.alg !== alg));
      const fresh = await signIn(node(), { client });
      expect(decodeProtectedHeader(fresh.tokens.id_token ?? '')).toEqual({ alg, kid: heir });
      expect(await hinted(node(), fresh.tokens.id_token)).toBe(200);
    }
  });
});

describe('algorithms that come and go, at two nodes', () => {
  standingClock();
  let redis: RedisServer;
  let nodes: readonly [Node, Node];
  const without = { ...GENEROUS, ...FAST_KEYS };
  const withES256 = {
    ...GENEROUS,
    signing_keys: { ...FAST_KEYS.signing_keys, algorithms: ['RS256', 'ES256'] },
    clients: worldClients({ web: { id_token_signed_response_alg: 'ES256' } }),
  };
  beforeAll(async () => {
    redis = await startRedis();
    const options = { store: redis.url, config: without };
    const first = await startNode(options);
    nodes = [first, await startNode({ ...options, issuer: first.issuer })];
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  });

  const turn = async () => {
    for (const node of nodes) await node.turn();
  };
  const kidsOf = async (node: Node, alg: string) =>
    (await keySet(node)).filter((key) => key.alg === alg).map(({ kid }) => kid);
  /** The form of the stored ring: earlier versions read only 1. */
  const form = async () => {
    const found = await nodes[0].openedStore.documents.get(KEYS_COLLECTION, RING_ID);
    return (JSON.parse(found?.value ?? '{}') as { readonly v: number }).v;
  };
  /** An ID token of this node, verified with the key set of every node. */
  async function idTokenOf(node: Node): Promise<string> {
    const { id_token: idToken = '' } = (await signIn(node)).tokens;
    for (const { base } of nodes) {
      const keys = (await get({ base }, '/oauth/jwks.json')).body['keys'] as JWK[];
      await jwtVerify(idToken, createLocalJWKSet({ keys }), { issuer: node.issuer, audience: 'web' });
    }
    return idToken;
  }

  it('PR-41: a reload of both at once makes one key, which signs at once', async () => {
    const [first, second] = nodes;
    expect(await form()).toBe(1);
    const old = await idTokenOf(first);
    const rs256 = await kidsOf(first, 'RS256');
    await Promise.all(nodes.map((node) => node.reload(withES256)));
    expect(await form()).toBe(2);
    await turn();
    const kids = await kidsOf(first, 'ES256');
    expect(kids).toHaveLength(2);
    expect([await kidsOf(second, 'ES256'), await kidsOf(second, 'RS256')]).toEqual([kids, rs256]);
    for (const node of nodes) {
      const idToken = await idTokenOf(node);
      expect(decodeProtectedHeader(idToken)).toEqual({ alg: 'ES256', kid: kids[0] });
      expect(await hinted(node, idToken)).toBe(200);
      expect(await hinted(node, old)).toBe(400);
    }
  });

  it('PR-41: nodes with different files serve each other’s clients for a day', async () => {
    const [first, second] = nodes;
    await first.reload(without);
    const kids = new Set<string | undefined>();
    for (let hour = 0; hour < 26; hour += 2) {
      moveClock(2 * HOUR);
      await turn();
      // The first node had ended the family; the second one has started it again.
      await first.turn();
      const { alg, kid } = decodeProtectedHeader(await idTokenOf(second));
      expect(alg).toBe('ES256');
      kids.add(kid);
      expect(decodeProtectedHeader(await idTokenOf(first)).alg).toBe('RS256');
      expect(await machineToken(first)).toMatch(/^ey/);
    }
    expect(kids.size).toBeGreaterThan(3);
  });

  it('PR-41: is not dropped while a client names it, and then verifies until its last token is over', async () => {
    const [first, second] = nodes;
    await first.reload(withES256);
    await turn();
    await expect(first.reload({ ...withES256, ...FAST_KEYS })).rejects.toThrow(
      /id_token_signed_response_alg: "ES256" is off: add it to signing_keys\.algorithms/,
    );
    const idToken = await idTokenOf(second);
    const { kid = '' } = decodeProtectedHeader(idToken);
    for (const node of nodes) await node.reload(without);
    await rotate(first);
    await turn();
    for (const node of nodes) {
      expect(await kidsOf(node, 'ES256')).toContain(kid);
      expect(decodeProtectedHeader(await idTokenOf(node)).alg).toBe('RS256');
      const { body } = await get(node, '/.well-known/openid-configuration');
      expect(body['id_token_signing_alg_values_supported']).toEqual(['RS256']);
    }
    moveClock(2 * HOUR);
    await turn();
    expect(await kidsOf(first, 'ES256')).toEqual([kid]);
    moveClock(3 * MINUTE);
    await turn();
    for (const node of nodes) expect(await kidsOf(node, 'ES256')).toEqual([]);
    expect(await form()).toBe(1);
  });
});
