import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Client } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const folder = tempFolder();

const SECRET = 'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg-aUeRoQiZwKt';
const PHC =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';

/** Imports `content`, and loads what comes out. */
async function imported(
  from: string,
  content: string,
): Promise<{ readonly clients: readonly Client[]; readonly stderr: string }> {
  writeFileSync(join(folder, 'other'), content);
  const { code, stdout, stderr } = await postern(['client', 'import', '--from', from, join(folder, 'other')]);
  expect(code, stderr).toBe(0);
  expect(stdout + stderr).not.toContain(SECRET);
  writeFileSync(join(folder, 'clients.yaml'), stdout);
  const main = join(folder, 'postern.yaml');
  writeFileSync(
    main,
    'issuer: http://localhost:3000\nclients_from: [clients.yaml]\ngroups: { team: T }\nresources: [{ resource: urn:a, scopes: [read, phone, address] }]\n',
  );
  const { clients } = await loadConfig(main, { writeKeys: false, env: { DEX_SECRET: SECRET } });
  return { clients, stderr };
}

describe('postern client import', () => {
  it('takes the static clients of Dex', async () => {
    const { clients, stderr } = await imported(
      'dex',
      `issuer: https://dex.example/dex
storage: { type: sqlite3 }
staticClients:
- id: web
  name: Web
  redirectURIs: ['https://app.example/callback']
  secret: ${SECRET}
- id: env
  redirectURIs: ['https://env.example/cb']
  secretEnv: DEX_SECRET
- id: cli
  public: true
  redirectURIs: ['http://localhost:8000/cb']
  trustedPeers: [web]
`,
    );
    expect(clients).toMatchObject([
      {
        clientId: 'web',
        clientName: 'Web',
        secrets: [{ digest: digestOf(SECRET) }],
        redirectUris: ['https://app.example/callback'],
      },
      {
        clientId: 'env',
        grantTypes: ['authorization_code', 'refresh_token'],
        secrets: [{ digest: digestOf(SECRET) }],
      },
      { clientId: 'cli', tokenEndpointAuthMethod: 'none', secrets: [] },
    ]);
    expect(stderr).toBe('3 clients\ncli: not carried over: trustedPeers\n');
  });

  it('takes the clients of Authelia, with argon2id hashes as they are', async () => {
    const { clients, stderr } = await imported(
      'authelia',
      `identity_providers:
  oidc:
    clients:
      - client_id: wiki
        client_name: Wiki
        client_secret: '${PHC}'
        redirect_uris: [https://wiki.example/cb]
        scopes: [openid, groups, offline_access]
        token_endpoint_auth_method: client_secret_post
        consent_mode: implicit
        authorization_policy: two_factor
      - client_id: spa
        public: true
        redirect_uris: [https://spa.example/]
        consent_mode: implicit
      - client_id: vault
        public: true
        redirect_uris: [https://vault.example/]
        authorization_policy: team
`,
    );
    expect(clients).toMatchObject([
      {
        clientId: 'wiki',
        secrets: [{ kind: 'argon2id', phc: PHC }],
        scopes: ['openid', 'groups', 'offline_access'],
        grantTypes: ['authorization_code', 'refresh_token'],
        tokenEndpointAuthMethod: 'client_secret_post',
        consent: 'implicit',
      },
      {
        clientId: 'spa',
        tokenEndpointAuthMethod: 'none',
        grantTypes: ['authorization_code'],
        consent: 'explicit',
      },
      { clientId: 'vault', access: { groups: ['team'] } },
    ]);
    expect(stderr).toContain('wiki: not carried over: authorization_policy');
  });

  it('takes the clients of a Keycloak realm, without its own', async () => {
    const { clients, stderr } = await imported(
      'keycloak',
      JSON.stringify({
        realm: 'x',
        clients: [
          { clientId: 'admin-cli', publicClient: true },
          { clientId: 'off', enabled: false, secret: SECRET },
          {
            clientId: 'shop',
            rootUrl: 'https://shop.example/',
            secret: SECRET,
            redirectUris: ['/callback'],
            webOrigins: ['+', 'https://shop.example'],
            attributes: { 'post.logout.redirect.uris': 'https://shop.example/##https://shop.example/bye' },
            defaultClientScopes: ['web-origins', 'roles', 'profile', 'email'],
            directAccessGrantsEnabled: true,
          },
          {
            clientId: 'job',
            secret: SECRET,
            standardFlowEnabled: false,
            serviceAccountsEnabled: true,
            optionalClientScopes: ['read'],
          },
        ],
      }),
    );
    expect(clients).toMatchObject([
      {
        clientId: 'shop',
        redirectUris: ['https://shop.example/callback'],
        postLogoutRedirectUris: ['https://shop.example/', 'https://shop.example/bye'],
        consent: 'explicit',
      },
      { clientId: 'job', grantTypes: ['client_credentials'], scopes: ['read'], redirectUris: [] },
    ]);
    expect(stderr).toContain('shop: not carried over: directAccessGrantsEnabled, webOrigins');
  });

  it('asks people in every client of Keycloak, and notes where that did not', async () => {
    const app = { redirectUris: ['https://spa.example/'], defaultClientScopes: ['profile'] };
    const { clients, stderr } = await imported(
      'keycloak',
      JSON.stringify({
        clients: [
          { ...app, clientId: 'spa', publicClient: true },
          { ...app, clientId: 'app', publicClient: true, consentRequired: false },
          { ...app, clientId: 'asks', publicClient: true, consentRequired: true },
          { ...app, clientId: 'web', secret: SECRET },
          { ...app, clientId: 'own', secret: SECRET, consentRequired: false },
        ],
      }),
    );
    expect(clients.map(({ clientId, consent }) => [clientId, consent])).toEqual([
      ['spa', 'explicit'],
      ['app', 'explicit'],
      ['asks', 'explicit'],
      ['web', 'explicit'],
      ['own', 'explicit'],
    ]);
    expect(stderr.match(/^.*consent: implicit.*$/gm)).toEqual(
      ['web', 'own'].map((id) => expect.stringMatching(new RegExp(`^${id}: now asks users`))),
    );
  });

  it('says of weak and unknown secrets that they need to be made anew, and shows none', async () => {
    writeFileSync(
      join(folder, 'weak'),
      `staticClients:\n- { id: a, secret: hunter2hunter2, redirectURIs: [https://a.example] }\n`,
    );
    const { code, stdout, stderr } = await postern([
      'client',
      'import',
      '--from',
      'dex',
      join(folder, 'weak'),
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('a: its secret is too weak');
    expect(stdout + stderr).not.toContain('hunter2');
  });

  it('prints nothing that a terminal obeys or hides', async () => {
    const evil = '\u001b[2J\n\u009b1m\u202e\u200b\u{e0001}\u2028';
    const fields = { id: `a${evil}`, name: evil, redirectURIs: ['https://a.example'], [`x${evil}`]: 1 };
    writeFileSync(join(folder, 'evil'), JSON.stringify({ staticClients: [fields] }));
    const { code, stdout, stderr } = await postern([
      'client',
      'import',
      '--from',
      'dex',
      join(folder, 'evil'),
    ]);
    expect(code).toBe(0);
    for (const line of [...stdout.split('\n'), ...stderr.split('\n')])
      expect(line).toMatch(/^[^\p{C}\p{Zl}]*$/u);
    expect(parse(stdout)).toMatchObject([{ client_id: fields.id, client_name: evil }]);
    writeFileSync(join(folder, 'evil'), `{ "a\\u202e": 1, "a\\u202e": 2 }`);
    const refused = await postern(['client', 'import', '--from', 'dex', join(folder, 'evil')]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('a\\u202e')]);
  });

  it('refuses what is no such file', async () => {
    writeFileSync(join(folder, 'none'), 'clients: 1\n');
    for (const from of ['dex', 'authelia', 'keycloak']) {
      expect((await postern(['client', 'import', '--from', from, join(folder, 'none')])).code).toBe(1);
    }
    const device = await postern(['client', 'import', '--from', 'dex', '/dev/zero']);
    expect([device.code, device.stderr]).toEqual([
      1,
      expect.stringContaining('/dev/zero is a pipe, a device'),
    ]);
    expect((await postern(['client', 'import', '--from', 'other', join(folder, 'none')])).code).toBe(2);
    expect((await postern(['client', 'import', join(folder, 'none')])).code).toBe(2);
  });
});
