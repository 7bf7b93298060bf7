// Random files of groups, apps, APIs and users: what a user gets from each, compared with a second implementation of the rules, wherever
// access is granted, before and after a random change of the file.
import * as fc from 'fast-check';
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { begin, finishPages } from '../../world/person.ts';
import { introspect, userinfo } from '../../world/presented-tokens.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { API, GENEROUS, OTHER_API, type World, worldClients } from '../../world/world.ts';
import { useWorld } from '../../world/each-store.ts';

const GROUPS = ['staff', 'wiki', 'managers'];
const SCOPES = {
  web: ['openid', 'groups', 'storage', 'offline_access', 'reports.read', 'reports.write', 'other.read'],
  web2: ['openid', 'groups', 'offline_access', 'reports.read'],
};

const PERSONAL = ['openid', 'groups', 'storage'];

type App = keyof typeof SCOPES;
type Who = 'alice' | 'bob';
type Names = readonly string[];
const API_SCOPES: Readonly<Record<string, Names>> = {
  [API]: ['reports.read', 'reports.write'],
  [OTHER_API]: ['other.read'],
};

type ClientRules = { default_scope: Names; access?: Names; groups_claim?: Names; isFull: boolean };
type ApiRules = { default_scopes: Names; access?: Names; scope_groups: Record<string, Names>; claims: Names };
type User = { groups: Names; quota?: number };
type File = {
  readonly clients: Record<App, ClientRules>;
  readonly apis: Record<string, ApiRules>;
  readonly people: Record<Who, User>;
};
type Asked = { readonly app: App; readonly scope: Names; readonly resource?: string };

const some = (from: Names, minLength = 0) => fc.subarray([...from], { minLength });
const rule = some(GROUPS, 1);

const clientRules = (app: App): fc.Arbitrary<ClientRules> =>
  fc.record(
    {
      default_scope: fc
        .constantFrom('reports.read', 'other.read')
        .chain((api) => some(SCOPES[app].filter((scope) => scope === api || PERSONAL.includes(scope)))),
      access: rule,
      groups_claim: rule,
      isFull: fc.boolean(),
    },
    { requiredKeys: ['default_scope', 'isFull'] },
  );

const apiRules = (scopes: Names): fc.Arbitrary<ApiRules> =>
  fc.record(
    {
      default_scopes: some(scopes),
      access: rule,
      scope_groups: fc.dictionary(fc.constantFrom(...scopes), some(GROUPS, 1), { maxKeys: 2 }),
      claims: some(['groups', 'quota']),
    },
    { requiredKeys: ['default_scopes', 'scope_groups', 'claims'] },
  );

const person = fc.record(
  { groups: some(GROUPS), quota: fc.nat(9) },
  { requiredKeys: ['groups'] },
) as fc.Arbitrary<User>;

const files: fc.Arbitrary<File> = fc.record({
  clients: fc.record({ web: clientRules('web'), web2: clientRules('web2') }),
  apis: fc.record({ [API]: apiRules(API_SCOPES[API] ?? []), [OTHER_API]: apiRules(['other.read']) }),
  people: fc.record({ alice: person, bob: person }),
});

/** Valid requests, and some whose scopes and API don't match. */
const requests: fc.Arbitrary<Asked> = fc
  .record({
    app: fc.constantFrom<App>('web', 'web', 'web2'),
    api: fc.constantFrom(API, API, OTHER_API),
    isNamed: fc.boolean(),
    kind: fc.constantFrom('right', 'right', 'right', 'right', 'none', 'wild'),
    wild: some(SCOPES.web),
    right: some(['openid', 'groups', 'storage', 'offline_access', 'reports.read', 'reports.write']),
  })
  .map(({ app, api, isNamed, kind, wild, right }) => {
    const beside = right.filter((scope) => SCOPES[app].includes(scope) && !scope.startsWith('reports'));
    const owned = API_SCOPES[api]?.filter((scope) => SCOPES[app].includes(scope)) ?? [];
    const chosen = owned.filter((scope, index) => index === 0 || right.includes(scope));
    const scope = { right: [...beside, ...chosen], none: [], wild }[kind] ?? [];
    return { app, scope, ...(isNamed && { resource: api }) };
  });

const isIn = (names: Names | undefined, { groups }: User) =>
  names?.some((name) => groups.includes(name)) ?? true;

/** Returns the granted names or the error, as documented. */
function reference(file: File, who: Who, { app, scope, resource }: Asked): Names | string {
  const [client, of] = [file.clients[app], file.people[who]];
  const named = resource === undefined ? undefined : file.apis[resource];
  const filled =
    [scope, named?.default_scopes ?? [], client.default_scope].find((one) => one.length > 0) ?? [];
  const owned = (api: string) => filled.filter((one) => API_SCOPES[api]?.includes(one) === true);
  const apis = Object.keys(file.apis).filter((api) => api === resource || owned(api).length > 0);
  const mayName =
    resource === undefined || API_SCOPES[resource]?.some((one) => SCOPES[app].includes(one)) === true;
  if (!mayName) return 'invalid_target';
  if (filled.length === 0 || apis.length > 1 || filled.some((one) => !SCOPES[app].includes(one)))
    return 'invalid_scope';
  if (resource !== undefined && owned(resource).length === 0) return 'invalid_target';
  const api = file.apis[apis[0] ?? ''];
  if (!isIn(client.access, of) || !isIn(api?.access, of)) return 'access_denied';
  const left = filled.filter((one) => isIn(api?.scope_groups[one], of));
  const isLeft = api === undefined || owned(apis[0] ?? '').some((one) => left.includes(one));
  return isLeft || (named === undefined && left.length > 0) ? left : 'access_denied';
}

/** The claims about the user that `granted` gives the app. */
function claimsFor({ clients, people }: File, who: Who, app: App, granted: Names): Record<string, unknown> {
  const { groups, quota } = people[who];
  const cut = groups.filter((name) => clients[app].groups_claim?.includes(name) ?? true).toSorted();
  return {
    ...(granted.includes('groups') && { groups: cut }),
    ...(granted.includes('storage') && { quota }),
  };
}

const pick = (all: object, names: Names) =>
  Object.fromEntries(
    ['groups', 'quota'].map((name) => [name, names.includes(name) ? (all as never)[name] : undefined]),
  );
const BOTH = ['groups', 'quota'];

/** The configuration, and the records of Alice and Bob. */
function writeRules({ clients, apis, people }: File) {
  const access = (groups: Names | undefined) => (groups === undefined ? {} : { access: { groups } });
  const config = {
    ...GENEROUS,
    groups: Object.fromEntries(GROUPS.map((name) => [name, name])),
    scopes: { storage: { claims: ['quota'] } },
    resources: Object.entries(apis).map(([resource, api]) => ({
      resource,
      scopes: API_SCOPES[resource],
      default_scopes: api.default_scopes,
      ...access(api.access),
      scope_groups: api.scope_groups,
      access_token_claims: api.claims,
    })),
    clients: worldClients()
      .filter(({ client_id: id }) => id in clients)
      .map((client) => {
        const app = client.client_id as App;
        const { default_scope: filled, access: names, groups_claim: cut, isFull } = clients[app];
        return {
          ...client,
          scope: SCOPES[app].join(' '),
          ...(filled.length > 0 && { default_scope: filled.join(' ') }),
          ...access(names),
          groups_claim: cut,
          id_token_claims: isFull ? 'full' : 'minimal',
        };
      }),
  };
  const withClaims = ({ groups, quota }: User) => ({
    groups,
    claims: quota === undefined ? {} : { quota },
  });
  return [config, { alice: withClaims(people.alice), bob: withClaims(people.bob) }] as const;
}

/** Returns the answer to the app: tokens, or an error. */
async function askAs(world: World, who: Who, { app, scope, resource }: Asked) {
  // Uses a new browser: in a shared one, a refusal would revoke the app's earlier tokens.
  const { page: first, browser } = await begin(world, {
    client_id: app,
    nonce: undefined,
    scope: scope.length > 0 ? scope.join(' ') : undefined,
    resource,
    prompt: 'consent',
  });
  const page = await finishPages(browser, first, who);
  // The page for users without access to an app returns the error to it.
  if (page.status === 403) return { error: 'access_denied' };
  const { code, error } = Object.fromEntries(new URL(page.url).searchParams);
  if (code === undefined) return { error };
  return (await redeem(world, { code, client: app })).body;
}

/** The API that a token with these scopes is for. */
const apiOf = ({ resource }: Asked, granted: Names) =>
  resource ?? Object.keys(API_SCOPES).find((api) => API_SCOPES[api]?.some((one) => granted.includes(one)));

function scopesOfToken({ resource }: Asked, granted: Names): Names {
  return resource === undefined ? granted : granted.filter((one) => API_SCOPES[resource]?.includes(one));
}

/** Expects a fresh answer with tokens. */
async function expectAnswer(
  world: World,
  file: File,
  who: Who,
  asked: Asked,
  granted: Names,
  body: Record<string, unknown>,
) {
  const { app, resource } = asked;
  const token = String(body['access_token']);
  const claims = decodeJwt(token);
  const scopes = scopesOfToken(asked, granted);
  expect(new Set(String(claims['scope']).split(' '))).toEqual(new Set(scopes));
  expect(new Set(String(body['scope']).split(' '))).toEqual(new Set(scopes));
  const all = claimsFor(file, who, app, granted);
  const forApi = file.apis[apiOf(asked, granted) ?? '']?.claims ?? [];
  expect(pick(claims, BOTH)).toEqual(pick(all, forApi));
  expect(pick(await introspect(world, token, app), BOTH)).toEqual(pick(all, forApi));
  expect(body['id_token'] !== undefined).toBe(granted.includes('openid'));
  if (!granted.includes('openid')) return;
  const isFull = file.clients[app].isFull || resource !== undefined;
  expect(pick(decodeJwt(String(body['id_token'])), BOTH)).toEqual(pick(all, isFull ? BOTH : []));
  if (resource === undefined)
    expect(pick((await userinfo(world, token)).body, BOTH)).toEqual(pick(all, BOTH));
}

/** Expects what these tokens still allow after the file changed from `before`. */
async function expectLater(
  world: World,
  [before, file]: readonly [File, File],
  who: Who,
  asked: Asked,
  granted: Names,
  body: Record<string, unknown>,
) {
  const { app } = asked;
  const token = String(body['access_token']);
  const scopes = scopesOfToken(asked, granted);
  const api = apiOf(asked, scopes);
  const now = (resource?: string) =>
    reference(file, who, { app, scope: scopes, ...(resource !== undefined && { resource }) });
  const seen = await introspect(world, token, app);
  const held = now(api);
  expect(seen['active']).toBe(typeof held !== 'string' && held.length === scopes.length);
  const both = (before.apis[api ?? '']?.claims ?? []).filter((name) =>
    file.apis[api ?? '']?.claims.includes(name),
  );
  if (seen['active'] === true)
    expect(pick(seen, BOTH)).toEqual(pick(claimsFor(file, who, app, granted), both));
  if (asked.resource === undefined && granted.includes('openid')) {
    const { status, body: info } = await userinfo(world, token);
    expect(status).toBe(typeof now() === 'string' ? 401 : 200);
    if (status === 200) expect(pick(info, BOTH)).toEqual(pick(claimsFor(file, who, app, granted), BOTH));
  }
  const refreshToken = body['refresh_token'];
  if (typeof refreshToken !== 'string') return;
  const renewed = await refresh(world, refreshToken, {}, app);
  const left = reference(file, who, { ...asked, scope: granted });
  expect(renewed.body['error'], JSON.stringify(renewed.body)).toBe(
    typeof left === 'string' ? 'invalid_grant' : undefined,
  );
  if (typeof left !== 'string') await expectAnswer(world, file, who, asked, left, renewed.body);
}

const SEED = 20_261_122;
const RUNS = process.env['POSTERN_ROUNDS'] === 'all' ? 200 : 8;

const world = useWorld();

it(`${RUNS} random files, and a change of each, give each person what the rules say and nothing else`, async () => {
  const outcomes = new Map<string, number>();
  const cases = fc.record({
    before: files,
    other: files,
    changed: fc.constantFrom('clients', 'apis', 'people'),
    asked: fc.array(fc.tuple(fc.constantFrom<Who>('alice', 'bob'), requests), {
      minLength: 4,
      maxLength: 4,
    }),
  });
  const property = fc.asyncProperty(cases, async ({ before, other, changed, asked }) => {
    const after = { ...before, [changed]: other[changed as keyof File] } as File;
    await world().reload(...writeRules(before));
    const answers: Record<string, unknown>[] = [];
    for (const [who, request] of asked) {
      // oxlint-disable no-await-in-loop -- one file at a time
      const body = await askAs(world(), who, request);
      const wanted = reference(before, who, request);
      if (typeof wanted === 'string') expect(body['error']).toBe(wanted);
      else await expectAnswer(world(), before, who, request, wanted, body);
      answers.push(body);
      const kind = typeof wanted === 'string' ? wanted : 'granted';
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    }
    await world().reload(...writeRules(after));
    for (const [index, [who, request]] of asked.entries()) {
      const granted = reference(before, who, request);
      if (typeof granted !== 'string')
        await expectLater(world(), [before, after], who, request, granted, answers[index] ?? {});
      // oxlint-enable no-await-in-loop
    }
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
  for (const kind of ['granted', 'access_denied', 'invalid_scope', 'invalid_target']) {
    expect(outcomes.get(kind), kind).toBeGreaterThan(RUNS / 8);
  }
});
