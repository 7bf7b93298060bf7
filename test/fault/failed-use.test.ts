// A store that fails while a sign-in or a refresh token is used up: the request fails, and nothing works twice. Codes are in proofs.test.ts
// and outage.test.ts.
import { expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../src/store/store.ts';
import { signIn } from '../world/app.ts';
import { begin } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import type { Answer } from '../world/requests.ts';
import { refresh } from '../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld, PASSWORDS } from '../world/world.ts';
import { eachStore } from '../world/each-store.ts';

type When = 'before it is used up' | 'after it is used up';

/** When every use fails, if set. */
let failure: When | undefined;

async function failingUses<T>(when: When, act: () => Promise<T>): Promise<T> {
  failure = when;
  try {
    return await act();
  } finally {
    failure = undefined;
  }
}

/** Fails like a store that is unreachable (the use isn't done) or whose answer is lost (it is done). */
async function failIfAsked<T>(use: () => Promise<T>): Promise<T> {
  if (failure === undefined) return use();
  if (failure === 'after it is used up') await use();
  throw new StoreUnavailable();
}

/** Wraps `store`: uses fail when `failure` is set. */
function handStore(store: Store): Store {
  const { records } = store;
  const { exchange } = records;
  return {
    ...store,
    records: {
      ...records,
      consume: (...claim) => failIfAsked(() => records.consume(...claim)),
      ...(exchange && {
        exchange: (...claim: Parameters<typeof exchange>) => failIfAsked(() => exchange(...claim)),
      }),
    },
    ping: () => store.ping(),
    close: () => store.close(),
  };
}

function expectNothingGiven({ status, headers, body, text }: Answer): void {
  expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  expect(body).not.toHaveProperty('access_token');
  expect(text).not.toMatch(/eyJ/);
}

eachStore('a use that the store can’t answer', { config: GENEROUS, handStore }, (world) => {
  it.each<When>(['before it is used up', 'after it is used up'])('%s: 503, not signed in', async (when) => {
    const { browser, page } = await begin(world());
    const fields = { username: 'alice', password: PASSWORDS.alice };
    const answer = await failingUses(when, () => browser.submit(page, '/login', fields));
    expect([answer.status, answer.headers.get('location')]).toEqual([503, null]);
    expect(browser.cookies.some(({ name }) => name === 'postern_session')).toBe(false);
  });

  it('RT-12: a refresh token that was used up without a successor ends its family, which is counted', async () => {
    const { tokens } = await signIn(world());
    // As after a crash: the token is used up, and its successor is lost.
    await failingUses('after it is used up', async () =>
      expectNothingGiven(await refresh(world(), tokens.refresh_token)),
    );
    const before = await grantsEnded(world());
    const again = await refresh(world(), tokens.refresh_token);
    expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await grantsEnded(world())).toBe(before + 1);
    expect(await introspect(world(), tokens.access_token)).toEqual({ active: false });
    expect((await refresh(world(), (await signIn(world())).tokens.refresh_token)).status).toBe(200);
  });
});

async function grantsEnded({ management }: OpenWorld): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const series = /^postern_security_events_total\{(?=[^}]*event="grant_ended")[^}]*\} (\d+)$/m;
  return Number(series.exec(text)?.[1] ?? 0);
}
