// What one request must not undo of another: a sign-out with a request in flight, a refusal with a consent in flight, a
// changed password, a retried revocation, a mistyped resource.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { loadConfigWithSources } from '../../src/config/load.ts';
import { createService, type Service } from '../../src/service.ts';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../servers.ts';
import { authorize, basic, introspect, machineToken, post, signIn, userinfo } from '../world/flows.ts';
import { PEOPLE, WORLD_ENV, startWorld, writeWorldConfig, type World } from '../world/world.ts';

describe('requests in flight', () => {
  let world: World;
  beforeAll(async () => {
    const wide = { address: '100000/1m' };
    world = await startWorld({ config: { rate_limits: { authorization: wide, logout: wide } } });
  });
  afterAll(() => world.stop());

  const silently = { prompt: 'none' };

  it('LO-11: a session that was signed out stays dead, whatever else its cookie was used for at that moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { browser } = await authorize(world, { client: 'first-party', scope: 'openid' });
      const stolen = browser.cookies;
      const asking = await browser.open(`${world.issuer}/oauth/logout`);
      const query = '/oauth/authorize?client_id=first-party&prompt=none&response_type=code&scope=openid';
      const polls = [1, 2, 3].map(() => browser.request(`${world.issuer}${query}`));
      await Promise.all([browser.submit(asking, '/oauth/logout/confirm', { logout: 'yes' }), ...polls]);
      for (const cookie of stolen) browser.setCookie(cookie);
      const { callback } = await authorize(world, {
        client: 'first-party',
        scope: 'openid',
        browser,
        parameters: silently,
      });
      expect(callback.searchParams.get('error')).toBe('login_required');
    }
  });

  it('RT-01: a resource that was not granted is refused before the refresh token is used up', async () => {
    const { tokens } = await signIn(world);
    const refresh = (resource?: string) =>
      post(
        world,
        '/oauth/token',
        {
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh_token ?? '',
          ...(resource !== undefined && { resource }),
        },
        { authorization: basic('web') },
      );
    expect(await refresh('urn:typo')).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    expect((await refresh()).status).toBe(200);
  });

  it('AZ: what comes back as state is what was sent, placeholders of ours included', async () => {
    const state = '\u0001id\u0001 \u0001';
    const { callback } = await authorize(world, {
      client: 'first-party',
      scope: 'openid',
      parameters: { state },
    });
    expect(callback.searchParams.get('state')).toBe(state);
  });

  it('answers JWKS and discovery without a cookie, whatever language is asked for', async () => {
    for (const file of ['/oauth/jwks.json', '/.well-known/openid-configuration']) {
      const answer = await fetch(`${world.base}${file}?lang=de`);
      expect(answer.status).toBe(200);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  });
});

describe('a file that changes', () => {
  let folder: string;
  let world: World;
  let service: Service;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'postern-changed-'));
    const ports = [await freePort(), await freePort()] as const;
    const written = await writeWorldConfig(folder, {}, ports);
    world = { ...written, folder, management: '', stop: () => Promise.resolve() };
    service = await begin();
  });
  afterAll(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const load = () => loadConfigWithSources(world.configFile, { env: WORLD_ENV });

  async function begin(): Promise<Service> {
    const started = await createService((await load()).config, {
      now: () => Date.now(),
    });
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
    await service.reconfigure(config, hash);
  }

  const refresh = (token = '') =>
    post(
      world,
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token: token },
      { authorization: basic('web') },
    );

  it('RT-10: a changed password ends what was issued before, also when it changed while the service was down', async () => {
    const password = await hashPassword('another-password-1');
    const original = (await load()).config.users[0]?.passwordHash ?? '';
    const { tokens } = await signIn(world);
    await editUsers((user) => ({ ...user, password_hash: password }));
    await reload();
    expect((await userinfo(world, tokens.access_token)).status).toBe(401);
    expect(await refresh(tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });

    await editUsers((user) => ({ ...user, password_hash: original }));
    await reload();
    await new Promise((resolve) => setTimeout(resolve, 1100)); // tokens carry whole seconds
    const later = await signIn(world);
    await service.stop();
    await editUsers((user) => ({ ...user, password_hash: password }));
    service = await begin();
    expect((await userinfo(world, later.tokens.access_token)).status).toBe(401);
    await editUsers((user) => ({ ...user, password_hash: original }));
    await reload();
  });

  it('IS-08: a person who was disabled in the file comes back without what they had', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const { tokens } = await signIn(world);
    await editUsers((user) => ({ ...user, disabled: true }));
    await reload();
    expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    await editUsers((user) => ({ ...user, disabled: false }));
    await reload();
    expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    expect((await refresh(tokens.refresh_token)).status).toBe(400);
  });

  it('CF-05: a narrowed scope reaches the machine tokens that are out', async () => {
    const token = await machineToken(world, 'reports.read reports.write');
    const file = JSON.parse(await readFile(world.configFile, 'utf8')) as {
      clients: Record<string, unknown>[];
    };
    const clients = file.clients.map((client) =>
      client['client_id'] === 'svc' ? { ...client, scope: 'reports.read' } : client,
    );
    await writeFile(world.configFile, JSON.stringify({ ...file, clients }));
    await reload();
    expect(await introspect(world, token)).toMatchObject({ active: true, scope: 'reports.read' });
  });
});
