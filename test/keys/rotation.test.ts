// A day in which the keys rotate three times, on two nodes, under load, with verifiers that cache like real ones; then
// a leaked key. The clock moves from one appointment to the next and never skips one.
import { compactVerify, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activeKey } from '../../src/keys/ring.ts';
import { compromiseKey, rotateByHand } from '../../src/keys/ring-actions.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { machineToken, signIn } from '../world/app.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get } from '../world/requests.ts';
import { refresh } from '../world/token-endpoint.ts';
import { GENEROUS, worldClients } from '../world/world.ts';
import { HOUR, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { FAST_KEYS, type Node, startNode, withKeys } from './nodes.ts';
import { createVerifiers, kidOf, type Verifier } from './verifiers.ts';

const JWKS = '/oauth/jwks.json';
/** Seconds; L, C, P and S of this configuration. */
const [TOKEN_LIFE, CACHE, PROPAGATION, SKEW] = [HOUR, HOUR, 15, 2 * MINUTE] as const;
const seconds = () => Date.now() / 1000;
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const;
/** Each client, the node that it uses, and the algorithm of its ID tokens. */
const APPS = [
  ['web', 0, 'ES256'],
  ['web2', 1, 'EdDSA'],
] as const;

type LiveToken = { readonly jwt: string; readonly until: number };

/** The keys as an outsider sees them: since when each node publishes a kid, when it signs, when it is gone. */
class Watch {
  readonly publishedAt = new Map<string, number>();
  readonly firstSignedAt = new Map<string, number>();
  readonly lastSignedAt = new Map<string, number>();
  readonly goneAt = new Map<string, number>();
  readonly algOf = new Map<string, string | undefined>();
  readonly members = new Set<string>();
  readonly maxAges = new Set<string>();
  readonly etags = new Map<string, Set<string>>();

  async look(nodes: readonly Node[]): Promise<void> {
    for (const [index, node] of nodes.entries()) {
      const { body, headers } = await get(node, JWKS);
      const keys = body['keys'] as Record<string, string>[];
      const kids = keys.map(({ kid }) => kid ?? '');
      this.members.add(keys.map((key) => Object.keys(key).toSorted().join()).join(' '));
      this.maxAges.add(headers.get('cache-control') ?? '');
      const set = kids.join();
      this.etags.set(set, (this.etags.get(set) ?? new Set()).add(headers.get('etag') ?? ''));
      for (const kid of kids) {
        const name = `${index}/${kid}`;
        if (!this.publishedAt.has(name)) this.publishedAt.set(name, seconds());
        expect(this.goneAt.has(name), `${kid} came back`).toBe(false);
      }
      for (const name of this.publishedAt.keys()) {
        const [owner, kid = ''] = name.split('/');
        const isGone = owner === String(index) && !kids.includes(kid);
        if (isGone && !this.goneAt.has(name)) this.goneAt.set(name, seconds());
      }
    }
  }

  signed(jwt: string): void {
    const { alg, kid = '' } = decodeProtectedHeader(jwt);
    this.algOf.set(kid, alg);
    if (!this.firstSignedAt.has(kid)) this.firstSignedAt.set(kid, seconds());
    this.lastSignedAt.set(kid, seconds());
  }

  /** Kids in the order of their first signature. */
  signers(alg: string): readonly string[] {
    return [...this.firstSignedAt.keys()].filter((kid) => this.algOf.get(kid) === alg);
  }
}

describe('three rotations of three algorithms under traffic', () => {
  standingClock();
  let redis: RedisServer;
  let nodes: readonly [Node, Node];
  let verifiers: readonly Verifier[];
  let live: LiveToken[] = [];
  let verified = 0;
  const rejects: string[] = [];
  const watch = new Watch();
  const refreshTokens = new Map<string, string | undefined>();
  let firstIdToken = '';

  beforeAll(async () => {
    redis = await startRedis();
    const clients = worldClients(
      Object.fromEntries(APPS.map(([client, , alg]) => [client, { id_token_signed_response_alg: alg }])),
    );
    const signingKeys = { ...FAST_KEYS.signing_keys, algorithms: ALGORITHMS };
    const options = { store: redis.url, config: { ...GENEROUS, signing_keys: signingKeys, clients } };
    const first = await startNode(options);
    nodes = [first, await startNode({ ...options, issuer: first.issuer })];
    verifiers = createVerifiers(nodes.map(({ base }) => `${base}${JWKS}`));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  });

  function keep(jwt: string | undefined, life: number): void {
    if (jwt === undefined) throw new Error('no token');
    watch.signed(jwt);
    live.push({ jwt, until: seconds() + life });
  }

  async function refreshed(client: 'web' | 'web2') {
    const index = client === 'web' ? 0 : 1;
    const { body } = await refresh(nodes[index], refreshTokens.get(client), {}, client);
    refreshTokens.set(client, String(body['refresh_token']));
    return { access: String(body['access_token']), idToken: String(body['id_token']) };
  }

  async function traffic(): Promise<void> {
    for (const node of nodes) keep(await machineToken(node, 'reports.read'), 10 * MINUTE);
    for (const [client] of APPS) {
      const { access, idToken } = await refreshed(client);
      keep(access, 10 * MINUTE);
      keep(idToken, TOKEN_LIFE);
    }

    live = live.filter(({ until }) => until > seconds());
    for (const { jwt } of live) {
      for (const { name, getKey } of verifiers) {
        verified += 1;
        await jwtVerify(jwt, getKey, { issuer: nodes[0].issuer }).catch((error: unknown) => {
          rejects.push(`${name} at ${new Date().toISOString()}: ${String(error)}`);
        });
      }
    }
  }

  /** Moves the clock by at most `most` seconds, and never beyond the next appointment. */
  async function advance(most: number): Promise<void> {
    const ring = await withKeys(nodes[0], ({ keyStore }) => keyStore.load());
    const times = ring.keys.flatMap(({ activateAt, retireAt, removeAt }) =>
      [activateAt, retireAt, removeAt].flatMap((at) => (at !== undefined && at > Date.now() ? at : [])),
    );
    moveClock(Math.min(most, ...times.map((at) => (at - Date.now()) / 1000)));
    // One after the other: for a moment the nodes have different rings.
    for (const node of nodes) {
      await node.turn();
      await watch.look(nodes);
    }
  }

  it('KY-22: has no false reject by any of four verifiers', async () => {
    await watch.look(nodes);
    for (const [client, index] of APPS) {
      const { tokens } = await signIn(nodes[index], { client });
      refreshTokens.set(client, tokens.refresh_token);
      keep(tokens.id_token, TOKEN_LIFE);
      if (client === 'web') firstIdToken = tokens.id_token ?? '';
    }
    const until = seconds() + 29 * HOUR;
    while (seconds() < until) {
      await traffic();
      await advance(20 * MINUTE);
    }
    expect(ALGORITHMS.map((alg) => watch.signers(alg).length)).toEqual([4, 4, 4]);
    // Twice by hand, right after caches were filled: the second time the reserve is a key that no verifier has fetched yet.
    for (const count of [5, 6]) {
      await traffic();
      await withKeys(nodes[0], ({ keyStore }) => rotateByHand(keyStore));
      await advance(0);
      while (ALGORITHMS.some((alg) => watch.signers(alg).length < count)) {
        await advance(20 * MINUTE);
        await traffic();
      }
    }
    expect(verified).toBeGreaterThan(4000);
    expect(rejects).toEqual([]);
  });

  it('KY-04: publishes a key on every node long before it signs anywhere', () => {
    // The first key of each algorithm signs at once.
    const successors = ALGORITHMS.flatMap((alg) => watch.signers(alg).slice(1));
    expect(successors).toHaveLength(5 * ALGORITHMS.length);
    for (const kid of successors) {
      const signedAt = watch.firstSignedAt.get(kid) ?? 0;
      for (const index of nodes.keys()) {
        const publishedAt = watch.publishedAt.get(`${index}/${kid}`) ?? Infinity;
        expect(signedAt - publishedAt).toBeGreaterThanOrEqual(CACHE + PROPAGATION + SKEW);
      }
    }
  });

  it('KY-06: publishes a key until its last token and every cache are over, and not after', () => {
    const gone = [...watch.goneAt.keys()].filter((name) => name.startsWith('0/'));
    expect(gone.length).toBeGreaterThanOrEqual(3 * ALGORITHMS.length);
    for (const [name, goneAt] of watch.goneAt) {
      const last = watch.lastSignedAt.get(name.slice(2)) ?? Infinity;
      expect(goneAt - last).toBeGreaterThanOrEqual(TOKEN_LIFE + CACHE + SKEW);
      expect(goneAt - last).toBeLessThanOrEqual(TOKEN_LIFE + CACHE + SKEW + 21 * MINUTE);
    }
  });

  it('KY-01: shows nothing private in any state', () => {
    for (const members of watch.members) {
      expect(members).toMatch(
        /^(alg,e,kid,kty,n,use ?)+(alg,crv,kid,kty,use,x,y ?)+(alg,crv,kid,kty,use,x ?)+$/,
      );
    }
  });

  it('KY-20: says the same max-age all the time, and one ETag for each set of keys', () => {
    expect([...watch.maxAges]).toEqual(['public, max-age=300, must-revalidate']);
    expect(watch.etags.size).toBeGreaterThan(6);
    const etags = [...watch.etags.values()];
    expect(etags.every((each) => each.size === 1)).toBe(true);
    expect(new Set(etags.flatMap((each) => [...each])).size).toBe(watch.etags.size);
  });

  it('LO-09: takes an id_token_hint while its key is published, and answers 400 after', async () => {
    const { idToken } = await refreshed('web');
    const logout = async (hint: string) =>
      (await get(nodes[1], `/oauth/logout?id_token_hint=${hint}`, { accept: 'text/html' })).status;
    expect(await logout(firstIdToken)).toBe(400);
    const before = kidOf(idToken);
    const isPublished = async () =>
      (await withKeys(nodes[0], ({ keyStore }) => keyStore.load())).keys.some(({ kid }) => kid === before);

    let answersWhileRetired = 0;
    while (await isPublished()) {
      expect(await logout(idToken)).toBe(200);
      if (kidOf((await refreshed('web')).idToken) !== before) answersWhileRetired += 1;
      await advance(30 * MINUTE);
    }
    expect(answersWhileRetired).toBeGreaterThan(3);
    expect(await logout(idToken)).toBe(400);
  });

  it('KY-22: a leaked key is refused here at once, and by each verifier within its own bound', async () => {
    await fillCaches();
    const jwt = await machineToken(nodes[0], 'reports.read');
    const leaked = kidOf(jwt);
    const { tokens } = await signIn(nodes[1]);
    for (const { getKey } of verifiers) await compactVerify(jwt, getKey);
    expect(await introspect(nodes[1], jwt)).toMatchObject({ active: true });

    const leakedAt = seconds();
    const ring = await withKeys(nodes[0], ({ keyStore }) => compromiseKey(keyStore, leaked));
    for (const node of nodes) await node.turn();
    for (const node of nodes) {
      expect(await introspect(node, jwt)).toEqual({ active: false });
      expect((await userinfo(node, tokens.access_token)).status).toBe(401);
    }
    const heir = activeKey(ring, Date.now())?.kid;
    expect(kidOf(await machineToken(nodes[0], 'reports.read'))).toBe(heir);

    // The runbook: a key that no verifier knows signs soon, which refreshes caches that never expire.
    await withKeys(nodes[0], ({ keyStore }) => rotateByHand(keyStore));
    const refusedAfter = new Map<string, number>();
    while (refusedAfter.size < verifiers.length && seconds() < leakedAt + 2 * HOUR) {
      const fresh = await machineToken(nodes[1], 'reports.read');
      for (const { name, getKey } of verifiers) {
        await compactVerify(fresh, getKey);
        const isTaken = await compactVerify(jwt, getKey).then(
          () => true,
          () => false,
        );
        if (!isTaken && !refusedAfter.has(name)) refusedAfter.set(name, seconds() - leakedAt);
      }
      // Checks at each full minute, whatever appointment comes in between.
      await advance(MINUTE - (Math.round(seconds() - leakedAt) % MINUTE));
    }
    expect(refusedAfter.get('five minutes')).toBeLessThanOrEqual(5 * MINUTE);
    expect(refusedAfter.get('jose')).toBeLessThanOrEqual(10 * MINUTE);
    expect(refusedAfter.get('one hour')).toBeLessThanOrEqual(HOUR);
    expect(refusedAfter.get('go-oidc')).toBeLessThanOrEqual(CACHE + PROPAGATION + SKEW);
  });

  /** Makes the reserve known to all verifiers and all caches as fresh as possible: the worst moment for a leak. */
  async function fillCaches(): Promise<void> {
    for (let step = 0; step < 4; step += 1) await advance(20 * MINUTE);
    verifiers = createVerifiers(nodes.map(({ base }) => `${base}${JWKS}`));
  }
});
