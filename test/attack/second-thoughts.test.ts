// Changes that another request must not undo: a sign-out with a request in flight, a refusal with a consent in flight, a
// changed password, a retried revocation, a mistyped resource.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { hashPassword } from '../../src/users/passwords.ts';
import { loadConfigWithSources } from '../../src/config/load.ts';
import { createServer, type Server } from '../../src/server/server.ts';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { authorize, exchange, signIn } from '../world/app.ts';
import { begin as beginSignIn, silently } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { PASSWORDS, PEOPLE, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { refresh } from '../world/token-endpoint.ts';
import { moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';
import { tempFolder } from '../world/temp-folder.ts';

describe('RT-10: a password that was entered before the user was signed out everywhere', () => {
  standingClock();
  // With the account page, the answer to the password redirects to the next step of the sign-in.
  const world = useWorld({ config: { account: true } });

  /** Sends the correct password, and holds the redirect that follows. */
  async function typePassword() {
    const { browser, page } = await beginSignIn(world(), { scope: 'openid' });
    const answer = await browser.send(page, '/login', { username: 'alice', password: PASSWORDS.alice });
    expect(answer.status).toBe(303);
    return { browser, next: answer.headers.get('location') ?? '' };
  }

  it('signs nobody in when the browser comes back afterwards', async () => {
    const { browser, next } = await typePassword();
    // The same change as by `postern user sign-out`.
    const validAfter = Math.floor(Date.now() / 1000) + 1;
    await createAccountStates(world().openedStore.documents).update(PEOPLE.alice, { validAfter });
    moveClock(60);
    expect((await browser.open(next)).text).toContain('name="password"');
    expect(await silently(world(), browser, { scope: 'openid' })).toBe('login_required');
  });

  it('is behind tokens that were issued a moment later, which are dead too', async () => {
    moveClock(60);
    const authorized = await authorize(world());
    const ended = Math.floor(Date.now() / 1000) + 1;
    // A slow request, or a machine whose clock is ahead.
    moveClock(30);
    const { tokens } = await exchange(authorized);
    expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
    await createAccountStates(world().openedStore.documents).update(PEOPLE.alice, { validAfter: ended });
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
    expect(await introspect(world(), tokens.access_token)).toEqual({ active: false });
    expect((await refresh(world(), tokens.refresh_token)).body['error']).toBe('invalid_grant');
  });
});

describe('a file that changes', () => {
  const folder = tempFolder();
  let world: World;
  let service: Server;
  beforeAll(async () => {
    world = await writeWorldConfig(folder);
    service = await begin();
  });
  afterAll(() => service.stop());

  const load = () => loadConfigWithSources(world.configFile, { env: WORLD_ENV });

  async function begin(): Promise<Server> {
    const started = await createServer(await load(), { now: () => Date.now() });
    await started.start();
    return started;
  }

  async function editUsers(edit: (user: Record<string, unknown>) => Record<string, unknown>): Promise<void> {
    const file = path.join(folder, 'users.json');
    const { users } = JSON.parse(await readFile(file, 'utf8')) as { users: Record<string, unknown>[] };
    await writeFile(
      file,
      JSON.stringify({ users: users.map((user) => (user['id'] === PEOPLE.alice ? edit(user) : user)) }),
    );
  }

  async function reload(): Promise<void> {
    const { config, hash } = await load();
    await service.replace({ config, hash });
  }

  it('RT-10: a changed password ends what was issued before, when it changed while the service was down', async () => {
    const password = await hashPassword('another-password-1');
    const original = (await load()).config.users[0]?.passwordHash ?? '';
    const { tokens } = await signIn(world);
    await service.stop();
    await editUsers((user) => ({ ...user, password_hash: password }));
    service = await begin();
    expect((await userinfo(world, tokens.access_token)).status).toBe(401);
    expect(await refresh(world, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });

    await editUsers((user) => ({ ...user, password_hash: original }));
    await reload();
  });
});
