// Random histories of a cluster: cluster.fixture.ts checks the guarantees at every moment.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../world/rounds.ts';
import { Cluster } from './cluster.fixture.ts';
import { MOMENTS } from './moments.fixture.ts';
import { DAY, HOUR, MINUTE, SECOND } from './keys.fixture.ts';

const node = fc.nat(3);
/** Any two clocks differ by less than S, which is 120 s. */
const skew = fc.integer({ min: -59 * SECOND, max: 59 * SECOND });
const duration = fc.oneof(
  fc.integer({ min: 1, max: 10 * SECOND }),
  fc.integer({ min: SECOND, max: 10 * MINUTE }),
  fc.integer({ min: MINUTE, max: 5 * HOUR }),
  fc.integer({ min: HOUR, max: 40 * DAY }),
);
const moment = fc.constantFrom(...MOMENTS);
const algorithms = fc.subarray(['ES256', 'EdDSA'] as const).map((more) => ['RS256', ...more] as const);

const pass = fc.record({ type: fc.constant('pass'), duration, isAtOnce: fc.boolean() });
const event = fc.oneof(
  { weight: 5, arbitrary: pass },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('rotate'), node }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('compromise'), node, which: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cut'), node }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('mend'), node }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('kill'), node, moment }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('name'), algorithms }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

async function apply(cluster: Cluster, each: Event): Promise<void> {
  switch (each.type) {
    case 'pass':
      await cluster.advance(each.duration, each.isAtOnce);
      break;
    case 'rotate':
      await cluster.rotate(each.node);
      break;
    case 'compromise':
      await cluster.compromise(each.node, each.which);
      break;
    case 'cut':
      cluster.cut(each.node);
      break;
    case 'mend':
      await cluster.mend(each.node);
      break;
    case 'kill':
      cluster.killAt(each.node, each.moment);
      break;
    case 'name':
      await cluster.name(each.algorithms);
      break;
  }
}

describe('a history of several nodes on one ring', () => {
  it('KY-04, KY-06, KY-10, KY-11, KY-13, KY-19: breaks no live token, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(skew, { minLength: 1, maxLength: 4 }),
        fc.array(event, { minLength: 1, maxLength: 25 }),
        algorithms,
        async (skews, events, first) => {
          const cluster = new Cluster(skews, first);
          await cluster.start();
          for (const each of events) await apply(cluster, each);
        },
      ),
      {
        numRuns: rounds(300, 20),
        // A family that ends and starts again within the difference of two clocks.
        examples: [
          [
            [0, -7 * SECOND, 0],
            [
              { type: 'name', algorithms: ['RS256'] },
              { type: 'rotate', node: 0 },
              { type: 'name', algorithms: ['RS256', 'ES256'] },
            ],
            ['RS256', 'ES256'],
          ],
        ],
      },
    );
  });

  it('KY-04, KY-06, KY-25: rotates every 30 days for two years, on clocks that differ by almost S', async () => {
    const cluster = new Cluster([59 * SECOND, 0, -59 * SECOND], ['RS256', 'ES256', 'EdDSA']);
    await cluster.start();
    await cluster.advance(730 * DAY, false);
    expect(cluster.rotations).toBe(3 * 25);
  });

  it('KY-19: gets through an emergency after an emergency', async () => {
    const cluster = new Cluster([30 * SECOND, -30 * SECOND]);
    await cluster.start();
    for (let count = 0; count < 5; count += 1) {
      await cluster.compromise(count, 0);
      await cluster.advance(SECOND, false);
    }
    await cluster.advance(90 * DAY, true);
  });
});
