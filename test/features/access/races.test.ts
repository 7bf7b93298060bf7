// A user leaves a group in the users file, with two processes of two workers each on one store: every worker denies the group's access
// within five seconds, and revoked access stays revoked when the user rejoins the group.
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MACHINE_MS } from '../../world/clock.ts';
import { inProcesses } from '../../world/processes.ts';
import { signIn } from '../../world/app.ts';
import { introspect, userinfo } from '../../world/presented-tokens.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { PEOPLE, type World, worldClients } from '../../world/world.ts';
import { startTwoProcesses } from '../../world/two-processes.ts';
import { useStarted } from '../../world/started.ts';

/** The contract: every worker applies a file this many milliseconds after it was written. */
const DEADLINE_MS = 5000 + MACHINE_MS;
/** Parallel requests, each on its own connection: more than one for each worker of a process. */
const AT_ONCE = 8;

const CONFIG = {
  ...inProcesses(2),
  groups: { staff: 'Employees' },
  clients: worldClients({ web2: { access: { groups: ['staff'] } } }),
};
const SCOPE = 'openid offline_access';

type UsersFile = { readonly users: readonly { readonly id: string; readonly groups?: readonly string[] }[] };

describe.each(['lmdb', 'redis'] as const)('a person who leaves a group, with four workers on %s', (store) => {
  const processes = useStarted(() => startTwoProcesses(store, CONFIG, { alice: { groups: ['staff'] } }));
  const nodes = (): readonly World[] => processes().nodes;

  async function setGroups(groups: readonly string[]): Promise<void> {
    for (const { folder } of nodes()) {
      const file = path.join(folder, 'users.json');
      const { users } = JSON.parse(await readFile(file, 'utf8')) as UsersFile;
      const changed = users.map((user) => (user.id === PEOPLE.alice ? { ...user, groups } : user));
      await writeFile(`${file}.draft`, JSON.stringify({ users: changed }));
      await rename(`${file}.draft`, file);
    }
  }

  async function everywhere(ask: (node: World) => Promise<unknown>, answer: unknown): Promise<void> {
    const expected = nodes().flatMap(() => Array.from({ length: AT_ONCE }, () => answer));
    const askAll = async () =>
      Promise.all(nodes().flatMap((node) => Array.from({ length: AT_ONCE }, async () => ask(node))));
    await expect.poll(askAll, { timeout: DEADLINE_MS }).toEqual(expected);
  }

  it('AC-25, AC-26: everything of the app is refused at every worker, other apps go on, and families stay ended', async () => {
    const [node] = nodes() as [World];
    const wiki = await Promise.all(nodes().map(async () => signIn(node, { client: 'web2', scope: SCOPE })));
    const { tokens: kept } = await signIn(node, { client: 'web2', scope: SCOPE });
    const { tokens: other } = await signIn(node, { scope: SCOPE });
    const isActive = async (at: World, token: string, caller: 'web' | 'web2') =>
      (await introspect(at, token, caller))['active'];

    await setGroups([]);
    await everywhere(async (at) => isActive(at, kept.access_token, 'web2'), false);
    await everywhere(async (at) => (await userinfo(at, kept.access_token)).status, 401);
    await everywhere(async (at) => isActive(at, other.access_token, 'web'), true);
    for (const [index, at] of nodes().entries()) {
      const lost = await refresh(at, wiki[index]?.tokens.refresh_token, {}, 'web2');
      expect([lost.status, lost.body['error']]).toEqual([400, 'invalid_grant']);
    }

    await setGroups(['staff']);
    await everywhere(async (at) => isActive(at, kept.access_token, 'web2'), true);
    for (const at of nodes()) {
      for (const { tokens } of wiki) {
        const late = await refresh(at, tokens.refresh_token, {}, 'web2');
        expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
        expect(await isActive(at, tokens.access_token, 'web2')).toBe(false);
      }
    }
    expect((await refresh(node, other.refresh_token)).status).toBe(200);
  });
});
