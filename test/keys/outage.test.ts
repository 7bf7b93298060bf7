// The behavior of a node that can't read the ring, was suspended, or has a clock that is off.
import { afterAll, describe, expect, it } from 'vitest';
import { rotateByHand } from '../../src/keys/ring-actions.ts';
import { startRedis } from '../world/servers.ts';
import { MACHINE_MS, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { machineToken, signIn } from '../world/app.ts';
import { introspect } from '../world/presented-tokens.ts';
import { get, readiness } from '../world/requests.ts';
import { clientCredentials, refresh } from '../world/token-endpoint.ts';
import { publishedKids, startNode, withKeys } from './nodes.ts';
import { kidOf } from './verifiers.ts';
import { useStarted } from '../world/started.ts';

const JWKS = '/oauth/jwks.json';
const UNSURE = 'this node does not sign tokens until its keys are confirmed again';

describe('a node without its store', () => {
  standingClock();
  const redis = useStarted(() => startRedis());
  const node = useStarted(() => startNode({ store: redis().url }));
  afterAll(() => redis().resume());

  it('KY-13: gives machine tokens for ten minutes, then answers 503 with Retry-After, and shows its keys all the time', async () => {
    const before = await machineToken(node(), 'reports.read');
    expect(await readiness(node())).toEqual({ status: 200, problems: [] });
    redis().pause();
    await node().turn();
    moveClock(10 * MINUTE);
    await node().turn();
    expect((await clientCredentials(node(), { scope: 'reports.read' })).status).toBe(200);
    expect((await readiness(node())).problems).toEqual([
      expect.stringMatching(/^can't reach the store: /),
      'the key ring could not be read for 600 s',
    ]);

    moveClock(1);
    const refused = await clientCredentials(node(), { scope: 'reports.read' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
    expect(refused.body).toMatchObject({ error: 'temporarily_unavailable' });
    expect((await get(node(), JWKS)).status).toBe(200);
    expect((await readiness(node())).problems).toContain(UNSURE);

    redis().resume();
    await expect
      .poll(() => introspect(node(), before), { timeout: 5000 + MACHINE_MS })
      .toEqual({ active: false });
    async function recovers(): Promise<number> {
      await node().turn();
      return (await clientCredentials(node(), { scope: 'reports.read' })).status;
    }
    await expect.poll(recovers, { timeout: 5000 + MACHINE_MS }).toBe(200);
    await expect
      .poll(() => readiness(node()), { timeout: 5000 + MACHINE_MS })
      .toEqual({ status: 200, problems: [] });
  });
});

describe('a node that was asleep', () => {
  standingClock();
  const node = useStarted(() => startNode());

  it('KY-12: signs nothing before it has read the ring, and uses up no refresh token meanwhile', async () => {
    const { tokens } = await signIn(node());
    moveClock(11 * MINUTE);
    const refused = await refresh(node(), tokens.refresh_token);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
    expect((await clientCredentials(node())).status).toBe(503);
    expect((await readiness(node())).problems).toContain(UNSURE);
    await node().turn();
    expect((await refresh(node(), tokens.refresh_token)).status).toBe(200);
  });

  it('is not ready once it is a poll or two behind, and is again after a turn', async () => {
    expect((await readiness(node())).status).toBe(200);
    moveClock(15);
    expect((await readiness(node())).status).toBe(200);
    moveClock(1);
    expect(await readiness(node())).toEqual({
      status: 503,
      problems: ['the key ring could not be read for 16 s'],
    });
    await node().turn();
    expect((await readiness(node())).status).toBe(200);
  });
});

describe('a node whose clock is two minutes ahead', () => {
  standingClock();
  const redis = useStarted(() => startRedis());
  const exact = useStarted(() => startNode({ store: redis().url }));
  const now = () => Date.now() + 2 * MINUTE * 1000;
  const fast = useStarted(() => startNode({ store: redis().url, issuer: exact().issuer, now }));

  it('KY-25: signs with the next key no sooner than every cache can know it', async () => {
    const [first, next] = await publishedKids(exact());
    await withKeys(exact(), ({ keyStore }) => rotateByHand(keyStore));
    // C + P + S after publication by the exact clock.
    const [appointment, ahead] = [3735, 2 * MINUTE];
    moveClock(appointment - ahead - 1);
    await fast().turn();
    await exact().turn();
    expect(kidOf(await machineToken(fast()))).toBe(first);
    moveClock(1);
    await fast().turn();
    expect(kidOf(await machineToken(fast()))).toBe(next);
    // 3615 s after publication: longer than the hour that verifiers cache.
    expect(appointment - ahead).toBeGreaterThanOrEqual(3600 + 15);
    expect(kidOf(await machineToken(exact()))).toBe(first);
    expect(await publishedKids(exact())).toContain(next);
    moveClock(ahead);
    await exact().turn();
    expect(kidOf(await machineToken(exact()))).toBe(next);
  });
});
