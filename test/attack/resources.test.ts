// Tokens for an API that the client has no access to: every combination of scope and resource for all clients and both grants,
// compared with a second implementation of the rule, and the single cases by name.
import { readFileSync } from 'node:fs';
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { authorize, signIn } from '../world/app.ts';
import {
  AUTHORIZATION_REQUEST,
  authorizationUrl,
  DEFAULT_SCOPE,
  VERIFIER,
} from '../world/authorization-request.ts';
import type { Browser } from '../world/browser.ts';
import { authorizationError, finishPages, newBrowser, redirectOf } from '../world/person.ts';
import { post, toQuery } from '../world/requests.ts';
import { clientCredentials, redeem, refresh } from '../world/token-endpoint.ts';
import { API, CALLBACK, GENEROUS, OTHER_API, SECRETS, type World, worldClients } from '../world/world.ts';
import { eachStore, useWorld } from '../world/each-store.ts';

type FileClient = {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_secrets?: readonly { readonly value: string }[];
  readonly redirect_uris?: readonly string[];
  readonly grant_types: readonly string[];
  readonly token_endpoint_auth_method?: string;
  readonly consent?: string;
  readonly scope: string;
  readonly default_scope?: string;
};
type FileResource = {
  readonly resource: string;
  readonly scopes?: readonly string[];
  readonly default_scopes?: readonly string[];
  readonly clients?: string[];
  readonly access?: { readonly groups: readonly string[] };
  readonly scope_groups?: Readonly<Record<string, readonly string[]>>;
};

const SHIPPED = parse(readFileSync('config/postern.yaml', 'utf8')) as {
  readonly resources: readonly FileResource[];
  readonly clients: readonly FileClient[];
};
const REPORTS = SHIPPED.resources[0]?.resource ?? '';
const B = 'https://api.example/b';
const BARE = 'https://api.example/bare';

const RESOURCES: readonly FileResource[] = [
  ...SHIPPED.resources,
  // Services may use it regardless: group rules apply to users.
  {
    resource: B,
    scopes: ['b.read', 'b.write'],
    default_scopes: ['b.read'],
    access: { groups: ['managers'] },
    scope_groups: { 'b.write': ['managers'] },
  },
  { resource: BARE, scopes: [], clients: ['spa', 'svc'] },
];
const CLIENTS: readonly FileClient[] = [
  ...SHIPPED.clients,
  {
    client_id: 'web',
    client_secret: 'env:TEST_WEB',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: 'openid email offline_access reports.read b.read',
    default_scope: 'openid reports.read',
  },
  {
    client_id: 'spa',
    redirect_uris: ['https://spa.example/cb'],
    grant_types: ['authorization_code'],
    scope: 'openid email',
    token_endpoint_auth_method: 'none',
  },
  {
    client_id: 'first-party',
    redirect_uris: ['https://own.example/cb'],
    grant_types: ['authorization_code'],
    scope: 'openid b.read',
    client_secret: 'env:TEST_FIRST_PARTY',
    consent: 'implicit',
  },
  {
    client_id: 'svc',
    client_secret: 'env:TEST_SVC',
    grant_types: ['client_credentials'],
    scope: 'reports.read b.read b.write',
    default_scope: 'b.write',
  },
  { client_id: 'rs1', client_secret: 'env:TEST_RS1', grant_types: ['client_credentials'], scope: 'b.read' },
];
const SHIPPED_SECRET = 'postern-demo-secret-4vXq7Lw2Rk9Tz6Nc8Hb';
const secretOf = ({ client_id: id }: FileClient) => (SECRETS as Record<string, string>)[id] ?? SHIPPED_SECRET;

const SCOPES = ['openid', 'reports.read', 'b.read', 'b.write', 'nobodys'];
const COMBINATIONS = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_scope, index) => (bits >> index) % 2 === 1),
);
const INDICATORS = [undefined, REPORTS, B, BARE, 'HTTPS://API.Example/b', 'https://api.example/unknown'];

/** The scopes of a request without `scope`, as documented. */
function defaultScopesOf(
  client: FileClient,
  api: FileResource | undefined,
  isPerson: boolean,
): readonly string[] {
  if (api?.default_scopes !== undefined) return api.default_scopes;
  if (!isPerson && api !== undefined && !api.scopes?.length) return [];
  if (client.default_scope !== undefined) return client.default_scope.split(' ');
  const own = client.scope.split(' ');
  const isOfOne = RESOURCES.some(({ scopes = [] }) => own.every((scope) => scopes.includes(scope)));
  return !isPerson && isOfOne ? own : [];
}

/** A second implementation of the rule, from the documents: returns the error or the audience. */
function expected(
  client: FileClient,
  scopes: readonly string[],
  resource: string | undefined,
  isPerson: boolean,
): string {
  const own = client.scope.split(' ');
  const ownerOf = (scope: string) => RESOURCES.find((one) => one.scopes?.includes(scope))?.resource;
  const api = RESOURCES.find(
    (one) => one.resource === resource?.replace('HTTPS://API.Example', 'https://api.example'),
  );
  if (scopes.length === 0) {
    const filled = defaultScopesOf(client, api, isPerson);
    if (filled.length > 0) return expected(client, filled, resource, isPerson);
  }
  if (resource !== undefined) {
    const mayHave = api?.scopes?.length
      ? api.scopes.some((scope) => own.includes(scope))
      : api?.clients?.includes(client.client_id);
    if (mayHave !== true) return 'invalid_target';
  }
  if (scopes.some((scope) => !own.includes(scope))) return 'invalid_scope';
  const owners = new Set(scopes.map(ownerOf).filter((owner) => owner !== undefined));
  if (api === undefined) {
    if (owners.size > 1 || scopes.length === 0) return 'invalid_scope';
    if (isPerson && owners.has(B)) return 'access_denied'; // Alice is no manager
    return [...owners, ...(owners.size === 0 || scopes.includes('openid') ? ['issuer'] : [])].join(' ');
  }
  if (scopes.some((scope) => ownerOf(scope) !== api.resource && (!isPerson || ownerOf(scope) !== undefined)))
    return 'invalid_scope';
  if (scopes.length === 0 && (isPerson || api.scopes?.length !== 0)) return 'invalid_scope';
  if (api.scopes?.length !== 0 && !owners.has(api.resource)) return 'invalid_target';
  if (isPerson && api.resource === B) return 'access_denied';
  return api.resource;
}

/** Returns the answer in the terms of `expected`, and checks the invariant on the token itself. */
function seen(world: World, client: FileClient, body: Readonly<Record<string, unknown>>): string {
  if (typeof body['access_token'] !== 'string') return String(body['error']);
  const { aud, scope } = decodeJwt<{ scope?: string }>(body['access_token']);
  const granted = scope?.split(' ') ?? [];
  for (const one of [aud ?? []].flat().filter((each) => each !== world.issuer)) {
    const api = RESOURCES.find(({ resource }) => resource === one);
    const isBacked = api?.scopes?.length
      ? api.scopes.some((each) => granted.includes(each) && client.scope.split(' ').includes(each))
      : api?.clients?.includes(client.client_id);
    expect(isBacked, `${client.client_id}: ${one} with ${granted.join(' ')}`).toBe(true);
  }
  return [aud ?? []].flat().join(' ').replace(world.issuer, 'issuer');
}

async function asMachine(world: World, client: FileClient, fields: Readonly<Record<string, string>>) {
  const authorization = `Basic ${btoa(`${client.client_id}:${secretOf(client)}`)}`;
  const form = { grant_type: 'client_credentials', ...fields };
  return (await post(world, '/oauth/token', form, { authorization })).body;
}

async function asPerson(
  world: World,
  browser: Browser,
  client: FileClient,
  fields: Readonly<Record<string, string>>,
) {
  // A nonce needs openid (OIDC Core §3.1.2.1), and is ignored in a request without scope.
  const { scope: _scope, nonce, ...request } = AUTHORIZATION_REQUEST;
  const isOpenId = fields['scope']?.includes('openid') ?? true;
  const redirectUri = client.redirect_uris?.[0] ?? '';
  const asked = {
    ...request,
    client_id: client.client_id,
    redirect_uri: redirectUri,
    ...(isOpenId && { nonce }),
    ...fields,
  };
  const url = `${world.issuer}/oauth/authorize?${new URLSearchParams(asked).toString()}`;
  const page = await finishPages(browser, await browser.open(url), 'alice');
  const answer = Object.fromEntries(new URL(page.url).searchParams);
  if (answer['code'] === undefined) return answer;
  const isPublic = client.client_secret === undefined && client.client_secrets === undefined;
  const form = {
    grant_type: 'authorization_code',
    code: answer['code'],
    redirect_uri: redirectUri,
    code_verifier: VERIFIER,
    client_id: client.client_id,
  };
  const authorization = `Basic ${btoa(`${client.client_id}:${secretOf(client)}`)}`;
  const headers = isPublic ? {} : { authorization };
  return (await post(world, '/oauth/token', form, headers)).body;
}

describe('with the shipped configuration and two more APIs', () => {
  const world = useWorld({
    config: {
      ...GENEROUS,
      groups: { staff: 'Employees', managers: 'Managers' },
      resources: RESOURCES,
      clients: CLIENTS,
    },
    people: { alice: { groups: ['staff'] } },
  });
  const machines = CLIENTS.filter(({ grant_types: types }) => types.includes('client_credentials'));
  const apps = CLIENTS.filter(({ grant_types: types }) => types.includes('authorization_code'));

  async function tryAll(
    client: FileClient,
    isPerson: boolean,
    ask: (fields: Readonly<Record<string, string>>) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<void> {
    const outcomes = new Map<string, number>();
    for (const scopes of COMBINATIONS) {
      for (const resource of INDICATORS) {
        const fields = {
          ...(scopes.length > 0 && { scope: scopes.join(' ') }),
          ...(resource !== undefined && { resource }),
        };
        // oxlint-disable-next-line no-await-in-loop -- one browser
        const outcome = seen(world(), client, await ask(fields));
        const wanted = expected(client, scopes, resource, isPerson);
        expect(outcome, `${client.client_id} ${JSON.stringify(fields)}`).toBe(wanted);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    // The comparison is meaningful only if both errors and a token occurred.
    for (const kind of ['invalid_target', 'invalid_scope'])
      expect(outcomes.get(kind), kind).toBeGreaterThan(0);
    expect(outcomes.size).toBeGreaterThan(2);
  }

  it.each(machines.map((client) => [client.client_id, client] as const))(
    'AC-01, AC-06: no scope and no resource gives %s a token for an API that is not its own',
    (_id, client) => tryAll(client, false, (fields) => asMachine(world(), client, fields)),
  );

  it.each(apps.map((client) => [client.client_id, client] as const))(
    'AC-02, AC-05: no scope and no resource gives %s a person’s token for an API that is not its own',
    async (_id, client) => {
      const browser = newBrowser(world());
      await tryAll(client, true, (fields) => asPerson(world(), browser, client, fields));
    },
  );
});

const OTHERS = 'openid offline_access reports.read other.read';
const withOther = worldClients({ web: { scope: `${DEFAULT_SCOPE} other.read` } });

eachStore('a resource', { config: { ...GENEROUS, clients: withOther } }, (world) => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('AC-04: that was not asked for at the beginning is refused at the exchange and at refresh, and costs no code and no refresh token', async () => {
    const scope = 'openid offline_access reports.read';
    const asked = { scope, parameters: { resource: API } };
    const authorized = await authorize(world(), asked);
    for (const resource of [OTHER_API, 'x', `${API}#x`]) {
      const answer = await redeem(world(), authorized, { resource });
      expect([answer.status, answer.body['error']], resource).toEqual([400, 'invalid_target']);
    }
    const { body: redeemed } = await redeem(world(), authorized, { resource: API });
    expect(decodeJwt(String(redeemed['access_token']))).toMatchObject({ aud: API });

    const { tokens } = await signIn(world(), asked);
    const refused = await refresh(world(), tokens.refresh_token, { resource: OTHER_API });
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_target']);
    const none = await refresh(world(), tokens.refresh_token, { scope: 'openid' });
    expect([none.status, none.body['error']]).toEqual([400, 'invalid_target']);
    const foreign = await refresh(world(), tokens.refresh_token, { scope: 'openid other.read' });
    expect([foreign.status, foreign.body['error']]).toEqual([400, 'invalid_scope']);
    const { body } = await refresh(world(), tokens.refresh_token);
    expect(decodeJwt(String(body['access_token']))).toMatchObject({ aud: API, scope: 'reports.read' });
  });

  it('AC-02: is refused before anybody signs in, and leaves no interaction', async () => {
    const save = vi.spyOn(world().openedStore.records, 'save');
    for (const [scope, error] of [
      ['openid', 'invalid_target'],
      ['openid other.read', 'invalid_scope'],
    ] as const) {
      for (const prompt of ['none', 'login']) {
        const answer = await authorizationError(world(), { scope, prompt, resource: API });
        expect(answer).toMatchObject({ error, state: 'state-of-the-client', iss: world().issuer });
      }
    }
    expect(save.mock.calls.map(([{ kind }]) => kind)).not.toContain('Interaction');
  });

  it('is one at most, at the beginning too', async () => {
    const one = authorizationUrl(world(), { scope: OTHERS, prompt: 'consent', resource: API });
    const page = await newBrowser(world()).open(`${one}&${toQuery({ resource: OTHER_API })}`);
    expect(redirectOf(page).query['error']).toBe('invalid_target');
  });

  it('MC-40: may be spelled with other cases in scheme and host, and is in the token as it is configured', async () => {
    const [spelled, scope] = ['HTTPS://Other.Example/api', 'openid offline_access other.read'];
    const authorized = await authorize(world(), { scope, parameters: { resource: spelled } });
    const { body } = await redeem(world(), authorized, { resource: OTHER_API });
    expect(decodeJwt(String(body['access_token'])).aud).toBe(OTHER_API);
    const renewed = await refresh(world(), String(body['refresh_token']), { resource: spelled });
    expect(decodeJwt(String(renewed.body['access_token'])).aud).toBe(OTHER_API);
    const machine = await clientCredentials(world(), { scope: 'other.read', resource: spelled });
    expect(decodeJwt(String(machine.body['access_token'])).aud).toBe(OTHER_API);
    for (const resource of ['/', '#x', '?x=1'].map((end) => `${OTHER_API}${end}`)) {
      expect(await authorizationError(world(), { scope, resource })).toMatchObject({
        error: 'invalid_target',
      });
    }
  });
});
