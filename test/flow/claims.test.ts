// Claims that an app and an API receive: groups and the configuration's own claims, only where their scope was granted.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { type AuthorizeOptions, signIn } from '../world/app.ts';
import { VERIFIER } from '../world/authorization-request.ts';
import { begin, enterPassword, signInAs } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { basic, type ClientId, refresh } from '../world/token-endpoint.ts';
import {
  API,
  CALLBACK,
  GENEROUS,
  type OpenWorld,
  OTHER_API,
  type SECRETS,
  worldClients,
} from '../world/world.ts';
import { anyStore, useWorld } from '../world/each-store.ts';

type Members = Readonly<Record<string, unknown>>;

const EVERYTHING = 'openid email profile groups storage offline_access reports.read';
const CLIENTS = worldClients({
  web: { scope: EVERYTHING, id_token_claims: 'full' },
  post: { scope: `${EVERYTHING} other.read`, groups_claim: ['wiki', 'managers'] },
  web2: { id_token_claims: 'full' },
});
const CONFIG = {
  ...GENEROUS,
  groups: { staff: 'Employees', wiki: 'Wiki editors', managers: 'Managers' },
  scopes: {
    storage: { claims: ['quota', 'shares', 'external'], description: 'See your storage quota' },
    profile: { claims: ['department'] },
  },
  resources: [
    {
      resource: API,
      scopes: ['reports.read', 'reports.write'],
      introspection_clients: ['rs1'],
      access_token_claims: ['groups', 'quota', 'email'],
    },
    { resource: OTHER_API, scopes: ['other.read'], introspection_clients: ['rs1'] },
  ],
  clients: CLIENTS,
};
const ALICE = {
  groups: ['wiki', 'staff'],
  claims: { department: 'Research', quota: 5, shares: ['a', 'b'], external: false },
};
const PEOPLE = { alice: ALICE };

type Seen = {
  readonly idToken: Members;
  readonly userinfo: Members;
  readonly accessToken: Members;
  readonly introspection: Members;
};
const PLACES = ['idToken', 'userinfo', 'accessToken', 'introspection'] as const;

async function seenBy(world: OpenWorld, tokens: Members): Promise<Seen> {
  const accessToken = String(tokens['access_token']);
  return {
    idToken: decodeJwt(String(tokens['id_token'])),
    userinfo: (await userinfo(world, accessToken)).body,
    accessToken: decodeJwt(accessToken),
    introspection: await introspect(world, accessToken),
  };
}

/** The claims after a sign-in, and those after a refresh. */
async function seenByAll(world: OpenWorld, options: AuthorizeOptions & { readonly client: ClientId }) {
  const { tokens } = await signIn(world, options);
  const first = await seenBy(world, tokens);
  const id = options.client as keyof typeof SECRETS;
  const renewed =
    id === 'post'
      ? await refreshInForm(world, tokens.refresh_token)
      : (await refresh(world, tokens.refresh_token, {}, id)).body;
  return { tokens, first, second: await seenBy(world, renewed) };
}

const refreshInForm = async (world: OpenWorld, token = '') =>
  (
    await fetch(`${world.base}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: 'post',
        client_secret: 'post-secret-Xo5tR0zB7mL3pD9aJ1yE4uF8hK6hN2c',
      }),
    })
  ).json() as Promise<Members>;

const pick = (members: Seen, name: string) => Object.fromEntries(PLACES.map((at) => [at, members[at][name]]));
const everywhere = (value: unknown) => Object.fromEntries(PLACES.map((at) => [at, value]));

anyStore('groups', { config: CONFIG, people: PEOPLE }, (world) => {
  it('AC-15: appear nowhere without their scope, also to an app that had it before', async () => {
    const { browser } = await signIn(world(), { scope: EVERYTHING });
    const { tokens } = await signIn(world(), { browser, scope: 'openid offline_access reports.read' });
    const again = await refresh(world(), tokens.refresh_token);
    for (const answer of [tokens, again.body]) {
      expect(pick(await seenBy(world(), answer), 'groups')).toEqual(everywhere(undefined));
      expect(pick(await seenBy(world(), answer), 'quota')).toEqual(everywhere(undefined));
    }
  });

  it('AC-15: are a sorted array wherever their scope was granted and the place is one for them', async () => {
    const scope = 'openid groups offline_access reports.read';
    for (const [person, groups] of [
      ['alice', ['staff', 'wiki']],
      ['bob', []],
    ] as const) {
      const { first, second } = await seenByAll(world(), { client: 'web', person, scope });
      expect([pick(first, 'groups'), pick(second, 'groups')]).toEqual([
        everywhere(groups),
        everywhere(groups),
      ]);
    }
  });

  it('AC-15: are in no ID token without id_token_claims, and cut for the client that holds the token, also for an API', async () => {
    const { first, second } = await seenByAll(world(), {
      client: 'post',
      scope: 'openid groups offline_access reports.read',
    });
    const cut = { ...everywhere(['wiki']), idToken: undefined };
    expect([pick(first, 'groups'), pick(second, 'groups')]).toEqual([cut, cut]);
  });

  it('go to no API that does not ask for them', async () => {
    const { first } = await seenByAll(world(), {
      client: 'post',
      scope: 'openid groups offline_access other.read',
    });
    expect(pick(first, 'groups')).toEqual({ ...everywhere(undefined), userinfo: ['wiki'] });
  });

  it('go to an API that is named, and in the ID token, where userinfo has no say', async () => {
    const { tokens } = await signIn(world(), {
      client: 'web2',
      scope: 'openid reports.read',
      parameters: { resource: API },
    });
    expect(decodeJwt(tokens.access_token)).not.toHaveProperty('groups');
    const named = await signIn(world(), {
      client: 'web',
      scope: 'openid groups offline_access reports.read',
      parameters: { resource: API },
    });
    const claims = decodeJwt(named.tokens.access_token);
    expect([claims['scope'], claims['groups']]).toEqual(['reports.read', ['staff', 'wiki']]);
    expect(await introspect(world(), named.tokens.access_token)).toMatchObject({
      groups: ['staff', 'wiki'],
    });
    const fewer = await refresh(world(), named.tokens.refresh_token, { scope: 'reports.read' });
    const { access_token: jwt } = fewer.body;
    expect(decodeJwt(String(jwt))).not.toHaveProperty('groups');
    expect(await introspect(world(), String(jwt))).not.toHaveProperty('groups');
  });
});

anyStore('a claim of the configuration', { config: CONFIG, people: PEOPLE }, (world) => {
  it('AC-17: comes with its scope alone, of whatever kind it is', async () => {
    const { first, second } = await seenByAll(world(), {
      client: 'web',
      scope: 'openid storage offline_access reports.read',
    });
    for (const all of [first, second]) {
      expect(pick(all, 'quota')).toEqual(everywhere(5));
      expect(all.userinfo).toMatchObject({ shares: ['a', 'b'], external: false });
      expect(pick(all, 'shares')).toMatchObject({ accessToken: undefined, introspection: undefined });
      expect(pick(all, 'department')).toEqual(everywhere(undefined));
    }
  });

  it('AC-17: leaks to no app and no API that has another scope', async () => {
    const scope = 'openid email profile groups offline_access reports.read';
    const { first, second } = await seenByAll(world(), { client: 'web', scope });
    for (const all of [first, second]) {
      expect(pick(all, 'quota')).toEqual(everywhere(undefined));
      expect(all.userinfo).toMatchObject({ name: 'Alice Example', department: 'Research' });
      expect(pick(all, 'email')).toEqual(everywhere('alice@example.com'));
    }
  });

  it('AC-36: is named on the consent page in the words of the configuration, and groups in those of the language', async () => {
    const parameters = { scope: 'openid groups storage', ui_locales: 'de' };
    const { browser, page } = await begin(world(), parameters);
    const consent = await signInAs(browser, page, 'alice');
    const words = [...consent.text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text);
    expect(words.slice(1)).toEqual(['Ihre Gruppen sehen', 'See your storage quota']);
  });

  it('AC-36: the consent page lists what is granted, each line of it, and nothing else is granted', async () => {
    const parameters = { scope: 'openid email offline_access reports.read storage', prompt: 'consent' };
    const { browser, page: consent } = await enterPassword(world(), { ...parameters, resource: API });
    expect(consent.text).toContain(`<bdi>${API}</bdi>`);
    expect([...consent.text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text)).toEqual([
      'Confirm your identity',
      'See your email address',
      'Stay connected when you’re not using it',
      'See your storage quota',
      'reports.read',
    ]);
    const back = new URL((await browser.submit(consent, '/consent')).url);
    const form = { grant_type: 'authorization_code', redirect_uri: CALLBACK, code_verifier: VERIFIER };
    const { body } = await post(
      world(),
      '/oauth/token',
      { ...form, code: back.searchParams.get('code') ?? '' },
      { authorization: basic('web') },
    );
    // The scopes of the grant: the access token is for the API alone.
    const { scope } = await introspect(world(), String(body['refresh_token']), 'web');
    expect(scope).toBe(parameters.scope);
  });

  it('is in discovery, with its scope', async () => {
    const { body } = await get(world(), '/.well-known/openid-configuration');
    expect(body['scopes_supported']).toEqual([
      'openid',
      'email',
      'profile',
      'offline_access',
      'groups',
      'storage',
    ]);
    expect(body['claims_supported']).toEqual(expect.arrayContaining(['groups', 'quota', 'department']));
  });
});

describe('after the file has changed', () => {
  const world = useWorld({ config: CONFIG, people: PEOPLE });

  it('userinfo, introspection and a refreshed ID token have the claims of now', async () => {
    const { tokens } = await signIn(world(), { scope: EVERYTHING });
    const bob = await signIn(world(), { scope: EVERYTHING, person: 'bob' });
    await world().reload(CONFIG, {
      alice: { groups: ['managers'], claims: {} },
      bob: { groups: ['wiki'], claims: { quota: 1 } },
    });
    const old = await seenBy(world(), tokens);
    expect(pick(old, 'groups')).toEqual({
      ...everywhere(['staff', 'wiki']),
      userinfo: ['managers'],
      introspection: ['managers'],
    });
    expect(old.introspection).not.toHaveProperty('quota');
    // As in production: at level debug every request goes through the middleware.
    world().recorded.telemetry.log.level = 'info';
    expect(await introspect(world(), tokens.access_token)).toEqual(old.introspection);
    world().recorded.telemetry.log.level = 'debug';
    expect(await introspect(world(), bob.tokens.access_token)).toMatchObject({ groups: ['wiki'], quota: 1 });
    const { body } = await refresh(world(), tokens.refresh_token);
    expect(pick(await seenBy(world(), body), 'groups')).toEqual(everywhere(['managers']));
  });

  it('an API and a client that lost the right see nothing more', async () => {
    await world().reload(CONFIG, PEOPLE);
    const { tokens } = await signIn(world(), { scope: EVERYTHING });
    const [api, ...others] = CONFIG.resources;
    await world().reload(
      { ...CONFIG, resources: [{ ...api, access_token_claims: ['quota'] }, ...others] },
      PEOPLE,
    );
    const left = await introspect(world(), tokens.access_token);
    expect([left['groups'], left['quota'], left['email']]).toEqual([undefined, 5, undefined]);
    const clients = CLIENTS.map((client) =>
      client.client_id === 'web' ? { ...client, scope: 'openid email offline_access reports.read' } : client,
    );
    await world().reload({ ...CONFIG, clients }, PEOPLE);
    const less = await seenBy(world(), tokens);
    expect([less.userinfo['groups'], less.introspection['groups'], less.introspection['quota']]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(less.introspection).toMatchObject({ active: true, email: 'alice@example.com' });
  });
});

describe('a user in very many groups', () => {
  const MANY = Array.from({ length: 400 }, (_, index) => `group-${String(index).padStart(34, '0')}`);
  const groups = Object.fromEntries(MANY.map((name) => [name, 'A group']));
  const clients = CLIENTS.map((client) => ({ ...client, groups_claim: undefined }));
  const resources = [
    { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'] },
    ...CONFIG.resources.slice(1),
  ];

  const IN_MANY_GROUPS = {
    config: { ...GENEROUS, groups, scopes: CONFIG.scopes, resources, clients },
    people: { alice: { groups: MANY }, bob: { groups: MANY.slice(0, 80) } },
  };

  anyStore('signs in', IN_MANY_GROUPS, (world) => {
    it('AC-29: with an ID token that passes a proxy, groups at userinfo, and no cookie that is too large', async () => {
      const scope = 'openid groups offline_access reports.read';
      const { tokens, browser } = await signIn(world(), { scope });
      const renewed = (await refresh(world(), tokens.refresh_token)).body;
      for (const answer of [tokens, renewed]) {
        const idToken = String(answer['id_token']);
        expect(idToken.length).toBeLessThan(8 * 1024);
        expect(decodeJwt(idToken)).not.toHaveProperty('groups');
        expect(String(answer['access_token']).length).toBeLessThan(2 * 1024);
        expect((await userinfo(world(), String(answer['access_token']))).body['groups']).toEqual(MANY);
      }
      for (const { name, value } of browser.cookies) {
        expect(name.length + value.length, name).toBeLessThan(4 * 1024);
      }
    });

    it('AC-29: and one whose ID token is short enough still has them', async () => {
      const { tokens } = await signIn(world(), { person: 'bob', scope: 'openid groups' });
      expect(decodeJwt(String(tokens.id_token))['groups']).toEqual(MANY.slice(0, 80));
    });
  });
});
