// kill -9 during work: everything acknowledged is there after the restart, and nothing works twice.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorize, signIn } from '../world/app.ts';
import type { Answer } from '../world/requests.ts';
import { rounds } from '../world/rounds.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { GENEROUS, type World, writeWorldConfig } from '../world/world.ts';
import { startProcess, type ServiceProcess } from '../world/process.ts';
import { tempFolder } from '../world/temp-folder.ts';

const FAMILIES = 20;
/** Half of the families pause after this many refreshes, so that they have no request in flight when the process dies. */
const REST_AFTER = rounds(20, 6);
/** The kill comes after this many acknowledged refreshes, while all families continue. */
const REFRESHES = rounds(1000, 300);

type Family = {
  /** The newest refresh token that the client received. */
  token: string;
  /** Every token whose use was acknowledged. */
  readonly used: string[];
  /** A refresh was in flight when the process died: the client doesn't know its outcome. */
  interrupted: boolean;
};

describe(`kill -9 while ${REFRESHES} refreshes run`, () => {
  let world: World;
  let service: ServiceProcess;
  const folder = tempFolder();
  beforeAll(async () => {
    const config = GENEROUS;
    world = await writeWorldConfig(folder, { config });
    service = await startProcess(world.configFile);
  });
  afterAll(() => service.end());

  it('loses nothing that was acknowledged, and no code or refresh token works twice', async () => {
    const families: Family[] = [];
    for (let index = 0; index < FAMILIES; index += 1) {
      const { tokens } = await signIn(world);
      families.push({ token: tokens.refresh_token ?? '', used: [], interrupted: false });
    }
    const waiting = [await authorize(world), await authorize(world)];
    const redeemed = await authorize(world);
    expect((await redeem(world, redeemed)).status).toBe(200);

    let acknowledged = 0;
    let killed: Promise<unknown> | undefined;
    async function keepRefreshing(family: Family): Promise<void> {
      const most = families.indexOf(family) % 2 === 0 ? REST_AFTER : Number.POSITIVE_INFINITY;
      while (killed === undefined && family.used.length < most) {
        let answer: Answer;
        try {
          answer = await refresh(world, family.token);
        } catch {
          family.interrupted = true;
          return;
        }
        expect(answer.status).toBe(200);
        family.used.push(family.token);
        family.token = String(answer.body['refresh_token']);
        acknowledged += 1;
        if (acknowledged === REFRESHES) killed = service.end('SIGKILL');
      }
    }
    await Promise.all(families.map(keepRefreshing));
    await killed;
    expect(acknowledged).toBeGreaterThanOrEqual(REFRESHES);
    service = await startProcess(world.configFile);

    // Codes that were issued and not yet used are still valid; the used one is not.
    for (const code of waiting) {
      expect((await redeem(world, code)).status).toBe(200);
      expect(await redeem(world, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    }
    expect(await redeem(world, redeemed)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });

    for (const family of families) {
      const answer = await refresh(world, family.token);
      // Only a token in flight when the process died may be used up without the client knowing.
      expect(family.interrupted ? [200, 400] : [200]).toContain(answer.status);
      const next = answer.status === 200 ? String(answer.body['refresh_token']) : undefined;
      const spent = family.used.at(-1) ?? '';
      expect(await refresh(world, spent)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      // RFC 9700 §4.14.2: the reuse above revoked the family.
      if (next !== undefined) expect((await refresh(world, next)).status).toBe(400);
    }
    expect(families.filter(({ interrupted }) => !interrupted).length).toBeGreaterThanOrEqual(FAMILIES / 2);
  });
});
