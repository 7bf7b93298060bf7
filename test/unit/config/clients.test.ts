import { describe, expect, it } from 'vitest';
import {
  client,
  clientProblems,
  load,
  loadClient,
  LOCAL,
  machine,
  OTHER_SECRET,
  problemsOf,
  PUBLIC,
  RESOURCES,
  SECRET,
} from './config-files.ts';
import { DEMO_CLIENT_SECRET } from '../../../src/config/demo.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';

const spa = (keys: Record<string, string | undefined> = {}) =>
  client({ client_id: 'spa', client_secret: undefined, token_endpoint_auth_method: 'none', ...keys });

describe('a client', () => {
  it('has the defaults of the file', async () => {
    expect(await loadClient(client())).toMatchObject({
      clientId: 'web',
      applicationType: 'web',
      grantTypes: ['authorization_code'],
      tokenEndpointAuthMethod: 'client_secret_basic',
      requirePkce: true,
      consent: 'explicit',
      postLogoutRedirectUris: [],
      rateLimits: {},
    });
  });

  it('may be a machine, a public client, or an API that only introspects', async () => {
    expect(await clientProblems(machine())).toEqual([]);
    expect(await clientProblems(spa())).toEqual([]);
    expect(
      await clientProblems(client({ grant_types: '[]', scope: '""', redirect_uris: undefined })),
    ).toEqual([]);
  });
});

describe('the algorithm of its ID tokens', () => {
  const problems = (algorithms: string, alg: string) =>
    problemsOf(
      `${PUBLIC}signing_keys: { algorithms: [${algorithms}] }\nclients:\n${client({ id_token_signed_response_alg: alg })}`,
    );

  it('is one that the service has keys for', async () => {
    expect(await problems('RS256, ES256', 'ES256')).toEqual([]);
    // The same if the algorithm is removed while a client names it.
    expect(await problems('RS256', 'ES256')).toEqual([
      expect.stringMatching(
        /clients\[0\]\.id_token_signed_response_alg: "ES256" is off: add it to signing_keys\.algorithms/,
      ),
    ]);
    for (const alg of ['none', 'HS256', 'Ed25519', 'ES384']) {
      expect(await problems('RS256, PS256, ES256, EdDSA', alg), alg).toEqual([
        expect.stringMatching(/must be one of RS256, PS256, ES256, EdDSA/),
      ]);
    }
  });
});

describe('CF-09: a client that contradicts itself is refused', () => {
  const cases: readonly [title: string, yaml: string, field: string, words: string][] = [
    [
      'public with client_credentials',
      machine({ token_endpoint_auth_method: 'none', client_secret: undefined }),
      'grant_types',
      'requires a client with a secret',
    ],
    [
      'client_credentials with redirect URIs',
      machine({ redirect_uris: '[https://app.example/cb]' }),
      'redirect_uris',
      'client_credentials',
    ],
    [
      'client_credentials beside authorization_code',
      client({ grant_types: '[authorization_code, client_credentials]', scope: 'reports.read' }),
      'redirect_uris',
      'create a separate client',
    ],
    [
      'client_credentials for a person',
      machine({ scope: 'reports.read openid' }),
      'scope',
      'has no user: remove "openid"',
    ],
    [
      'AC-32: public, and without asking the person',
      client({ token_endpoint_auth_method: 'none', client_secret: undefined, consent: 'implicit' }),
      'consent',
      'implicit requires a client with a secret',
    ],
    [
      'public with a secret',
      client({ token_endpoint_auth_method: 'none' }),
      'client_secrets',
      'has no secret',
    ],
    [
      'confidential without a secret',
      client({ client_secret: undefined }),
      'client_secrets',
      'requires a secret',
    ],
    [
      'one secret in two ways',
      client({ client_secrets: '[{ value: env:OTHER_SECRET }]' }),
      'client_secrets',
      'either client_secret or client_secrets',
    ],
    [
      'authorization_code without redirect URIs',
      client({ redirect_uris: '[]' }),
      'redirect_uris',
      'at least one',
    ],
    [
      'redirect URIs without authorization_code',
      client({ grant_types: '[]', scope: 'openid' }),
      'redirect_uris',
      'require authorization_code',
    ],
    [
      'refresh_token without offline_access',
      client({ grant_types: '[authorization_code, refresh_token]' }),
      'grant_types',
      'requires offline_access',
    ],
  ];

  it.each(cases)('%s', async (_title, yaml, field, words) => {
    const problems = await clientProblems(yaml);
    expect(problems).toEqual([expect.stringContaining(`clients[0].${field}: `)]);
    expect(problems[0]).toContain(words);
    expect(problems[0]).toMatch(/\(client_id \w+\)$/);
  });

  it('a public client without PKCE', async () => {
    expect(await clientProblems(client({ require_pkce: 'false' }))).toEqual([]);
    expect(await clientProblems(spa({ require_pkce: 'false' }))).toEqual([
      expect.stringContaining('RFC 9700 §2.1.1'),
    ]);
  });
});

describe('TK-19: scope', () => {
  it('is mandatory', async () => {
    expect(await clientProblems(client({ scope: undefined }))).toEqual([
      'clients[0].scope: is required (client_id web)',
    ]);
    expect(await clientProblems(client({ scope: '""' }))).toEqual([
      expect.stringContaining('at least one scope'),
    ]);
  });

  it('names only what exists', async () => {
    const problems = await clientProblems(machine({ scope: 'reports.raed other' }));
    expect(problems).toEqual([expect.stringContaining('has unknown scopes: "reports.raed", "other"')]);
  });

  it('is not blamed for a resource that has another mistake', async () => {
    const head = `${PUBLIC}resources: [{ resource: nowhere, scopes: [reports.read] }]\nclients:\n`;
    const problems = await problemsOf(head + machine());
    expect(problems).toEqual([expect.stringContaining('resources[0].resource')]);
  });
});

describe('client_id', () => {
  const NO_IDS = ['""', '"a b"', 'a:b', '"a%20b"', '"a+b"', '"é"', '"a\\tb"', `"${'a'.repeat(201)}"`];
  it.each(NO_IDS)('is not %s', async (id) => {
    expect(await clientProblems(client({ client_id: id }))).toHaveLength(1);
  });

  it('HT-30: is not a name that every object has, nor is a scope', async () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const resources = `resources: [{ resource: urn:api, scopes: [${name}] }]\n`;
      expect(await problemsOf(`${PUBLIC}${resources}clients:\n${client({ client_id: name })}`)).toEqual([
        expect.stringContaining('scopes[0]: must be printable ASCII'),
        expect.stringContaining('client_id: must not be a word of JavaScript'),
      ]);
    }
  });

  it('is not of the form of a person', async () => {
    expect(await clientProblems(client({ client_id: 'usr_0123456789abcdef' }))).toEqual([
      expect.stringContaining('must not start with usr_'),
    ]);
  });

  it.each(['Web', 'WEB'])('is not told apart by case: %s beside web', async (other) => {
    const [first, second] = [client(), client({ client_id: other })];
    const problem = `[0].client_id: "${other}" differs only in case from "web" at postern.yaml:7 (client_id ${other})`;
    expect(
      await problemsOf(`${PUBLIC}clients_from: [clients.d/*.yaml]\nclients:\n${first}`, {
        'clients.d/a.yaml': second,
      }),
    ).toEqual([`clients.d/a.yaml:2:16 ${problem}`]);
  });

  it('belongs to one client in all files, and the other one is pointed at', async () => {
    const main = `${PUBLIC}clients_from: [clients.d/*.yaml]\nclients:\n${client()}`;
    expect(await problemsOf(main, { 'clients.d/a.yaml': client() })).toEqual([
      'clients.d/a.yaml:2:16 [0].client_id: "web" is already used at postern.yaml:7 (client_id web)',
    ]);
  });
});

describe('redirect URIs in a client', () => {
  it('http on loopback is for native apps, and for web apps while the issuer is local too', async () => {
    const yaml = client({ redirect_uris: '[http://localhost:3001/cb]' });
    expect(await clientProblems(yaml)).toEqual([expect.stringContaining('application_type: native')]);
    expect(await clientProblems(yaml, LOCAL)).toEqual([]);
  });

  it.each(['http://127.0.0.1/cb', 'com.example.app:/cb'])('%s makes a public client native', async (uri) => {
    expect(await loadClient(spa({ redirect_uris: `["${uri}"]` }))).toMatchObject({
      applicationType: 'native',
    });
    expect(await clientProblems(spa({ redirect_uris: `["${uri}"]`, application_type: 'web' }))).toHaveLength(
      1,
    );
  });

  it('https on this machine is no redirect URI of a native app', async () => {
    const yaml = spa({ redirect_uris: '["https://localhost/cb"]', application_type: 'native' });
    expect(await clientProblems(yaml)).toEqual([expect.stringContaining('RFC 8252 §7.2')]);
  });
});

describe('IN-15: client metadata', () => {
  it.each(['logo_uri', 'client_uri', 'policy_uri', 'tos_uri'])('%s is a web URL', async (key) => {
    for (const uri of ['javascript:alert(1)', 'data:text/html,x', '/x', '"https://a.example/\\"><script>"']) {
      expect(await clientProblems(client({ [key]: uri }))).toHaveLength(1);
    }
    expect(await clientProblems(client({ [key]: 'https://app.example/x' }))).toEqual([]);
  });

  it('a name has no control characters and no hidden change of direction', async () => {
    for (const name of ['"a\\nb"', '"a\\u202eb"', '""', '"   "']) {
      expect(await clientProblems(client({ client_name: name }))).toHaveLength(1);
    }
    expect(await clientProblems(client({ client_name: '"<b>Müller & Söhne</b>"' }))).toEqual([]);
  });
});

describe('TK-09: a weak secret is refused', () => {
  it('from the environment and from a file', async () => {
    const yaml = `${PUBLIC}clients:\n${client({ client_secret: 'file:weak' })}${client({ client_id: 'b', client_secret: 'env:WEAK' })}`;
    const problems = await problemsOf(
      yaml,
      { weak: 'hunter2\n' },
      { env: { ...process.env, WEAK: 'hunter2', ENCRYPTION_KEY: SECRET, COOKIE_KEY: SECRET } },
    );
    expect(problems.filter((problem) => problem.includes('too weak'))).toHaveLength(2);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('the hash of an empty secret, and what is no hash at all', async () => {
    const empty = `sha256:${digestOf('').toString('hex')}`;
    for (const hash of [empty, 'sha256:', 'sha256:abc', 'md5:d41d8cd98f00b204e9800998ecf8427e']) {
      const yaml = client({ client_secret: undefined, client_secrets: `[{ hash: "${hash}" }]` });
      expect(await clientProblems(yaml)).toEqual([expect.stringContaining('client_secrets[0].hash')]);
    }
  });
});

describe('TK-11: secrets at rest', () => {
  it('are digests, wherever they came from', async () => {
    const digest = digestOf(SECRET);
    for (const secret of [
      '{ value: env:WEB_SECRET }',
      '{ value: file:web-secret }',
      `{ hash: "sha256:${digest.toString('hex')}" }`,
      `{ hash: "sha256:${digest.toString('base64url')}" }`,
    ]) {
      const yaml = client({ client_secret: undefined, client_secrets: `[${secret}]` });
      const config = await load(`${PUBLIC}clients:\n${yaml}`, { 'web-secret': `${SECRET}\n` });
      expect(config.clients[0]?.secrets[0]).toMatchObject({ digest });
      expect(JSON.stringify(config)).not.toContain(SECRET);
    }
  });

  it('lose one trailing newline, and no more', async () => {
    const yaml = `${LOCAL}clients:\n${client({ client_secret: 'file:web-secret' })}`;
    for (const [content, secret] of [
      [SECRET, SECRET],
      [`${SECRET}\r\n`, SECRET],
      [`${SECRET} \n`, `${SECRET} `],
    ] as const) {
      const { clients } = await load(yaml, { 'web-secret': content });
      expect(clients[0]?.secrets[0]).toMatchObject({ digest: digestOf(secret) });
    }
  });

  it('are read from the folder of the file that names them', async () => {
    const yaml = client({ client_secret: 'file:secret' });
    const { clients } = await load(`${PUBLIC}clients_from: [clients.d/*.yaml]\n`, {
      'clients.d/a.yaml': yaml,
      'clients.d/secret': OTHER_SECRET,
      secret: SECRET,
    });
    expect(clients[0]?.secrets[0]).toMatchObject({ digest: digestOf(OTHER_SECRET) });
  });
});

describe('secrets', () => {
  it('in plain text are only for a local issuer', async () => {
    expect(await clientProblems(client({ client_secret: SECRET }), LOCAL)).toEqual([]);
    const problems = await clientProblems(client({ client_secret: SECRET }));
    expect(problems).toEqual([expect.stringContaining('plain text')]);
    expect(problems.join()).not.toContain(SECRET);
  });

  it('that are not there are named', async () => {
    expect(await clientProblems(client({ client_secret: 'env:MISSING' }))).toEqual([
      'clients[0].client_secret: env:MISSING is not set in the environment (client_id web)',
    ]);
    const pasted = await clientProblems(client({ client_secret: `env:${SECRET}` }));
    expect(pasted.join()).not.toContain(SECRET);
    expect(pasted).toHaveLength(1);
  });

  it('have a beginning and an end', async () => {
    const secrets = `[{ value: env:WEB_SECRET, name: new, not_before: 2026-02-01 }, { value: env:OTHER_SECRET, expires_at: 2025-12-31 }]`;
    const yaml = client({ client_secret: undefined, client_secrets: secrets });
    const { secrets: read } = await loadClient(yaml);
    expect(read).toMatchObject([
      { name: 'new', notBefore: Date.UTC(2026, 1, 1) / 1000 },
      { expiresAt: Date.UTC(2025, 11, 31) / 1000 },
    ]);
  });

  it.each([
    ['[{ value: env:WEB_SECRET, expires_at: 2026-02-30 }]', 'must be a date'],
    ['[{ value: env:WEB_SECRET, not_before: 2027-01-01, expires_at: 2026-06-01 }]', 'must be earlier'],
    ['[{ name: x }]', 'either value or hash'],
    [`[{ value: env:WEB_SECRET, hash: "sha256:${'a'.repeat(64)}" }]`, 'either value or hash'],
    [`[${Array(6).fill('{ value: env:WEB_SECRET }').join()}]`, 'at most 5'],
    ['[{ vale: env:WEB_SECRET }]', 'did you mean "value"?'],
  ])('%s is refused', async (secrets, words) => {
    const problems = await clientProblems(client({ client_secret: undefined, client_secrets: secrets }));
    expect(problems.join('\n')).toContain(words);
  });
});

it('CF-07: the demo secret is refused by name when the issuer is not this machine, however it is given', async () => {
  const hash = digestOf(DEMO_CLIENT_SECRET).toString('hex');
  for (const secret of [`value: ${DEMO_CLIENT_SECRET}`, 'value: env:DEMO', `hash: "sha256:${hash}"`]) {
    const yaml = client({ client_id: 'demo', client_secret: undefined, client_secrets: `[{ ${secret} }]` });
    const problems = await problemsOf(
      `${PUBLIC}${RESOURCES}clients:\n${yaml}`,
      {},
      { env: { DEMO: DEMO_CLIENT_SECRET, ENCRYPTION_KEY: 'x', COOKIE_KEY: 'x' } },
    );
    expect(problems).toContainEqual(expect.stringContaining('is the public demo secret'));
    expect(problems.join()).not.toContain(DEMO_CLIENT_SECRET);
  }
});
