// `postern migrate`: the output loads as in the service, and the report lists everything that an administrator must do.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import { postern } from '../../world/terminal.ts';
import { testFolder } from '../../world/temp-folder.ts';

const SECRET = 'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg-aUeRoQiZwKt';
const hashOf = (cost: string) =>
  `$argon2id$v=19$${cost}$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc`;
const PHC = hashOf('m=19456,t=2,p=1');
const ISSUER = ['--issuer', 'https://id.example.com'];

let folder = '';
beforeEach(() => {
  folder = testFolder();
});

/** Runs the command on `content`; `report` has a section for each heading. */
async function migrated(from: string, content: unknown, ...args: string[]) {
  const file = path.join(folder, 'other');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return migratedFile(from, file, ...args);
}

async function migratedFile(from: string, file: string, ...args: string[]) {
  const out = path.join(folder, 'out');
  const { code, stdout, stderr } = await postern(['migrate', from, file, '--out', out, ...args]);
  expect(stdout + stderr).not.toContain(SECRET);
  const [, ...parts] = stdout.split('## ');
  const report = parts.map((part) =>
    part.split('\n').flatMap((line) => (line.startsWith('- ') ? line.slice(2) : [])),
  );
  const [, , toFill = [], changes = [], next = []] = report;
  const load = () => loadConfig(path.join(out, 'postern.yaml'), { env: { DEX_SECRET: SECRET } });
  return { code, stdout, stderr, out, toFill, changes, next, load };
}

describe('postern migrate', () => {
  it('turns the configuration of Dex into ours, with people to invite', async () => {
    const { code, out, toFill, changes, next, load } = await migrated(
      'dex',
      `issuer: https://dex.example/dex
storage: { type: sqlite3 }
oauth2: { skipApprovalScreen: false, grantTypes: [authorization_code, 'urn:ietf:params:oauth:grant-type:device_code'] }
web: { allowedOrigins: [https://spa.example] }
frontend: { issuer: Acme }
expiry: { idTokens: 2h30m, refreshTokens: { validIfNotUsedFor: 168h, absoluteLifetime: 720h0m0s } }
connectors: [{ type: ldap, id: corp, name: LDAP, config: { bindPW: ${SECRET} } }]
staticClients:
- { id: web, name: Web, redirectURIs: ['https://app.example/callback'], secret: ${SECRET} }
- { id: env, redirectURIs: ['https://env.example/cb'], secretEnv: DEX_SECRET, logoURL: 'https://env.example/logo.svg' }
- { id: cli, public: true, redirectURIs: ['http://localhost:8000/cb'], trustedPeers: [web] }
staticPasswords:
- { email: anna@example.com, hash: "$2a$10$abc", username: anna, userID: "1", groups: [staff] }
`,
    );
    expect([code, toFill]).toEqual([0, ['client env: set DEX_SECRET in the environment']]);
    const config = await load();
    expect(config).toMatchObject({
      issuer: 'https://dex.example/dex',
      branding: { name: 'Acme' },
      cors: { allowedOrigins: ['https://spa.example'] },
      lifetimes: { accessToken: 9000, refreshToken: 7 * 86_400, refreshTokenAbsolute: 30 * 86_400 },
      groups: { staff: 'staff' },
      users: [],
    });
    const scopes = ['openid', 'email', 'profile', 'groups', 'offline_access'];
    expect(config.clients).toMatchObject([
      {
        clientId: 'web',
        clientName: 'Web',
        secrets: [{ digest: digestOf(SECRET) }],
        scopes,
        requirePkce: false,
        consent: 'explicit',
        idTokenClaims: 'full',
      },
      { clientId: 'env', secrets: [{ digest: digestOf(SECRET) }] },
      { clientId: 'cli', tokenEndpointAuthMethod: 'none', secrets: [], requirePkce: true },
    ]);
    expect(changes).toEqual([
      'client web: PKCE stays optional. Set require_pkce: true if the app uses it',
      'client env: PKCE stays optional. Set require_pkce: true if the app uses it',
      'client env: not carried over: logoURL',
      'client cli: not carried over: trustedPeers',
      "passwords: those of 1 user can't be taken over. Send each user a link, as below",
      "connector corp: its users can't sign in",
      'grant type urn:ietf:params:oauth:grant-type:device_code: not carried over',
      'not carried over: storage',
    ]);
    expect(next.at(-1)).toMatch(
      /^postern user import .* --from dex --invite --config .*\/out\/postern\.yaml$/,
    );
    expect(readFileSync(path.join(out, 'REPORT.md'), 'utf8')).not.toContain(SECRET);
    for (const file of ['users.yaml', 'secrets/cookie.key'])
      expect(statSync(path.join(out, file)).mode & 0o77).toBe(0);
    const again = await migrated('dex', 'staticClients: [{ id: a }]\n', ...ISSUER);
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is not empty') });
  });

  it('turns clients, policies and users of Authelia into ours, and loses no rule unseen', async () => {
    const named = { email: 'anna@example.com' };
    const users = {
      anna: { ...named, displayname: 'Anna', groups: ['admins'], password: PHC, phone_number: '1' },
      ben: { password: '$6$rounds=50000$x' },
    };
    writeFileSync(path.join(folder, 'users_database.yml'), JSON.stringify({ users }));
    const rule = (policy: string, subject: unknown, more = {}) => ({ policy, subject, ...more });
    const client = (client_id: string, authorization_policy: string | undefined, more = {}) => ({
      client_id,
      authorization_policy,
      public: true,
      redirect_uris: [`https://${client_id}.example/`],
      ...more,
    });
    const cookies = [{ authelia_url: 'https://auth.example' }];
    const { code, toFill, changes, load, out } = await migrated('authelia', {
      authentication_backend: { file: { path: '/config/users_database.yml' } },
      session: { inactivity: '5 minutes', expiration: '1h', cookies },
      access_control: { rules: [{ domain: 'x.example', policy: 'two_factor' }] },
      identity_providers: {
        oidc: {
          hmac_secret: SECRET,
          lifespans: { access_token: '1h', refresh_token: '2 weeks' },
          claims_policies: { full: { id_token: ['email'] } },
          authorization_policies: {
            admins: {
              default_policy: 'deny',
              rules: [rule('two_factor', 'group:admins'), rule('one_factor', ['group:ops'])],
            },
            open: { default_policy: 'one_factor', rules: [rule('two_factor', 'group:admins')] },
            user: { default_policy: 'deny', rules: [rule('one_factor', 'user:anna')] },
            both: { default_policy: 'deny', rules: [rule('one_factor', [['group:a', 'group:b']])] },
            network: {
              default_policy: 'deny',
              rules: [rule('one_factor', 'group:a', { networks: ['10.0.0.0/8'] })],
            },
            deny_some: { default_policy: 'one_factor', rules: [rule('deny', 'group:a')] },
          },
          clients: [
            client('wiki', 'admins', {
              public: false,
              client_secret: `$plaintext$${SECRET}`,
              claims_policy: 'full',
              consent_mode: 'implicit',
              scopes: ['openid', 'groups', 'offline_access', 'address'],
            }),
            client('plain', 'one_factor', { consent_mode: 'implicit' }),
            ...['open', 'user', 'both', 'network', 'deny_some', 'deny', 'typo'].map((name) =>
              client(name.replace('_', '-'), name),
            ),
            client('usual', undefined, { public: false, client_secret: `$plaintext$${SECRET}` }),
          ],
        },
      },
    });
    expect(code).toBe(0);
    expect(toFill.map((line) => /unknown group "(.*?)"/.exec(line)?.[1])).toEqual(
      ['user', 'both', 'network', 'deny_some', 'deny', 'typo'].map((name) => `authorization_policy:${name}`),
    );
    for (const line of toFill)
      expect(line).toMatch(/^clients\.d\/authelia\.yaml:\d+:\d+ \[\d\]\.access\.groups\[0\]: /);
    expect(changes).toContain(
      'client wiki: scopes left out: address. Define them in resources, and add them',
    );
    expect(changes).toContain('attribute of users phone_number: left out');
    expect(changes.join('\n')).toMatch(
      /^passwords: those of 1 .*\nsecond factors: .*\nattribute .*\naccess_control: /m,
    );
    const list = path.join(out, 'clients.d/authelia.yaml');
    writeFileSync(list, readFileSync(list, 'utf8').replaceAll(/authorization_policy:\w+/g, 'admins'));
    const config = await load();
    expect(config).toMatchObject({
      issuer: 'https://auth.example',
      lifetimes: { accessToken: 3600, refreshToken: 14 * 86_400, session: 300, sessionAbsolute: 3600 },
      groups: { admins: 'admins', ops: 'ops' },
      users: [
        { username: 'anna', passwordHash: PHC, groups: ['admins'], claims: { name: 'Anna', ...named } },
      ],
    });
    const signIn = { require: 'second_factor' };
    const [wiki, plain, open] = config.clients;
    expect([plain?.signIn, plain?.access, open?.access]).toEqual([undefined, undefined, undefined]);
    expect([wiki, plain, open, config.clients.at(-1)]).toMatchObject([
      {
        secrets: [{ name: 'imported' }],
        access: { groups: ['admins', 'ops'] },
        signIn,
        consent: 'implicit',
        idTokenClaims: 'full',
        scopes: ['openid', 'groups', 'offline_access'],
      },
      { consent: 'explicit', grantTypes: ['authorization_code'] },
      { signIn },
      {
        signIn,
        secrets: [{ digest: digestOf(SECRET) }],
        scopes: ['openid', 'email', 'profile', 'groups'],
      },
    ]);
  });

  it('turns a realm of Keycloak into ours, without its own clients and roles', async () => {
    const app = { redirectUris: ['https://spa.example/'], defaultClientScopes: ['web-origins', 'profile'] };
    const credential = {
      type: 'password',
      secretData: JSON.stringify({ value: `${PHC.split('$')[5]}=`, salt: `${PHC.split('$')[4]}==` }),
      credentialData: JSON.stringify({
        hashIterations: 5,
        additionalParameters: { type: ['id'], memory: ['7168'], parallelism: ['1'] },
      }),
    };
    const realm = {
      realm: 'acme',
      displayName: 'Acme',
      accessTokenLifespan: 300,
      offlineSessionIdleTimeout: 2_592_000,
      ssoSessionMaxLifespan: 36_000,
      identityProviders: [{ alias: 'google', config: { clientSecret: SECRET } }],
      groups: [{ name: 'staff', subGroups: [{ name: 'hr' }] }],
      roles: { realm: [{ name: 'manager' }, { name: 'offline_access' }] },
      users: [
        {
          username: 'kai',
          enabled: true,
          email: 'kai@example.com',
          emailVerified: true,
          firstName: 'Kai',
          lastName: 'K',
          groups: ['/staff/hr'],
          realmRoles: ['manager', 'default-roles-acme'],
          attributes: { dept: ['x'], locale: ['de'] },
          credentials: [credential],
        },
        { username: 'kim', enabled: false },
      ],
      clients: [
        { clientId: 'admin-cli', publicClient: true },
        { clientId: 'off', enabled: false, secret: SECRET },
        {
          ...app,
          clientId: 'shop',
          rootUrl: 'https://shop.example/',
          secret: SECRET,
          redirectUris: ['/callback'],
          webOrigins: ['+'],
          attributes: { 'post.logout.redirect.uris': '+##/bye', 'pkce.code.challenge.method': 'S256' },
          directAccessGrantsEnabled: true,
          protocolMappers: [{ protocolMapper: 'oidc-group-membership-mapper' }],
        },
        { ...app, clientId: 'spa', publicClient: true },
        { ...app, clientId: 'asks', secret: SECRET, consentRequired: true },
      ],
    };
    const unnamed = await migrated('keycloak', realm);
    expect(unnamed).toMatchObject({ code: 1, stderr: expect.stringContaining('add --issuer') });
    const { toFill, changes, load } = await migrated('keycloak', realm, ...ISSUER);
    expect(toFill).toEqual([]);
    const config = await load();
    expect(config).toMatchObject({
      branding: { name: 'Acme' },
      lifetimes: { accessToken: 300, refreshToken: 2_592_000, sessionAbsolute: 36_000 },
      groups: { staff: 'staff', 'staff/hr': 'staff/hr', manager: 'manager' },
      users: [
        {
          username: 'kai',
          passwordHash: hashOf('m=7168,t=5,p=1'),
          groups: ['manager', 'staff/hr'],
          claims: { name: 'Kai K', email_verified: true, locale: 'de', preferred_username: 'kai' },
        },
      ],
    });
    expect(config.clients).toMatchObject([
      {
        clientId: 'shop',
        redirectUris: ['https://shop.example/callback'],
        postLogoutRedirectUris: ['https://shop.example/callback', 'https://shop.example/bye'],
        consent: 'explicit',
        requirePkce: true,
        scopes: ['openid', 'profile', 'groups', 'offline_access'],
      },
      { clientId: 'spa', consent: 'explicit' },
      { clientId: 'asks', consent: 'explicit', requirePkce: false },
    ]);
    expect(changes[0]).toBe(
      'client shop: not carried over: webOrigins, directAccessGrantsEnabled, protocolMappers, sign-in without consent (set consent: implicit for an app of your own)',
    );
    expect(changes.filter((line) => line.includes('without consent'))).toHaveLength(1);
    expect(changes).toContain('attribute of users dept: left out');
    expect(changes).toContain('identity provider google: left out');
  });

  it.each(['dex.yaml', 'authelia.yml', 'keycloak.json'])(
    'takes over or reports every setting of a full %s, and what check says',
    async (name) => {
      const samples = path.join(import.meta.dirname, 'samples');
      const from = path.parse(name).name;
      const { stdout, out, toFill } = await migratedFile(from, path.join(samples, name));
      const check = await postern(['check', '--no-secrets', '-c', path.join(out, 'postern.yaml')]);
      const faults = check.stderr.replaceAll(`${out}/`, '').split('\n\n')[0]?.split('\n') ?? [];
      expect(toFill.slice(0, faults.length)).toEqual(faults);
      const parts = ['postern.yaml', `clients.d/${from}.yaml`].map((file) => path.join(out, file));
      const all = [stdout, ...parts.map((file) => readFileSync(file, 'utf8'))].join('\n');
      expect(all).not.toMatch(/smtp-password|insecure_session|otp-seed/);
      const plain = all.replaceAll(`${folder}/`, '').replaceAll(`${samples}/`, '');
      await expect(plain).toMatchFileSnapshot(`samples/${from}.migrated.txt`);
    },
  );

  it('says by file and field what has to be filled in, and shows no secret', async () => {
    const secret = '{{ secret "/run/secrets/a-file-with-a-long-name" }}';
    const clients = [
      { id: 'weak', secret: 'hunter2hunter2', redirectURIs: ['https://a.example/cb'] },
      { id: 'template', secret, redirectURIs: ['https://*.example/cb'] },
    ];
    const { stdout, toFill } = await migrated('dex', { staticClients: clients }, ...ISSUER);
    expect(stdout).not.toMatch(/hunter2|run\/secrets/);
    expect(toFill).toEqual([
      expect.stringMatching(/ \[0\]\.client_secrets: .*\(client_id weak\)$/),
      expect.stringMatching(/^clients\.d\/dex\.yaml:\d+:\d+ \[1\]\.redirect_uris\[0\]: .*wildcard/),
      expect.stringMatching(/^client weak: its secret .*"postern client secret"/),
      expect.stringMatching(/^client template: its secret can't be imported/),
    ]);
  });

  it('prints and writes nothing that a terminal obeys or hides', async () => {
    const evil = '\u001b[2J\n\u009b1m\u202e\u200b\u{e0001}\u2028';
    const fields = { id: `a${evil}`, name: evil, redirectURIs: ['https://a.example'], [`x${evil}`]: 1 };
    const { code, stdout, out } = await migrated('dex', { staticClients: [fields] }, ...ISSUER);
    expect(code).toBe(0);
    const list = readFileSync(path.join(out, 'clients.d/dex.yaml'), 'utf8');
    for (const line of `${stdout}\n${list}`.split('\n')) expect(line).toMatch(/^[^\p{C}\p{Zl}]*$/u);
    expect(parse(list)).toMatchObject([{ client_id: fields.id, client_name: evil }]);
  });

  it.each([
    ['dex', 'clients: 1\n', 1],
    ['authelia', '{ "a\\u202e": 1, "a\\u202e": 2 }', 1],
    ['keycloak', `a: &a [1]\nclients: [*a]\n${SECRET}: [`, 1],
    ['other', 'staticClients: []\n', 2],
  ])('refuses what is no file of %s', async (from, content, code) => {
    const refused = await migrated(from, content, ...ISSUER);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr).toMatch(/^[^\p{Cf}]+$/u);
    expect(existsSync(refused.out)).toBe(false);
    expect(readdirSync(folder)).toEqual(['other']);
  });
});
