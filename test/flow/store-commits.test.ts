// The disk writes of a sign-in: the transactions that lmdb commits from the authorization request to the exchanged code, by lmdb's own
// number of the last one, which counts writes in a shared commit once. Averages of a few flows; fewer is fine.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type AuthorizeOptions, signIn } from '../world/app.ts';
import { useWorld } from '../world/each-store.ts';
import { GENEROUS } from '../world/world.ts';

const FLOWS = 10;
/** The number of users without any stored data, one for each flow that begins with a password. */
const CROWD = 2 * FLOWS;

const MOST = {
  'first sign-in without a consent page': 4,
  'sign-in from a known address': 4,
  'first sign-in with a consent page': 5,
  'in a session': 2,
};

const READER = `
  import { open } from 'lmdb';
  const store = open({ path: process.argv[1], noSubdir: false, readOnly: true });
  console.log(store.getStats().lastTxnId);
`;

const world = useWorld({ crowd: CROWD, config: { ...GENEROUS, lifetimes: { consent: '30d' } } });

/** Runs in a separate process: LMDB forbids this one to open the folder twice. */
async function lastTransaction(): Promise<number> {
  const args = ['--input-type=module', '--eval', READER, path.join(world().folder, 'data')];
  return Number((await promisify(execFile)(process.execPath, args)).stdout);
}

async function commitsOf(flow: (turn: number) => Promise<unknown>): Promise<number> {
  const before = await lastTransaction();
  for (let turn = 1; turn <= FLOWS; turn += 1) await flow(turn);
  return ((await lastTransaction()) - before) / FLOWS;
}

it('a flow commits no more often than this', async () => {
  const withoutConsent = { client: 'first-party', scope: 'openid email' } as const;
  const flow = async (options: AuthorizeOptions) => signIn(world(), options);
  const { browser } = await flow(withoutConsent);
  await flow({ client: 'web', scope: 'openid' });

  const commits = {
    'first sign-in without a consent page': await commitsOf((turn) =>
      flow({ ...withoutConsent, person: `person${turn}` }),
    ),
    'sign-in from a known address': await commitsOf(() => flow(withoutConsent)),
    'first sign-in with a consent page': await commitsOf((turn) =>
      flow({ client: 'web', scope: 'openid email', person: `person${FLOWS + turn}` }),
    ),
    'in a session': await commitsOf(() => flow({ ...withoutConsent, browser })),
  };

  // These numbers include the process's own occasional writes.
  for (const [name, most] of Object.entries(MOST)) {
    expect.soft(commits[name as keyof typeof commits], name).toBeLessThanOrEqual(most + 0.5);
  }
});
