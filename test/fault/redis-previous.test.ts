// RD-33: the previous version and this one on the same Redis, while a release is rolled out over the nodes and rolled back.
// POSTERN_PREVIOUS names a built copy of the previous tag: git archive TAG | tar -x -C DIR && cd DIR && npm ci && npm run build
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Balancer } from '../chaos/balancer.ts';
import { createClients } from '../chaos/clients.ts';
import { startFleet } from '../chaos/fleet.ts';
import { History } from '../chaos/history.ts';
import { describeHistory } from '../chaos/rolling.ts';
import { startRedis } from '../world/servers.ts';

const PREVIOUS = process.env['POSTERN_PREVIOUS'] ?? '';
const PAUSE_MS = 2000;

it.skipIf(PREVIOUS === '')('RD-33: nodes of the previous version and of this one interoperate', async () => {
  const previous = [process.execPath, path.join(PREVIOUS, 'dist/main.js')];
  const server = await startRedis();
  const fleet = await startFleet(server.url, () => previous);
  const history = new History();
  const balancer = new Balancer(fleet.worlds, 60);
  const clients = createClients(fleet.issuer, balancer, history);
  const state = { isOver: false };
  const isOver = () => state.isOver;
  const running = Promise.all([
    ...Array.from({ length: 8 }, () => clients.live(isOver)),
    ...Array.from({ length: 2 }, () => clients.work(isOver)),
  ]);
  try {
    for (const node of fleet.nodes) {
      await sleep(PAUSE_MS);
      await fleet.restart(node, 'SIGTERM');
    }
    // And back, as for an administrator who rolls the release back.
    for (const node of fleet.nodes.slice(1)) {
      await sleep(PAUSE_MS);
      await fleet.restart(node, 'SIGTERM', previous);
    }
    await sleep(PAUSE_MS);
  } finally {
    state.isOver = true;
    await running;
    await fleet.stop();
    await server.stop();
  }
  const text = describeHistory(history, balancer);
  process.stdout.write(text);
  expect(balancer.complaints).toEqual([]);
  expect(history.violations()).toEqual([]);
  expect(history.lost()).toEqual([]);
  expect(balancer.fates.unavailable, text).toBe(0);
  for (const name of ['sign in', 'redeem', 'refresh', 'revoke', 'machine token']) {
    expect(history.counts[`${name} done`], text).toBeGreaterThan(0);
  }
});
