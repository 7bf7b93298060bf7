// Requests of the outage tests to a running service, and the deadlines for its answers.
import { expect, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { authorize, type Authorized, type SignedIn, signIn } from '../world/app.ts';
import { authorizationPath } from '../world/authorization-request.ts';
import { introspect, introspection, revoke, userinfo } from '../world/presented-tokens.ts';
import { type Answer, get, readiness } from '../world/requests.ts';
import { clientCredentials, redeem, refresh } from '../world/token-endpoint.ts';
import type { World } from '../world/world.ts';

/** Deadline of an answer, whatever the store does. Milliseconds. */
export const DEADLINE_MS = 1000 + MACHINE_MS;
/** Deadline of the recovery after the fault, without a restart. Milliseconds. */
export const RECOVERY_MS = 2000 + MACHINE_MS;

export type Timed = { readonly answer: Answer; readonly ms: number };

export async function timed(asking: Promise<Answer>): Promise<Timed> {
  const began = performance.now();
  const answer = await asking;
  return { answer, ms: performance.now() - began };
}

/** Expects 503 with Retry-After and no token, in time. */
export function expectUnavailable({ answer, ms }: Timed): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
  expect(answer.headers.get('cache-control')).toContain('no-store');
  expect(answer.text).not.toMatch(/access_token|"active":true|Redis|ECONN/);
  expect(ms).toBeLessThan(DEADLINE_MS);
}

const PATIENCE = { timeout: 60_000, interval: 100 };

/** Signs in before the fault: on a busy machine a group of servers may not confirm the first writes in time, which is a 503. */
export async function untilSignedIn(world: World): Promise<SignedIn> {
  return vi.waitFor(() => signIn(world), PATIENCE);
}

/** Gets a code that isn't used yet. */
export async function untilAuthorized(world: World): Promise<Authorized> {
  return vi.waitFor(async () => {
    const authorized = await authorize(world);
    if (!authorized.callback.searchParams.has('code'))
      throw new Error(`no code: ${authorized.callback.href}`);
    return authorized;
  }, PATIENCE);
}

/** Every request that needs the store, by name. */
export function stateful(world: World, { tokens }: SignedIn, machineToken: string) {
  return {
    refresh: () => refresh(world, tokens.refresh_token),
    code: () => redeem(world, { code: 'x'.repeat(43) }),
    introspection: () => introspection(world, tokens.access_token),
    'introspection of a machine token': () => introspection(world, machineToken),
    revocation: () => revoke(world, tokens.refresh_token),
    'revocation of a machine token': () => revoke(world, machineToken, 'svc'),
    userinfo: () => userinfo(world, tokens.access_token),
    authorize: () => get(world, authorizationPath()),
  } satisfies Record<string, () => Promise<Answer>>;
}

/** Expects 200, in time, of everything that doesn't need the store. */
export async function expectStateless(world: World): Promise<void> {
  const asked = {
    discovery: () => get(world, '/.well-known/openid-configuration'),
    jwks: () => get(world, '/oauth/jwks.json'),
    'machine token': () => clientCredentials(world),
  };
  for (const [name, ask] of Object.entries(asked)) {
    const { answer, ms } = await timed(ask());
    expect([name, answer.status]).toEqual([name, 200]);
    expect(ms).toBeLessThan(DEADLINE_MS);
  }
}

/** Milliseconds until introspection reports the token as active again. */
export async function untilActive(world: World, token: string): Promise<number> {
  const began = performance.now();
  await vi.waitFor(async () => expect(await introspect(world, token)).toMatchObject({ active: true }), {
    timeout: RECOVERY_MS,
    interval: 20,
  });
  return performance.now() - began;
}

export async function timedReadiness(world: World) {
  const began = performance.now();
  return { ...(await readiness(world)), ms: performance.now() - began };
}
