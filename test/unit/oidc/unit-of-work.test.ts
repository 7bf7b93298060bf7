// An answer that uses something up and signs a user in, over real stores: no page does both today.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { errors } from 'oidc-provider';
import { expect, it } from 'vitest';
import { unitOfWork } from '../../../src/oidc/unit-of-work.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { createUnitOfWork, type UnitOfWork } from '../../../src/store/unit-of-work.ts';
import { Refusal } from '../../../src/views/refusal.ts';
import { eachStore } from '../../world/each-store.ts';

const ONCE = { kind: 'Interaction', payload: '{}', ttlSeconds: 60 };
const SESSION = { kind: 'Session', payload: '{}', ttlSeconds: 60 };

eachStore('an answer that uses something up and signs somebody in', (running) => {
  /** The answers to this many simultaneous requests that do `work`, and name the session of their cookie. */
  async function answersTo(
    work: (records: UnitOfWork, state: object) => Promise<unknown>,
    requests = 1,
    findLive: () => Promise<undefined> = () => Promise.resolve(undefined),
  ) {
    const { openedStore: store } = running();
    const records = createUnitOfWork(store, store.clock.now);
    const config = { issuer: 'http://id.example', signIn: undefined };
    const factors = { get: () => Promise.reject(new TypeError('not asked')) };
    const app = new Koa();
    // The same as in http/errors.ts.
    app.use((ctx, next) =>
      next().catch((error: unknown) => {
        ctx.status = error instanceof Refusal ? error.status : 500;
      }),
    );
    app.use(unitOfWork({ config, records, hash: createKeyedHash(Buffer.alloc(32, 3)), findLive, factors }));
    app.use(async (ctx) => {
      await work(records, ctx.state);
      ctx.cookies.set('postern_session', 'made');
      ctx.body = 'signed in';
    });
    const server = app.listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/interaction/x`;
    const answers = await Promise.all(Array.from({ length: requests }, () => fetch(url)));
    server.close();
    return answers
      .map(({ status, headers }) => [status, headers.getSetCookie().length] as const)
      .toSorted(([one], [other]) => one - other);
  }
  const use = (records: UnitOfWork, key: string, error: Error = new errors.SessionNotFound('used')) =>
    records.use(ONCE.kind, key, () => Promise.reject(error), { isLock: true });

  it('F1-05: sets the cookie of the session that it made', async () => {
    await running().openedStore.records.save({ ...ONCE, key: 'made' });
    const answers = await answersTo(async (records) => {
      await use(records, 'made');
      await records.save({ ...SESSION, key: 'made' });
    });
    expect(answers).toEqual([[200, 1]]);
  });

  it('F1-05: sets none of a session that ended meanwhile, also where it was stored before', async () => {
    const { records: store } = running().openedStore;
    await store.save({ ...ONCE, key: 'ended' });
    const end = () => store.save({ ...SESSION, key: 'ended', isConsumed: true });
    const answers = await answersTo(async (records) => {
      await use(records, 'ended');
      await records.save({ ...SESSION, key: 'ended' });
      await end();
    });
    expect(answers).toEqual([[200, 0]]);
    const again = await answersTo(async (records) => {
      await records.save({ ...SESSION, key: 'again' });
      await records.flush();
      await store.save({ ...SESSION, key: 'again', isConsumed: true });
      await records.save({ ...SESSION, key: 'again' });
    });
    expect(again).toEqual([[200, 0]]);
  });

  it.each([
    [new StoreUnavailable(), [200, 0]],
    [new TypeError('a bug'), [500, 0]],
  ])('F1-05: sets none where "%s" hides whether the session ended', async (error, answer) => {
    const key = `hidden by ${error.name}`;
    const work = async (records: UnitOfWork, state: object) => {
      Object.assign(state, { session: { accountId: 'usr_1', jti: key } });
      await records.save({ ...SESSION, key });
    };
    expect(await answersTo(work, 1, () => Promise.reject(error))).toEqual([answer]);
  });

  const LATE = [new errors.SessionNotFound('used'), new errors.InvalidGrant('used')];
  it.each(LATE)('F1-05: is given to one of five at once; the others are late (%s)', async (error) => {
    const { records: store } = running().openedStore;
    const key = `raced ${error.name}`;
    await store.save({ ...ONCE, key });
    let turn = 0;
    const answers = await answersTo(async (records) => {
      await records.find(ONCE.kind, key);
      await use(records, key, error);
      const session = { ...SESSION, key: `${key} ${(turn += 1)}` };
      await records.save(session);
      // A record that wasn't read before is looked up in the store, together with all saves so far.
      await records.find(SESSION.kind, session.key);
    }, 5);
    expect(answers).toEqual([[200, 1], ...Array.from({ length: 4 }, () => [400, 0])]);
    const made = await Promise.all(
      Array.from({ length: 5 }, (_, index) => store.find(SESSION.kind, `${key} ${index + 1}`)),
    );
    expect(made.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it('F1-05: is 400 for who is late at the very end of the request', async () => {
    const { records: store } = running().openedStore;
    await store.save({ ...ONCE, key: 'late' });
    const answers = await answersTo(async (records) => {
      await use(records, 'late').catch(() => undefined);
      await records.save({ ...SESSION, key: 'late' });
      await store.consume(ONCE.kind, 'late');
    });
    // Redis has no transactions: there the record was used up at once, and this request was first.
    expect(answers).toEqual([running().openedStore.records.exchange === undefined ? [200, 1] : [400, 0]]);
  });
});
