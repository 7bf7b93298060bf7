// Access rules that a file may contain, and their effects that need no request.
import { describe, expect, it } from 'vitest';
import { createAccessRules } from '../../../src/config/access-rules.ts';
import { client, load, LOCAL, machine, problemsOf } from '../../unit/config/config-files.ts';

const HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
const GROUPS = 'groups: { staff: Employees, wiki: Wiki editors }\n';
const A = 'https://api.example/a';

const api = (keys: string) => `resources:\n  - { resource: ${A}, scopes: [a.read, a.write], ${keys} }\n`;
const app = (keys: Record<string, string>) =>
  `clients:\n${client({ redirect_uris: '[http://localhost/cb]', ...keys })}`;
const people = (...users: string[]) => ({
  'users.yaml': users
    .map(
      (keys, index) =>
        `- { id: usr_${String(index).padStart(16, '0')}, username: person${index}, ${keys} }\n`,
    )
    .join('')
    .replaceAll(' }\n', `, password_hash: "${HASH}" }\n`),
});
const withUsers = (main: string) => `${LOCAL}users_from: users.yaml\n${main}`;

describe('a file that says who may do what', () => {
  it('comes out with its rules, and without them with nothing', async () => {
    const config = await load(
      withUsers(
        `${GROUPS}scopes:\n  storage: { claims: [quota], description: Your storage }\n  profile: { claims: [department] }\n` +
          api(
            'default_scopes: [a.read], access: { groups: [staff] }, scope_groups: { a.write: [wiki] }, access_token_claims: [groups, quota, email]',
          ) +
          app({
            scope: 'openid groups storage a.read',
            default_scope: 'openid a.read',
            access: '{ groups: [staff] }',
            groups_claim: '[wiki]',
          }),
      ),
      people(
        'groups: [wiki, staff, wiki], claims: { department: R&D, quota: 5, tags: [a, 1, true] }, name: P',
        'disabled: false',
      ),
    );
    expect(config).toMatchObject({
      groups: { staff: 'Employees', wiki: 'Wiki editors' },
      scopes: {
        storage: { claims: ['quota'], description: 'Your storage' },
        profile: { claims: ['department'] },
      },
      resources: [
        {
          defaultScopes: ['a.read'],
          access: { groups: ['staff'] },
          scopeGroups: { 'a.write': ['wiki'] },
          accessTokenClaims: ['groups', 'quota', 'email'],
        },
      ],
      clients: [
        { defaultScopes: ['openid', 'a.read'], access: { groups: ['staff'] }, groupsClaim: ['wiki'] },
      ],
      users: [
        {
          groups: ['staff', 'wiki'],
          claims: { department: 'R&D', quota: 5, tags: ['a', 1, true], name: 'P' },
        },
        { groups: [], claims: {} },
      ],
    });
    const without = await load(`${LOCAL}${api('')}${app({})}`);
    expect(without).toMatchObject({ groups: {}, scopes: {} });
    expect(without.resources[0]).toMatchObject({
      defaultScopes: [],
      scopeGroups: {},
      accessTokenClaims: [],
    });
    const [web] = without.clients;
    expect([web?.defaultScopes, web?.access, web?.groupsClaim]).toEqual([undefined, undefined, undefined]);
  });

  it('AC-27: names a group that does not exist, with the one that was meant', async () => {
    const file = withUsers(
      GROUPS +
        api('access: { groups: [wikki] }, scope_groups: { a.read: [staff, saff] }') +
        app({ access: '{ groups: [staf] }', groups_claim: '[Wiki, accounting]' }),
    );
    const users = people('groups: [staff, stafff]');
    expect(await problemsOf(file, users)).toEqual([
      'postern.yaml:5:86 resources[0].access.groups[0]: unknown group "wikki": use one of staff, wiki, or add it to groups',
      'postern.yaml:5:128 resources[0].scope_groups.a.read[1]: unknown group "saff": use one of staff, wiki, or add it to groups',
      'postern.yaml:12:24 clients[0].access.groups[0]: unknown group "staf": use one of staff, wiki, or add it to groups (client_id web)',
      'postern.yaml:13:20 clients[0].groups_claim[0]: unknown group "Wiki": use one of staff, wiki, or add it to groups (client_id web)',
      'postern.yaml:13:26 clients[0].groups_claim[1]: unknown group "accounting": use one of staff, wiki, or add it to groups (client_id web)',
      'users.yaml:1:66 [0].groups[1]: unknown group "stafff": use one of staff, wiki, or add it to groups (username person0)',
    ]);
  });

  it('AC-27: names what is for groups where no groups are', async () => {
    expect(await problemsOf(LOCAL + app({ access: '{ groups: [wiki] }' }))).toEqual([
      expect.stringContaining('groups[0]: unknown group "wiki": add it to groups'),
    ]);
    expect(await problemsOf(LOCAL + app({ scope: 'openid groups' }))).toEqual([
      'postern.yaml:7:12 clients[0].scope: has the scope "groups", but no groups are defined (client_id web)',
    ]);
  });

  it.each([
    ['access: [staff]', 'access: must be a map, not a list'],
    ['access: { group: [staff] }', 'access.group: unknown key "group": did you mean "groups"?'],
    ['access: { groups: [] }', 'access.groups: must name at least one group'],
    [
      'access: { groups: [5] }',
      'access.groups[0]: must be text, but YAML reads it as a number: put it in quotes',
    ],
    [
      'scope_groups: { a.reed: [staff] }',
      'scope_groups.a.reed: unknown scope "a.reed": add it to the scopes of this resource',
    ],
    ['access_token_claims: [sub]', 'access_token_claims[0]: unknown claim "sub": add it to scopes'],
    ['access_token_claims: [qouta]', 'access_token_claims[0]: unknown claim "qouta": add it to scopes'],
  ])('refuses %s', async (keys, problem) => {
    const scopes = 'scopes: { storage: { claims: [quota] } }\n';
    const problems = await problemsOf(LOCAL + GROUPS + scopes + api(keys));
    expect(problems).toContainEqual(expect.stringMatching(/^postern\.yaml:5:\d+ /));
    expect(problems.map((one) => one.replace(/^\S+ resources\[0\]\./, ''))).toContain(problem);
  });

  it('AC-11: refuses defaults that an API does not own, all at once', async () => {
    const file = `${LOCAL}resources:
  - resource: ${A}
    scopes: [a.read]
    default_scopes:
      - openid
      - offline_access
      - b.read
      - nope
  - { resource: https://api.example/b, scopes: [b.read] }
`;
    expect(await problemsOf(file)).toEqual([
      'postern.yaml:6:9 resources[0].default_scopes[0]: unknown scope "openid": add it to the scopes of this resource',
      'postern.yaml:7:9 resources[0].default_scopes[1]: unknown scope "offline_access": add it to the scopes of this resource',
      'postern.yaml:8:9 resources[0].default_scopes[2]: unknown scope "b.read": add it to the scopes of this resource',
      'postern.yaml:9:9 resources[0].default_scopes[3]: unknown scope "nope": add it to the scopes of this resource',
    ]);
  });

  it.each([
    ['openid email', 'has scopes that are missing in scope'],
    ['openid offline_access', 'must not include offline_access: an app must request it with prompt=consent'],
    ['a.read b.read', 'has scopes of several resources: use only one'],
    ['""', 'must name at least one scope'],
  ])('AC-11: refuses the default_scope %s of a client', async (defaults, problem) => {
    const apis = `resources:\n  - { resource: ${A}, scopes: [a.read] }\n  - { resource: urn:b, scopes: [b.read] }\n`;
    const keys = { scope: 'openid offline_access a.read b.read', default_scope: defaults };
    const grants = { grant_types: '[authorization_code, refresh_token]' };
    expect(await problemsOf(LOCAL + apis + app({ ...keys, ...grants }))).toEqual([
      `postern.yaml:11:20 clients[0].default_scope: ${problem} (client_id web)`,
    ]);
  });

  it('refuses rules about people for a service, but not its default', async () => {
    const service = machine({ access: '{ groups: [staff] }', groups_claim: '[staff]', scope: 'a.read' });
    const problem =
      'applies to users only, and a client_credentials client has none: remove it (client_id svc)';
    const problems = await problemsOf(`${LOCAL}${GROUPS}${api('')}clients:\n${service}`);
    expect(problems.map((one) => one.replace(/^\S+ /, ''))).toEqual([
      `clients[0].access: ${problem}`,
      `clients[0].groups_claim: ${problem}`,
    ]);
    const other = machine({ scope: 'a.read', default_scope: 'a.read' });
    expect(await problemsOf(`${LOCAL}${api('')}clients:\n${other}`)).toEqual([]);
    const personal = `clients:\n${machine({ scope: 'a.read storage groups' })}`;
    const scopes = `${GROUPS}scopes: { storage: { claims: [quota] } }\n`;
    expect(await problemsOf(LOCAL + scopes + api('') + personal)).toContainEqual(
      expect.stringContaining('has no user: remove "storage", "groups"'),
    );
  });

  it('AC-19: refuses claims that a protocol owns, all at once', async () => {
    const reserved =
      'sub iss aud exp nbf iat jti nonce acr amr auth_time azp sid cnf act client_id scope at_hash events active token_type';
    const claims = reserved.split(' ').map((name) => `${name}: 1`);
    const problems = await problemsOf(
      withUsers(''),
      people(
        `claims: { ${claims.join(', ')} }`,
        'claims: { email: a@b.example, phone_number: 1, groups: [a] }',
      ),
    );
    expect(problems).toEqual(
      `${reserved} email phone_number groups`
        .split(' ')
        .map((name) =>
          expect.stringContaining(`claims.${name}: the claim "${name}" is reserved: choose another name`),
        ),
    );
    expect(problems[0]).toMatch(/^users\.yaml:1:\d+ /);
  });

  it('refuses names that can be taken for another one', async () => {
    const groups = 'groups: { staff: a, STAFF: b, "st\u200baff": c, Kai: d, kai: e, ops: f }\n';
    const scopes =
      'scopes: { storage: { claims: [Sub, eMail] }, Storage: { claims: [] }, Email: { claims: [] }, GROUPS: { claims: [] } }\n';
    expect(await problemsOf(LOCAL + groups + scopes)).toEqual([
      expect.stringContaining('groups.STAFF: the name "STAFF" differs from "staff" only'),
      expect.stringContaining(String.raw`groups.st\u200baff: `),
      expect.stringContaining('groups.kai: the name "kai" differs from "Kai" only'),
      expect.stringContaining('claims[0]: the claim "Sub" is reserved: choose another name'),
      expect.stringContaining('claims[1]: the claim "eMail" is reserved: choose another name'),
      expect.stringContaining('scopes.Storage: the scope "Storage" differs from "storage" only'),
      expect.stringContaining('scopes.Email: the scope "Email" differs from "email" only'),
      expect.stringContaining('scopes.GROUPS: the scope "GROUPS" differs from "groups" only'),
    ]);
  });

  it('AC-19: refuses them in scopes, too', async () => {
    const file = `${LOCAL}scopes:
  storage: { claims: [quota, sub, name, groups, "a b", constructor] }
  groups: { claims: [quota] }
  openid: { claims: [quota] }
  offline_access: { claims: [] }
  "a b": { claims: [] }
  profile: { claims: department }
`;
    const rest = `  profile: { claims: [department] }\n`;
    expect(await problemsOf(file.replace(/ {2}profile.*\n/, rest))).toEqual([
      expect.stringContaining('scopes.storage.claims[1]: the claim "sub" is reserved: choose another name'),
      expect.stringContaining('scopes.storage.claims[2]: the claim "name" is reserved'),
      expect.stringContaining('scopes.storage.claims[3]: the claim "groups" is reserved'),
      expect.stringContaining('scopes.storage.claims[4]: the name of a claim must'),
      expect.stringContaining('scopes.storage.claims[5]: the name of a claim must'),
      'postern.yaml:4:3 scopes.groups: the scope is reserved: choose another name',
      'postern.yaml:5:3 scopes.openid: the scope is reserved: choose another name',
      'postern.yaml:6:3 scopes.offline_access: the scope is reserved: choose another name',
      expect.stringContaining('postern.yaml:7:3 scopes.a b: the scope must be printable ASCII'),
    ]);
    expect(await problemsOf(file)).toEqual([
      'postern.yaml:8:22 scopes.profile.claims: must be a list, not text',
    ]);
  });

  const NO_CLAIMS = ['{ a: { b: 1 } }', '{ a: [[1]] }', '{ a: [{ b: 1 }] }', '{ a: .inf }', '{ a: null }'];
  it.each(NO_CLAIMS)('refuses the claims %s', async (claims) => {
    expect(await problemsOf(withUsers(''), people(`claims: ${claims}`))).toEqual([
      expect.stringMatching(/^users\.yaml:1:\d+ \[0\]\.claims\.a: (must be text, a number|is empty)/),
    ]);
  });

  it('lets no API own a scope that is about people', async () => {
    const file = `${GROUPS}scopes: { storage: { claims: [quota] } }\nresources: [{ resource: urn:a, scopes: [groups, storage] }]\n`;
    expect(await problemsOf(LOCAL + file)).toEqual([
      expect.stringContaining('"groups" belongs to the issuer'),
      expect.stringContaining('"storage" belongs to the issuer'),
    ]);
    // Without groups the scope is valid, as before.
    expect(await problemsOf(`${LOCAL}resources: [{ resource: urn:a, scopes: [groups] }]\n`)).toEqual([]);
    const both = '[{ resource: urn:a, scopes: [email] }, { resource: urn:b, scopes: [email] }]';
    expect(await problemsOf(`${LOCAL}resources: ${both}\n`)).toHaveLength(2);
  });
});

it('a client hears of the groups that exist and that are for it, each once and sorted', async () => {
  const webApp = (id: string) =>
    `client_id: ${id}, token_endpoint_auth_method: none, redirect_uris: [http://localhost/cb], scope: openid groups`;
  const rules = createAccessRules(
    await load(`${LOCAL}groups: { staff: Employees, wiki: Editors, managers: Managers }
clients:
  - { ${webApp('wiki')}, groups_claim: [wiki, staff] }
  - { ${webApp('open')} }
`),
  );
  const person = { groups: ['wiki', 'managers', 'staff', 'staff', 'nobody-defined-this', 'toString'] };
  expect(rules.groupsFor(person, { clientId: 'open' })).toEqual(['managers', 'staff', 'wiki']);
  expect(rules.groupsFor(person, { clientId: 'wiki' })).toEqual(['staff', 'wiki']);
  expect(rules.groupsFor(person, { clientId: 'gone' })).toEqual([]);
});
