// OIDC Back-Channel Logout 1.0, with apps on a real host of this machine.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import Provider from 'oidc-provider';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { authorize, sidOf, signIn } from '../../world/app.ts';
import { HOUR, moveClock, standingClock, until } from '../../world/clock.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { begin, idOf, newBrowser, silently, signOut } from '../../world/person.ts';
import { anyStore, eachStore, useWorld } from '../../world/each-store.ts';
import { startLogoutReceiver } from '../../world/logout-receiver.ts';
import { get } from '../../world/requests.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { untilTold } from '../../world/expect-act.ts';
import { createTurns } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE, worldClients } from '../../world/world.ts';

const MEMBERS = ['backchannel_logout_supported', 'backchannel_logout_session_supported'];

const receiver = await startLogoutReceiver();
afterAll(() => receiver.stop());

const config = {
  ...GENEROUS,
  outgoing: receiver.outgoing,
  account: true,
  clients: receiver.clients('web', 'web2'),
};

/** The app `web` is for one group. */
const grouped = (group: string) => ({
  ...config,
  groups: { staff: 'Employees', board: 'Directors' },
  clients: config.clients.map((client) =>
    client.client_id === 'web' ? { ...client, access: { groups: [group] } } : client,
  ),
});

const outcomes = ({ recorded }: OpenWorld) =>
  recorded
    .audit('app_logout')
    .map(({ outcome, client_id: id }) => `${outcome} ${String(id)}`)
    .toSorted();

const offered = async (world: OpenWorld) =>
  Object.keys((await get(world, '/.well-known/openid-configuration')).body).filter((name) =>
    name.startsWith('backchannel'),
  );

eachStore('a session ends at its apps', { config }, (world) => {
  it('PR-03: the sign-out page sends each app that wants it one logout token, and no other', async () => {
    const browser = newBrowser(world());
    const web = await signIn(world(), { browser });
    const web2 = await signIn(world(), { browser, client: 'web2' });
    const spa = await signIn(world(), { browser, client: 'spa', scope: 'openid' });
    expect(sidOf(web)).toEqual(expect.any(String));
    expect(sidOf(web2)).not.toBe(sidOf(web));
    expect(sidOf(spa)).toBeUndefined();
    const before = receiver.connections();
    await signOut(world(), web.browser);

    const keys = createRemoteJWKSet(new URL(`${world().base}/oauth/jwks.json`));
    const ids = new Set();
    for (const app of [web, web2]) {
      const [sent, ...others] = await receiver.wait(sidOf(app));
      expect([sent?.path, sent?.fields, others]).toEqual([`/${app.client}`, ['logout_token'], []]);
      expect(sent?.headers['content-type']).toBe('application/x-www-form-urlencoded');
      expect(sent?.header).toEqual({ alg: 'RS256', typ: 'logout+jwt', kid: expect.any(String) });
      const { payload } = await jwtVerify(sent?.token ?? '', keys, { typ: 'logout+jwt' });
      const { iat = 0, exp = 0, jti, ...claims } = payload;
      ids.add(jti);
      expect(exp - iat).toBeLessThanOrEqual(120);
      expect(claims).toEqual({
        iss: world().issuer,
        aud: app.client,
        sub: PEOPLE.alice,
        sid: sidOf(app),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      });
    }
    expect(ids.size).toBe(2);
    expect(receiver.connections()).toBe(before + 2);
    const notified = ['success web', 'success web2'];
    await until(() => expect(outcomes(world())).toEqual(notified));
  });

  it('PR-10: names the session of this browser, and the other one goes on', async () => {
    const first = await signIn(world());
    const second = await signIn(world());
    expect(sidOf(first)).not.toBe(sidOf(second));
    await signOut(world(), first.browser);
    expect(await receiver.wait(sidOf(first))).toHaveLength(1);
    await untilTold(world());
    expect(receiver.of(sidOf(second))).toEqual([]);
    expect(await silently(world(), second.browser, { scope: 'openid' })).not.toBe('login_required');
    expect((await refresh(world(), second.tokens.refresh_token)).status).toBe(200);
  });

  it('PR-10: an app that the user opened and allowed nothing hears of no end, nor does its session elsewhere', async () => {
    const elsewhere = await signIn(world());
    const browser = newBrowser(world());
    const web2 = await signIn(world(), { browser, client: 'web2' });
    const { page } = await begin(world(), { client_id: 'web', scope: 'openid' }, { browser });
    expect(page.text).toContain('/consent"');
    await signOut(world(), web2.browser);
    await receiver.wait(sidOf(web2));
    await untilTold(world());
    expect([...receiver.of(undefined), ...receiver.of(sidOf(elsewhere))]).toEqual([]);
  });

  it('another user who signs in ends the session of the one before', async () => {
    const { browser, ...first } = await signIn(world());
    const answer = await authorize(world(), { browser, person: 'bob', parameters: { prompt: 'login' } });
    expect(answer.code).toEqual(expect.any(String));
    const [sent] = await receiver.wait(sidOf({ browser, ...first }));
    expect(sent?.claims.sub).toBe(PEOPLE.alice);
  });

  it('every ID token of such an app has the sid, also at a refresh', async () => {
    const app = await signIn(world());
    const { body } = await refresh(world(), app.tokens.refresh_token);
    expect(decodeJwt(String(body['id_token']))['sid']).toBe(sidOf(app));
    // At this level the fast path answers, as in production.
    const { log } = world().recorded.telemetry;
    const { level } = log;
    log.level = 'info';
    const asked = vi.spyOn(Provider, 'ctx', 'get');
    const again = await refresh(world(), String(body['refresh_token']));
    expect(asked.mock.results.filter(({ value }) => value !== undefined)).toEqual([]);
    asked.mockRestore();
    log.level = level;
    expect(decodeJwt(String(again.body['id_token']))['sid']).toBe(sidOf(app));
  });

  it('discovery says so', async () => {
    expect(await offered(world())).toEqual(MEMBERS);
  });
});

describe('PR-41: logout tokens of an app with its own algorithm', () => {
  const APPS = new Map<string, string>([
    ['web', 'EdDSA'],
    ['web2', 'ES256'],
    ['post', 'PS256'],
    ['spa', 'RS256'],
  ]);
  const clients = receiver.clients(...APPS.keys()).map((client) => {
    const alg = APPS.get(client.client_id);
    return { ...client, ...(alg && { id_token_signed_response_alg: alg }) };
  });
  const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
  const world = useWorld({ config: { ...config, clients, signing_keys: { algorithms } } });

  it('are signed by it', async () => {
    const keys = createRemoteJWKSet(new URL(`${world().base}/oauth/jwks.json`));
    for (const client of ['web', 'web2', 'post', 'spa'] as const) {
      const app = await signIn(world(), { client, scope: 'openid' });
      await signOut(world(), app.browser);
      const [sent] = await receiver.wait(sidOf(app));
      const { protectedHeader } = await jwtVerify(sent?.token ?? '', keys, { audience: client });
      expect(protectedHeader.alg).toBe(APPS.get(client));
    }
  });
});

describe('an app that refuses a logout token', () => {
  const world = useWorld({ config });

  it.each([400, 401, 404])('with %s gets no other one, and the trail has it', async (status) => {
    receiver.answer('/web2', (response) => response.writeHead(status).end());
    const app = await signIn(world(), { client: 'web2' });
    await signOut(world(), app.browser);
    const reason = `status_${status}`;
    await until(() =>
      expect(world().recorded.audit('app_logout').at(-1)).toMatchObject({ client_id: 'web2', reason }),
    );
    expect(receiver.of(sidOf(app))).toHaveLength(1);
    expect(await world().openedStore.documents.list('logouts')).toEqual([]);
    receiver.answer('/web2');
  });
});

describe('jobs that another version or process left', () => {
  const world = useWorld({ config });

  it('are sent, or given up for the reason that the trail has', async () => {
    const { documents } = world().openedStore;
    const since = Date.now();
    const leave = async (sid: string, more: object) => {
      const job = { clientId: 'web', accountId: PEOPLE.alice, sid, since, notBefore: since, failures: 0 };
      await documents.put('logouts', sid, JSON.stringify({ ...job, ...more, v: 1 }), 0);
    };
    await leave('earlier', {});
    await leave('ended-processes', { failures: 7 });
    await leave('of-no-app', { clientId: 'gone', since: since - 25 * HOUR * 1000 });
    expect((await receiver.wait('earlier'))[0]?.claims.sub).toBe(PEOPLE.alice);
    await until(() => expect(world().recorded.audit('app_logout')).toHaveLength(3));
    const reasons = world()
      .recorded.audit('app_logout')
      .map(({ client_id: id, reason }) => `${String(id)} ${String(reason)}`);
    expect(reasons.toSorted()).toEqual(['gone unknown_client', 'web cut_off', 'web undefined']);
  });
});

describe('a file that changes', () => {
  const world = useWorld({ config });

  it('ends the sessions of users with another password, and of those who left', async () => {
    const [alice, bob] = [await signIn(world()), await signIn(world(), { person: 'bob' })];
    await world().reload(config, { alice: { disabled: true } });
    await receiver.wait(sidOf(alice));
    await untilTold(world());
    expect(receiver.of(sidOf(bob))).toEqual([]);
    await world().reload(config, { bob: { id: 'usr_another00000000000' } });
    expect((await receiver.wait(sidOf(bob)))[0]?.claims.sub).toBe(PEOPLE.bob);
  });

  it('is taken over whole, also where the store was away in the middle of it', async () => {
    await world().reload(config, {});
    const app = await signIn(world());
    const { documents } = world().openedStore;
    const put = documents.put.bind(documents);
    const refuse = (refused: string) => {
      documents.put = async (collection, ...rest) =>
        collection === refused ? Promise.reject(new StoreUnavailable()) : put(collection, ...rest);
    };
    const without = { alice: { disabled: true } };
    refuse('user-events');
    await expect(world().reload(config, without)).rejects.toThrow(StoreUnavailable);
    // The apps are notified when the store is back, whatever the result of the reload.
    refuse('logouts');
    await world().reload(config, without);
    await until(async () => {
      const [event] = await documents.list('user-events');
      expect(JSON.parse(event?.value ?? '{}')).toMatchObject({ accountId: PEOPLE.alice, failures: 1 });
    });
    documents.put = put;
    expect((await receiver.wait(sidOf(app)))[0]?.claims.sub).toBe(PEOPLE.alice);
  });
});

const STAFF = {
  config: grouped('staff'),
  people: { alice: { groups: ['staff'] }, bob: { groups: ['staff'] } },
};
anyStore('groups that change in the file', STAFF, (world) => {
  it('end the session at an app that is not for the user any more, there alone', async () => {
    const [alice, bob] = [await signIn(world()), await signIn(world(), { person: 'bob' })];
    const browser = alice.browser;
    const other = await signIn(world(), { browser, client: 'web2' });
    await world().reload(grouped('staff'), { alice: {}, bob: { groups: ['staff'] } });
    expect((await receiver.wait(sidOf(alice)))[0]?.claims.sub).toBe(PEOPLE.alice);
    await untilTold(world());
    expect(receiver.of(sidOf(other))).toEqual([]);
    await world().reload(grouped('board'), { alice: {}, bob: { groups: ['staff'] } });
    expect((await receiver.wait(sidOf(bob)))[0]?.claims.sub).toBe(PEOPLE.bob);
    expect(receiver.of(sidOf(alice))).toHaveLength(1);
    await signOut(world(), other.browser);
    await receiver.wait(sidOf(other));
    expect(receiver.of(sidOf(alice))).toHaveLength(1);
  });

  it('do so for a user of the store, too', async () => {
    const username = 'person7';
    await world().reload(grouped('staff'), { alice: {}, bob: {} });
    const passwordHash = await hashPassword(PASSWORDS.alice);
    const stored = { id: idOf(username), username, passwordHash, claims: {}, groups: ['staff'] };
    expect(await createStoredUsers(world().openedStore).add(stored)).toBe(true);
    const app = await signIn(world(), { person: username });
    const other = await signIn(world(), { person: username, client: 'web2' });
    await world().reload(grouped('board'), { alice: {}, bob: {} });
    expect((await receiver.wait(sidOf(app)))[0]?.claims.sub).toBe(stored.id);
    expect(receiver.of(sidOf(other))).toEqual([]);
  });
});

describe('a session that runs out', () => {
  standingClock();
  const turns = createTurns();
  const hour = { ...config, lifetimes: { session: '1h', session_absolute: '1h' } };
  const world = useWorld({ config: hour, rotationTimer: turns.timer });

  it('ends no session of an app, neither then nor when the user signs in again or is signed out', async () => {
    const app = await signIn(world());
    const before = receiver.connections();
    moveClock(2 * HOUR);
    await turns.turn();
    expect(await silently(world(), app.browser, { scope: 'openid' })).toBe('login_required');
    const later = await signIn(world(), { browser: app.browser });
    await signOut(world(), later.browser);
    await receiver.wait(sidOf(later));
    await untilTold(world());
    expect(receiver.of(sidOf(app))).toEqual([]);
    expect(receiver.connections()).toBe(before + 1);
  });
});

describe('without such an app', () => {
  const world = useWorld({ config: { ...GENEROUS, clients: worldClients() } });

  it('nothing is offered, put into tokens, written or sent', async () => {
    const { documents } = world().openedStore;
    const list = documents.list.bind(documents);
    const asked = new Set<string>();
    documents.list = async (collection) => list((asked.add(collection), collection));
    // Waits for the check that runs every second.
    await until(() => expect(asked).toContain('user-events'));
    const app = await signIn(world());
    await signOut(world(), app.browser);
    expect(sidOf(app)).toBeUndefined();
    expect(await offered(world())).toEqual([]);
    expect(asked).not.toContain('logouts');
    expect(await list('logouts')).toEqual([]);
  });
});
