// Ends all sessions of a user from the command line, and one at the account page, while two processes serve.
import { describe, expect, it } from 'vitest';
import { startTwoProcesses } from '../../world/two-processes.ts';
import { openAccount } from '../../world/account-page.ts';
import { signIn } from '../../world/app.ts';
import { begin, newBrowser, silently } from '../../world/person.ts';
import { userinfo } from '../../world/presented-tokens.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { WORLD_ENV } from '../../world/world.ts';
import { useEnvironment } from '../../world/terminal.ts';
import { useStarted } from '../../world/started.ts';

const ALICE = { username: 'alice' };

useEnvironment(() => WORLD_ENV);

describe.each(['lmdb', 'redis'] as const)('two processes on %s', (store) => {
  const two = useStarted(() =>
    startTwoProcesses(store, { account: true, lifetimes: { consent: '30d' } }, {}, { slowMs: 3 }),
  );

  it('MF-39: what a person ends at one node is over at the other', async () => {
    const [first, second] = two().nodes;
    const here = newBrowser(first);
    await openAccount(first, here, ALICE);
    const web2 = await signIn(first, { browser: here, client: 'web2' });
    const there = newBrowser(second);
    await openAccount(second, there, ALICE);
    const web = await signIn(second, { browser: there });
    const short = await signIn(second, { browser: there, client: 'spa', scope: 'openid' });
    for (const { tokens } of [web, short]) {
      expect((await userinfo(second, tokens.access_token)).status).toBe(200);
    }

    const page = await openAccount(first, here, ALICE);
    const ended = await here.submit(page, '/end-others');
    expect(await silently(second, there, { client_id: 'first-party' })).toBe('login_required');
    // Offline access continues without its session; any other access ends with it.
    expect((await userinfo(second, short.tokens.access_token)).status).toBe(401);
    const renewed = await refresh(second, web.tokens.refresh_token);
    expect(renewed.status).toBe(200);

    const token = String(renewed.body['access_token']);
    expect((await userinfo(second, token)).status).toBe(200);
    const after = await here.submit(ended, '/withdraw', { id: 'web' });
    expect(after.text).toContain('no longer has access');
    for (const node of [second, first]) {
      expect((await userinfo(node, token)).status).toBe(401);
      expect((await refresh(node, String(renewed.body['refresh_token']))).status).toBe(400);
    }
    expect((await refresh(second, web2.tokens.refresh_token, {}, 'web2')).status).toBe(200);
    const again = newBrowser(second);
    await openAccount(second, again, ALICE);
    expect((await begin(second, {}, { browser: again })).page.text).toContain('/consent"');
  });
});
