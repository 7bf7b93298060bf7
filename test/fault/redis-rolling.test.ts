// RD-30, RD-31: a release over three nodes and a Sentinel failover under mixed load.
import { expect, it } from 'vitest';
import { describeRun, rollAndFailOver } from '../chaos/rolling.ts';

it('RD-30, RD-31: a rolling restart and a failover spend nothing twice, lose no revocation, and fail honestly', async () => {
  const report = await rollAndFailOver();
  const { history, balancer, lostInCalm } = report;
  const text = describeRun(report);
  expect(balancer.complaints).toEqual([]);
  expect(history.violations()).toEqual([]);
  // Nodes stop and start without a loss; only the failover may force a user to sign in again.
  expect(lostInCalm, text).toEqual([]);
  for (const name of ['sign in', 'redeem', 'refresh', 'revoke', 'introspect', 'machine token']) {
    expect(history.counts[`${name} done`], text).toBeGreaterThan(0);
  }
  // The run did include a failover.
  expect(balancer.fates.unavailable, text).toBeGreaterThan(0);
});
