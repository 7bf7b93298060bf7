import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import { createSecretUses } from '../../../src/oidc/secret-uses.ts';
import { withStore } from '../../../src/store/open.ts';
import { postern } from '../../world/terminal.ts';
import { configFolder } from '../../world/temp-folder.ts';

const { file: writeFile } = configFolder();

const HEAD = `issuer: http://localhost:3000
resources: [{ resource: urn:a, scopes: [a] }]
clients:
  - client_id: svc
    scope: a
    grant_types: [client_credentials]
`;

const file = (content: string) => writeFile('postern.yaml', content);

const indented = (yaml: string) => yaml.replaceAll(/^(?=.)/gm, '    ');

describe('TK-10: postern client secret', () => {
  it('prints a secret, and YAML that loads without it', async () => {
    const { code, stdout } = await postern(['client', 'secret']);
    expect(code).toBe(0);
    const [secret = '', ...lines] = stdout.split('\n');
    const { clients } = await loadConfig(file(HEAD + indented(lines.join('\n'))), { writeKeys: false });
    expect(clients[0]?.secrets).toEqual([{ digest: digestOf(secret) }]);
    expect(lines.join('\n')).not.toContain(secret);
  });
});

describe('postern client list', () => {
  const SECRETS = `    client_secrets:
      - { hash: "sha256:${'a'.repeat(64)}", name: old, expires_at: 2020-01-01 }
      - { hash: "sha256:${'b'.repeat(64)}" }
      - { hash: "sha256:${'c'.repeat(64)}", name: next, not_before: 2099-01-01 }
  - { client_id: spa, scope: openid, token_endpoint_auth_method: none, redirect_uris: [https://a.example] }
`;

  it('shows clients with their secrets, and no hash', async () => {
    const { code, stdout } = await postern(['client', 'list', '-c', file(HEAD + SECRETS), '-o', 'wide']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^CLIENT ID +SECRET +NAME +STATE +EXPIRES +LAST USED +NOT BEFORE .* GRANT TYPES /m,
    );
    expect(stdout).toMatch(/^svc +\w+ +old +expired +2020-01-01 +- +- /m);
    expect(stdout).toMatch(/^svc +\w+ +next +not yet +- +- +2099-01-01 /m);
    expect(stdout).toMatch(/^spa +- .*authorization_code /m);
    expect(stdout).not.toMatch(/aaaaaaaa|bbbbbbbb/);
  });

  it('prints JSON, also where the secrets are not', async () => {
    const config = file(HEAD + SECRETS.replace(`hash: "sha256:${'b'.repeat(64)}"`, 'value: env:NOT_SET'));
    expect((await postern(['client', 'list', '-c', config])).code).toBe(1);
    const { stdout } = await postern(['client', 'list', '-c', config, '--no-secrets', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([
      {
        client_id: 'svc',
        scope: 'a',
        secrets: [
          { name: 'old', state: 'expired', expires_at: '2020-01-01' },
          { state: 'live' },
          { not_before: '2099-01-01' },
        ],
      },
      { client_id: 'spa', secrets: [] },
    ]);
  });

  it('says when a secret was last used, where that is known', async () => {
    const config = file(`store: lmdb:data\n${HEAD}${SECRETS}`);
    const { clients, store } = await loadConfig(config, { writeKeys: false });
    await withStore(store, async ({ documents }) => {
      const uses = createSecretUses(documents, () => Date.UTC(2026, 4, 1));
      for (const client of clients) for (const secret of client.secrets) uses.note(client, secret);
      await uses.stop();
    });
    const { stdout } = await postern(['client', 'list', '-c', config, '-o', 'wide']);
    expect(stdout.match(/ 2026-05-01 /gm)).toHaveLength(3);
  });
});

describe('postern check', () => {
  it('warns of secrets that end, and lets the file pass', async () => {
    const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    const yaml = `${HEAD}    client_secrets: [{ hash: "sha256:${'a'.repeat(64)}", name: only, expires_at: ${soon} }]\n`;
    const { code, stderr } = await postern(['check', '-c', file(yaml)]);
    expect([code, stderr]).toEqual([0, `warning: client svc: secret only expires ${soon}: add another\n`]);
    const { stdout } = await postern(['check', '-c', file(yaml), '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, warnings: [expect.stringContaining('only')] });
  });

  it('passes in CI, where the secrets are not', async () => {
    const yaml = `issuer: https://id.example\nencryption_keys: [env:NOT_SET]\ncookie_keys: [file:not/there]\nstore: env:NOT_SET\n`;
    expect((await postern(['check', '-c', file(yaml)])).code).toBe(1);
    expect((await postern(['check', '-c', file(yaml), '--no-secrets'])).code).toBe(0);
  });
});
