// Simultaneous writes that the replicas of a master must confirm.
import { expect, it } from 'vitest';
import { createConfirm } from '../../../src/store/redis/ha/confirm.ts';
import { withMayBeDone, type StoreUnavailable } from '../../../src/store/store.ts';

it('F1-06: what one request says of its failed write is nothing that another one says', async () => {
  const master = { name: 'one' };
  const client = { masterOf: () => master, masterAt: () => master, masters: () => [master] };
  const watch = { replicasOf: () => undefined };
  const confirm = createConfirm(client as never, watch as never);
  const failed = (mayBeDone: boolean) =>
    withMayBeDone(mayBeDone, confirm({ script: 'touch', keys: ['key'], args: ['u'] })).catch(
      (error: unknown) => error as StoreUnavailable,
    );
  const errors = await Promise.all([failed(true), failed(false)]);
  expect(errors).toEqual([
    expect.objectContaining({ mayBeDone: true }),
    expect.objectContaining({ mayBeDone: false }),
  ]);
});
