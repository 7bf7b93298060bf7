// How the end of a user's sessions is delivered, and the log line if it can't be.
import { expect, it } from 'vitest';
import { createLog } from '../../../src/observability/log.ts';
import { createUserEventDelivery, createUserEvents, newUserEvent } from '../../../src/users/user-events.ts';
import { until } from '../../world/clock.ts';
import { MemoryDocuments } from '../keys/memory-documents.fixture.ts';

it('a listener that fails is named at each of six tries in an hour, and given up then', async () => {
  let now = 1_800_000_000_000;
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const events = createUserEvents(new MemoryDocuments(), () => now);
  await events.add([newUserEvent('usr_1', 'left', ['web'])]);
  const heard: unknown[] = [];
  const fail = async (event: object) => {
    heard.push(event);
    throw new Error('broken');
  };
  const storeNow = () => now;
  const delivery = createUserEventDelivery({ userEvents: events, storeNow, log, onUserEvent: fail });
  for (let tries = 1; tries <= 6; tries += 1) {
    delivery.start();
    await until(() => expect(lines.join('').match(/could not notify /g)).toHaveLength(tries));
    now += 3_600_000;
  }
  expect(heard.at(-1)).toMatchObject({ accountId: 'usr_1', what: 'left', clientIds: ['web'] });
  delivery.start();
  await until(async () => expect(await events.list()).toEqual([]));
  await delivery.stop();
  expect([heard.length, lines.filter((line) => line.includes('gave up notifying apps')).length]).toEqual([
    6, 1,
  ]);
  expect(lines.at(-1)).toContain('usr_1');
});
