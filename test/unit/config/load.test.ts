import { execFile } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import {
  client,
  ENCRYPTION_KEY,
  ENV,
  load,
  LOCAL,
  OTHER_SECRET,
  problemsOf,
  PUBLIC,
  SECRET,
  write,
} from './config-files.ts';

const HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'c'.repeat(21)}w$${'A'.repeat(43)}`;

describe('a configuration file', () => {
  it('needs nothing but an issuer on this machine', async () => {
    const file = write(LOCAL);
    const config = await loadConfig(file, { env: {} });
    expect(config).toMatchObject({
      issuer: 'http://localhost:3000',
      listen: { host: '127.0.0.1', port: 3000 },
      management: { host: '127.0.0.1', port: 3001, hosts: [] },
      store: { engine: 'lmdb', folder: join(dirname(file), '..', 'data') },
      lifetimes: { accessToken: 600 },
      signingKeys: { modulus: 2048, rotateEvery: 2_592_000, publishAhead: 86_400 },
      branding: { name: 'Postern' },
    });
  });

  it('may be JSON', async () => {
    const file = write('').replace('.yaml', '.json');
    writeFileSync(
      file,
      '{\n\t"$schema": "./postern.schema.json",\n\t"issuer": "http://localhost:3000",\n\t"isuer": 1\n}',
    );
    await expect(loadConfig(file, { env: {} })).rejects.toMatchObject({
      problems: [
        { file, line: 4, column: 2, path: 'isuer', message: 'unknown key "isuer": did you mean "issuer"?' },
      ],
    });
  });

  it('may still have what an earlier version had, which is said once and has no effect', async () => {
    const OLD = {
      client_secret: 'env:WEB_SECRET',
      scope: 'openid',
      redirect_uris: ['https://app.example/callback'],
      rate_limits: { token: '5/1m', revocation: '5/1m' },
    };
    const old = `client_id: app
    client_secret: env:WEB_SECRET
    scope: openid
    redirect_uris: [https://app.example/callback]
    rate_limits: { token: 5/1m, revocation: 5/1m }`;
    const main = `${LOCAL}refresh_token_grace: 10s
rate_limits:
  dry_run: true
  token: { failures: 5/1m, client: 5/1m }
  sign_in: { address_failures: 5/1m }
clients_from: [more.yaml, another.yaml]
clients:
  - ${old.replace('app', 'app-0')}
  - ${old.replace('app', 'app-1')}
`;
    const file = write(main, {
      'more.yaml': `clients:\n  - ${old.replace('app', 'app-2')}\n`,
      'another.yaml': JSON.stringify([{ ...OLD, client_id: 'app-3' }]),
    });
    const { notices, rateLimits, clients } = await loadConfig(file, { env: ENV, writeKeys: false });
    const ofClients =
      'clients[].rate_limits.revocation no longer has an effect: remove it (rate_limits.revocation';
    expect(notices.map((line) => line.replace(`${dirname(file)}/`, ''))).toEqual([
      'postern.yaml:2 refresh_token_grace no longer has an effect: remove it (refresh tokens are single-use)',
      expect.stringContaining('postern.yaml:4 rate_limits.dry_run no longer has an effect'),
      expect.stringMatching(
        /^postern\.yaml:5 rate_limits\.token is a single rate now: replace it with the value of client, which/,
      ),
      expect.stringContaining('postern.yaml:6 rate_limits.sign_in is a single rate now'),
      expect.stringMatching(/^postern\.yaml:13 clients\[\]\.rate_limits\.revocation .* has it 2 times\.$/),
      expect.stringContaining(`more.yaml:6 ${ofClients}`),
      expect.stringContaining(`another.yaml:1 ${ofClients}`),
    ]);
    expect(rateLimits.token).toEqual({ limit: 5, windowSeconds: 60 });
    expect(rateLimits.signIn).toEqual({ limit: 10, windowSeconds: 600 });
    expect(clients[3]?.rateLimits).toEqual({ token: { limit: 5, windowSeconds: 60 } });
  });

  it('that is not there is a problem, not a crash', async () => {
    await expect(loadConfig('/nowhere/postern.yaml')).rejects.toMatchObject({
      problems: [{ file: '/nowhere/postern.yaml', message: 'does not exist' }],
    });
    await expect(loadConfig(dirname(write(LOCAL)))).rejects.toBeInstanceOf(ConfigError);
  });
});

describe('problems', () => {
  it('of fields are all reported at once, each with file, line, column and path', async () => {
    const main = `isuer: x
issuer: https://id.example/?q
encryption_keys: [env:ENCRYPTION_KEY]
cookie_keys: [env:COOKIE_KEY]
listen: { prot: 3 }
lifetimes:
  access_token: 48h
clients_from: [clients.d/*.yaml]
users_from: users.yaml
clients:
  - client_id: web
    scope: openid
    redirect_uri: [https://app.example/cb]
    client_secret: env:MISSING
`;
    const problems = await problemsOf(main, {
      'clients.d/a.yaml': `clients:\n${client({ client_id: 'a', logo_uri: 'javascript:x' })}`,
      'clients.d/b.yaml': '- client_id: b\n  scope: [openid\n',
      'users.yaml': '- id: usr_short\n',
    });
    expect(problems).toEqual([
      'postern.yaml:1:1 isuer: unknown key "isuer": did you mean "issuer"?',
      expect.stringMatching(/^postern\.yaml:2:9 issuer: must be an https URL without a query/),
      'postern.yaml:5:11 listen.prot: unknown key "prot"',
      'postern.yaml:7:17 lifetimes.access_token: must be at most 1d',
      expect.stringMatching(
        /^postern\.yaml:13:5 clients\[0\]\.redirect_uri: unknown key .*did you mean .*"redirect_uris"/,
      ),
      expect.stringMatching(/^clients\.d\/b\.yaml:3:1 is not valid YAML: /),
      expect.stringMatching(
        /^clients\.d\/a\.yaml:7:15 clients\[0\]\.logo_uri: must be a complete http or https URL/,
      ),
      'users.yaml:1:3 [0].username: is required',
      expect.stringMatching(/^users\.yaml:1:7 \[0\]\.id: must be usr_ and at least 16/),
    ]);
  });

  it('between fields are all reported at once, also beside entries with faults of their own', async () => {
    const main = `${PUBLIC}trusted_proxies: ["0.0.0.0/0"]
resources: [{ resource: urn:a, scopes: [x], introspection_clients: [ghost] }]
clients:
${client({ scope: 'openid y', client_secret: 'env:MISSING' })}${client({ client_id: 'b', scopes: 'x' })}`;
    expect(await problemsOf(main)).toEqual([
      expect.stringContaining('postern.yaml:4:18 trusted_proxies: trusts all addresses'),
      expect.stringContaining('clients[0].client_secret: env:MISSING is not set'),
      expect.stringContaining('clients[0].scope: has unknown scopes: "y"'),
      expect.stringMatching(/clients\[1\]\.scopes: unknown key "scopes": did you mean .*"scope"/),
    ]);
  });

  it('never contain a secret', async () => {
    const file = write(
      `${PUBLIC.replace('env:ENCRYPTION_KEY', ENCRYPTION_KEY)}
store: redis://user:${SECRET}@redis.example
clients:
  - { client_id: a, scope: openid, redirect_uris: [https://a.example], client_secret: ${SECRET} }
  - { client_id: b, scope: openid, redirect_uris: [https://a.example], client_secret: env:${SECRET} }
  - { client_id: c, scope: openid, redirect_uris: [https://a.example], client_secrets: [${SECRET}] }
  - { client_id: d, scope: openid, redirect_uris: [https://a.example], client_secrets: [{ hash: ${SECRET} }] }
  - { client_id: f, scope: openid, redirect_uris: [https://a.example], client_secrets: [{value:${SECRET}}] }
  - { client_id: e, scope: openid, redirect_uris: [https://a.example], token_endpoint_auth_method: none, client_secret: ${OTHER_SECRET} }
`,
    );
    const error: unknown = await loadConfig(file, { env: ENV }).catch((reason: unknown) => reason);
    if (!(error instanceof ConfigError)) throw new Error('it loaded');
    expect(error.problems.length).toBeGreaterThan(6);
    const text = `${error.message}${JSON.stringify(error)}${error.stack}`;
    for (const secret of [SECRET, OTHER_SECRET, ENCRYPTION_KEY]) expect(text).not.toContain(secret);
  });

  it('of the syntax contain no secret either', async () => {
    for (const broken of [
      `a: "${SECRET}\n`,
      `a: ${SECRET}: b\n`,
      `a: '${SECRET}' ${SECRET}\n`,
      `${SECRET}\n---\n${SECRET}\n`,
      `a: "\\q${SECRET}"`,
      `? [${SECRET}]\n`,
    ]) {
      const problems = await problemsOf(`${LOCAL}${broken}`);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain(SECRET);
    }
  });

  it.each([
    ['- client_id: b\n  scope: openid\n', /^postern\.yaml:6:1 is not valid YAML: /],
    ['   - client_id: b\n     scope: openid\n', /^postern\.yaml:6:4 is not valid YAML: /],
    ['    client_name:A\n', /^postern\.yaml:6:5 is not valid YAML: /],
    ['listen: {port:1}\n', /postern\.yaml:6:\d+ listen\.port:…: unknown key "port:…": did you mean "port"\?/],
  ])('of the layout say where: %j', async (more, problem) => {
    const first = `clients:\n  - client_id: a\n    grant_types:\n      - authorization_code\n    scope: openid\n`;
    expect((await problemsOf(first + more)).join('\n')).toMatch(problem);
  });

  it('of addresses say what to write instead', async () => {
    const issuer = await problemsOf(PUBLIC.replace('https://id.example', 'http://192.168.1.5:3000'));
    expect(issuer[0]).toMatch(/^postern\.yaml:1:9 issuer: must be https.*TLS proxy.*docs\/reverse-proxy\.md/);
  });

  // Folders of the kernel, in which no user can create another one.
  it.each(['/sys/postern', '/proc/postern/data'])(
    "of a data folder that can't be written name it, and the key that chooses it: %s",
    async (folder) => {
      const [problem] = await problemsOf(`${LOCAL}store: lmdb:${folder}\n`);
      expect(problem).toMatch(
        /^postern\.yaml:2:8 store: .* in \/(sys|proc)\/postern.*: the folder \/(sys|proc)\/postern can't be created \(E/,
      );
    },
  );

  it('of times that let a token outlive its key are reported in their place', async () => {
    const [problem] = await problemsOf(`${LOCAL}signing_keys:\n  rotate_every: 2h\n`);
    expect(problem).toMatch(/^postern\.yaml:3:3 signing_keys: rotate_every is 7200s/);
  });
});

describe('IN-11: an attack on the parser is refused at once, with a clear problem', () => {
  const laughs = [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...Array.from('bcdefghi', (name, index) => {
      const before = 'abcdefgh'[index];
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`;
    }),
  ].join('\n');

  const cases: readonly [title: string, yaml: string | Uint8Array, problem: string][] = [
    [
      'a tag that runs code',
      'issuer: !!js/function "function () {}"\n',
      'postern.yaml:1:9 is not valid YAML: tag',
    ],
    ['billion laughs', laughs, 'postern.yaml:2:8 has a YAML alias'],
    ['an alias of itself', `${LOCAL}a: &a [*a]\n`, 'postern.yaml:2:8 has a YAML alias'],
    ['a key twice', `${LOCAL}issuer: http://localhost:4\n`, 'postern.yaml:2:1 duplicate key "issuer"'],
    [
      'a key twice in JSON',
      '{"issuer": "http://localhost:3", "issuer": ""}',
      'postern.yaml:1:34 duplicate key',
    ],
    ['__proto__', `${LOCAL}__proto__: { polluted: yes }\n`, 'postern.yaml:2:1 unknown key "__proto__"'],
    [
      'constructor',
      `${LOCAL}constructor: { prototype: { polluted: 1 } }\n`,
      'postern.yaml:2:1 constructor: unknown key',
    ],
    ['a merge key', `${LOCAL}<<: { listen: 1 }\n`, 'postern.yaml:2:1 <<: unknown key'],
    ['a list under another key', `${LOCAL}users: [${'{},'.repeat(30)}]\n`, 'postern.yaml:2:1 users: unknown'],
    ['a key that is no text', `${LOCAL}1: 2\n`, 'postern.yaml:2:1 has a key that is not text'],
    ['deep nesting', `a: ${'['.repeat(200)}${']'.repeat(200)}`, `is nested more than 20 levels deep`],
    ['bytes that are no text', Uint8Array.of(0x69, 0xff, 0xfe), 'postern.yaml is not UTF-8 text'],
    [
      'a tab',
      `${LOCAL}listen:\n\tport: 1\n`,
      'postern.yaml:3:1 is not valid YAML: indent with spaces instead of tabs',
    ],
    ['nothing', '', 'postern.yaml:1:1 issuer: is required'],
    ['an empty value', `${LOCAL}users_from:\n`, 'users_from: is empty'],
    [
      'thousands of unknown keys',
      Array.from({ length: 3000 }, (_, i) => `k${i}: 1\n`).join(''),
      'k0: unknown key "k0"',
    ],
  ];

  it.each(cases)('%s', async (_title, yaml, expected) => {
    const problems = await problemsOf(yaml);
    expect(problems.join('\n')).toContain(expected);
    expect(problems.length).toBeLessThan(30);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('5 GB, which Node could not read in one piece', async () => {
    const file = write(LOCAL);
    truncateSync(file, 5 * 1024 ** 3);
    await expect(loadConfig(file)).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining('too large') }],
    });
  });
});

const userId = (index: number) => `usr_${String(index).padStart(20, '0')}`;
const manyUsers = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: userId(index),
    username: `name-${index}`,
    password_hash: HASH,
  }));
const toYaml = (users: ReturnType<typeof manyUsers>) =>
  `# All\nusers:\n${users.map((user) => `  - id: ${user.id}\n    username: ${user.username}\n    password_hash: ${HASH}\n`).join('')}`;

describe('16,000 users in the file', () => {
  const users16k = manyUsers(16_000);
  const inJson = JSON.stringify(users16k);
  const yaml = toYaml(users16k);

  async function read(users: string, name: string) {
    const file = write(`${LOCAL}users_from: ${name}\n`);
    writeFileSync(join(dirname(file), name), users);
    const script = `
      const { loadConfig } = await import(${JSON.stringify(new URL('../../../src/config/load.ts', import.meta.url).href)});
      const { users } = await loadConfig(${JSON.stringify(file)}, { env: {} });
      console.log(JSON.stringify(users));`;
    const heap = ['--max-old-space-size=64', '--no-warnings', '--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, heap, { maxBuffer: 1e8 });
    return JSON.parse(stdout) as readonly { readonly id: string }[];
  }

  it.each([
    ['JSON', inJson, 'users.json'],
    ['YAML', yaml, 'users.yaml'],
  ])('are read in a heap of 64 MB, in %s', async (_title, text, name) => {
    const users = await read(text, name);
    expect(users).toHaveLength(16_000);
    expect(users.at(-1)).toMatchObject({ id: userId(15_999), username: 'name-15999', passwordHash: HASH });
  });

  it('are the most that the shipped limits are for: more are a notice', async () => {
    const file = write(`${LOCAL}users_from: users.yaml\n`);
    writeFileSync(
      join(dirname(file), 'users.yaml'),
      `${yaml}  - id: usr_more0000000000000000\n    username: more\n    password_hash: ${HASH}\n`,
    );
    const { notices } = await loadConfig(file, { env: {} });
    expect(notices.join()).toContain('users_from has 16001 users');
  });
});

// Long enough to be parsed in parts.
describe('2,000 users in the file', () => {
  const yaml = toYaml(manyUsers(2000));

  it.each([
    ['a key twice', yaml.replace('username: name-1999', 'id: u'), 'users.yaml:6001:5 duplicate key "id"'],
    ['an alias', yaml.replace(`id: ${userId(1998)}`, 'id: *u'), 'users.yaml:5997:9 has a YAML alias'],
    ['another key', `${yaml}others: 1\n`, 'users.yaml:6003:1 others: unknown key'],
    [
      'an unknown key',
      yaml.replace('username: name-1999', 'username: a\n    nonsense: 1'),
      'users.yaml:6002:5 users[1999].nonsense: unknown key "nonsense"',
    ],
    ['a wrong list', yaml.replace('users:', 'persons:'), 'users.yaml:2:1 persons: unknown key "persons"'],
    ['a second document', `${yaml}---\n`, 'users.yaml:6003:1 is not valid YAML'],
  ])('have %s reported in its place', async (_title, users, expected) => {
    const file = write(`${LOCAL}users_from: users.yaml\n`);
    writeFileSync(join(dirname(file), 'users.yaml'), users);
    await expect(loadConfig(file, { env: {} })).rejects.toThrow(expected);
  });

  it('have a fault reported in its place, in JSON on one line and on many', async () => {
    const one = { id: userId(0), username: 'name-0', password_hash: HASH };
    const faulty = JSON.stringify([one, { ...one, id: userId(1), none: [1, { a: 2 }] }]).replace(
      'none',
      'no\\u006ee',
    );
    for (const [text, place] of [
      [faulty, `users.json:1:${faulty.indexOf('"no') + 1}`],
      [JSON.stringify(JSON.parse(faulty), null, '\t'), 'users.json:11:3'],
    ] as const) {
      const file = write(`${LOCAL}users_from: users.json\n`);
      writeFileSync(join(dirname(file), 'users.json'), text);
      await expect(loadConfig(file, { env: {} })).rejects.toThrow(`${place} [1].none: unknown key "none"`);
    }
  });
});

describe('settings of the service', () => {
  const cases: readonly [yaml: string, words: string][] = [
    ['store: postgres://db', 'must be lmdb:FOLDER'],
    ['store: "lmdb:"', 'followed by a folder'],
    ['listen: { port: 65536 }', '0 to 65535'],
    ['listen: { port: 3001 }', 'management: uses the same address as listen'],
    ['management: { hosts: [https://metrics.example] }', 'must be a host name'],
    ['lifetimes: { refresh_token: 91d }', 'refresh_token is longer than refresh_token_absolute'],
    ['lifetimes: { session: 600 }', 'must be a duration'],
    ['signing_keys: { modulus: 1024 }', '2048, 3072 or 4096'],
    ['signing_keys: { algorithms: [ES256] }', 'must include RS256'],
    ['signing_keys: { algorithms: [RS256, Ed25519] }', 'must be one of RS256, PS256, ES256, EdDSA'],
    ['rate_limits: { token: 100 }', 'must be a rate'],
    ['rate_limits: { tokens: 1/1m }', 'did you mean "token"?'],
    ['account: "yes"', 'must be true or false, not text'],
    ['trusted_proxies: [localhost]', 'must be an IP address or a range'],
    ['trusted_proxies: ["0.0.0.0/0"]', 'trusts all addresses'],
    ['trusted_proxies: [0.0.0.0/1, 10.0.0.1, 128.0.0.0/1]', 'trusted_proxies: trusts all addresses'],
    ['trusted_proxies: [0.0.0.0/1, 128.0.0.0/2, 192.0.0.0/3]', 'trusted_proxies: trusts all addresses'],
    ['trusted_proxies: ["::/1", "8000::/1"]', 'trusted_proxies: trusts all addresses'],
    ['trusted_proxies: ["2000::/3"]', 'trusted_proxies: trusts all addresses'],
    ['trusted_proxies: ["::ffff:0:0/96", "fe80::1%eth0"]', 'trusted_proxies: trusts all addresses'],
    ['cors: { allowed_origins: ["*"] }', 'must be an origin'],
    ['branding: { color: red }', 'must be a color'],
    ['branding: { logo: "javascript:x" }', 'http or https'],
    ['encryption_keys: [short]', '32 bytes, base64url'],
    [`encryption_keys: [${'A'.repeat(43)}]`, 'too weak'],
    ['cookie_keys: [changeme]', 'too weak'],
    [`encryption_keys: [${ENCRYPTION_KEY}, ${ENCRYPTION_KEY}=]`, 'encryption_keys[1]: is the same key as'],
    [`cookie_keys: [${SECRET}, ${SECRET}]`, 'cookie_keys[1]: is the same key as'],
    [
      `encryption_keys: [${ENCRYPTION_KEY}]\ncookie_keys: [${OTHER_SECRET}, ${ENCRYPTION_KEY}=]`,
      'cookie_keys[1]: is also an encryption key',
    ],
  ];

  it.each(cases)('%s is refused', async (yaml, words) => {
    const problems = await problemsOf(`${LOCAL}${yaml}\n`);
    expect(problems).toEqual([expect.stringContaining(words)]);
  });

  it('name a generated key that can not be read', async () => {
    const file = write(LOCAL);
    const data = join(dirname(file), '..', 'data');
    mkdirSync(data);
    symlinkSync('encryption.key', join(data, 'encryption.key'));
    await expect(loadConfig(file, { env: {} })).rejects.toMatchObject({
      problems: [
        { message: expect.stringMatching(/data: .*data\/encryption\.key can't be read \(ELOOP\)$/) },
      ],
    });
  });

  it.each([
    'listen: { port: 0 }\nmanagement: { port: 0 }',
    'trusted_proxies: [10.0.0.0/8, 192.168.1.1, "fd00::/8", "::1"]',
    'trusted_proxies: [0.0.0.0/1, 128.0.0.0/2, "4000::/2"]',
    'store: rediss://:password@redis.example',
    'branding: { logo: /assets/logo.svg, color: "#1a56db" }',
  ])('%s is accepted', async (yaml) => {
    expect(await problemsOf(`${LOCAL}${yaml}\n`)).toEqual([]);
  });

  it('have one secret for each purpose, however it is written', async () => {
    const files = { 'e.key': `${ENCRYPTION_KEY}\n` };
    expect(await problemsOf(PUBLIC.replace('_KEY]', '_KEY, file:e.key]'), files)).toEqual([
      expect.stringContaining('encryption_keys[1]: is the same key as'),
    ]);
    const both = ['env:COOKIE_KEY', 'env:ENCRYPTION_KEY'];
    const clients = both.map((secret) => client({ client_id: secret.slice(4), client_secret: secret }));
    const problems = await problemsOf(`${PUBLIC}clients:\n${clients.join('')}`);
    expect(problems).toEqual(
      both.map((_, index) =>
        expect.stringContaining(`clients[${index}].client_secret: is also an encryption or cookie key`),
      ),
    );
  });

  it('take the store with its password from the environment, and refuse it in the file', async () => {
    const url = `rediss://user:${SECRET}@redis.example`;
    const { store } = await load(`${PUBLIC}store: env:REDIS_URL\n`, {}, { env: { ...ENV, REDIS_URL: url } });
    expect(store).toEqual({ engine: 'redis', url });
    const problems = await problemsOf(`${PUBLIC}store: ${url}\n`);
    expect(problems).toEqual([expect.stringContaining('contains a password')]);
  });
});

describe('resources', () => {
  const cases: readonly [yaml: string, words: string][] = [
    ['[{ resource: /reports }]', 'must be a complete URI'],
    ['[{ resource: "https://api.example/#x" }]', 'fragment'],
    ['[{ resource: urn:a }, { resource: urn:a }]', 'already defined at postern.yaml:4'],
    ['[{ resource: urn:a, scopes: [openid] }]', '"openid" belongs to the issuer'],
    [
      '[{ resource: urn:a, scopes: [x] }, { resource: urn:b, scopes: [x] }]',
      '"x" already belongs to the resource at',
    ],
    ['[{ resource: urn:a, scopes: [x, X] }]', 'scopes[1]: "X" differs from "x" only'],
    [
      '[{ resource: urn:a, scopes: [r.x] }, { resource: urn:b, scopes: [R.x] }]',
      '"R.x" differs from "r.x" only',
    ],
    ['[{ resource: urn:a, scopes: [OpenID] }]', '"OpenID" differs from "openid" only'],
    ['[{ resource: urn:a, introspection_clients: [ghost] }]', 'unknown client "ghost"'],
    ['[{ resource: urn:a, clients: [ghost] }]', 'clients[0]: unknown client "ghost"'],
    [
      '[{ resource: urn:a, scopes: [x], clients: [ghost] }]',
      'clients: is only for a resource without scopes',
    ],
    ['[{ resource: https://a.example/x }, { resource: HTTPS://A.example/x }]', 'already defined'],
    ['[{ resource: https://a.example }, { resource: https://a.example/ }]', 'already defined'],
  ];

  it.each(cases)('%s is refused', async (yaml, words) => {
    expect(await problemsOf(`${PUBLIC}resources: ${yaml}\n`)).toEqual([expect.stringContaining(words)]);
  });

  it('are introspected by confidential clients only', async () => {
    const clients = client({
      client_id: 'spa',
      client_secret: undefined,
      token_endpoint_auth_method: 'none',
    });
    const yaml = `${PUBLIC}resources: [{ resource: urn:a, introspection_clients: [spa] }]\nclients:\n${clients}`;
    expect(await problemsOf(yaml)).toEqual([expect.stringContaining('"spa" is a public client')]);
  });
});

describe('clients_from', () => {
  it('reads every file of a pattern, in order, after the clients of the file itself', async () => {
    const main = `${PUBLIC}clients_from: [clients.d/*.yaml, more.json]\nclients:\n${client()}`;
    const { clients } = await load(main, {
      'clients.d/b.yaml': `clients:\n${client({ client_id: 'b' })}`,
      'clients.d/a.yaml': client({ client_id: 'a' }),
      'clients.d/ignored.txt': 'x: [',
      'clients.d/empty.yaml': '# nothing yet\n',
      'more.json': JSON.stringify([
        {
          client_id: 'm',
          scope: 'openid',
          client_secret: 'env:WEB_SECRET',
          redirect_uris: ['https://m.example'],
        },
      ]),
    });
    expect(clients.map(({ clientId }) => clientId)).toEqual(['web', 'a', 'b', 'm']);
  });

  it('follows links, as mounted folders have them', async () => {
    const file = write(`${PUBLIC}clients_from: [clients.d/*.yaml]\n`, {
      'clients.d/..data/a.yaml': client(),
    });
    symlinkSync('..data/a.yaml', join(dirname(file), 'clients.d', 'a.yaml'));
    const { clients } = await loadConfig(file, { env: ENV });
    expect(clients.map(({ clientId }) => clientId)).toEqual(['web']);
  });

  it('misses a file that is named, but not one that a pattern could have matched', async () => {
    expect(await problemsOf(`${PUBLIC}clients_from: [clients.yaml]\n`)).toEqual([
      'postern.yaml:4:16 clients_from[0]: clients.yaml does not exist',
    ]);
    expect(await problemsOf(`${PUBLIC}users_from: people.yaml\n`)).toEqual([
      'postern.yaml:4:13 users_from: people.yaml does not exist',
    ]);
    expect(await problemsOf(`${PUBLIC}clients_from: [clients.d/*.yaml]\n`)).toEqual([]);
  });

  it('has files that hold clients and nothing else', async () => {
    const problems = await problemsOf(`${PUBLIC}clients_from: [a.yaml, b.yaml]\n`, {
      'a.yaml': `issuer: https://x.example\nclient:\n${client()}`,
      'b.yaml': 'text',
    });
    expect(problems).toEqual([
      'a.yaml:1:1 clients: is required',
      'a.yaml:1:1 issuer: unknown key "issuer"',
      'a.yaml:2:1 client: unknown key "client": did you mean "clients"?',
      'b.yaml:1:1 must be a list, or a map with clients: and a list',
    ]);
  });

  it('CF-02: one bad client among many refuses all of them', async () => {
    const many = Array.from({ length: 49 }, (_, index) => client({ client_id: `c${index}` })).join('');
    const problems = await problemsOf(
      `${PUBLIC}clients:\n${many}${client({ client_id: 'bad', scope: 'nope' })}`,
    );
    expect(problems).toEqual([expect.stringContaining('clients[49].scope')]);
  });
});

describe('keys', () => {
  it('are required when the issuer is not this machine', async () => {
    expect(await problemsOf('issuer: https://id.example\n')).toEqual([
      expect.stringContaining('encryption_keys: is required'),
      expect.stringContaining('cookie_keys: is required'),
    ]);
  });

  it('are generated once for a local issuer, for their owner only, and the start knows', async () => {
    const file = write(`${LOCAL}store: lmdb:../data\n`);
    const first = await loadConfig(file, { env: {} });
    const folder = join(dirname(file), '..', 'data');
    expect(readdirSync(folder).toSorted()).toEqual(['cookie.key', 'encryption.key']);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(first.encryptionKeys[0]).toHaveLength(32);
    expect(first.notices).toHaveLength(2);
    expect(first.notices.join()).not.toContain(first.cookieKeys[0]);
    expect(first.notices.join()).not.toContain(first.encryptionKeys[0]?.toString('base64url'));
    const second = await loadConfig(file, { env: {} });
    expect(second.notices).toEqual([]);
    expect([second.encryptionKeys, second.cookieKeys]).toEqual([first.encryptionKeys, first.cookieKeys]);
  });

  it('are the same for all processes that start at once', async () => {
    const file = write(LOCAL);
    const configs = await Promise.all(Array.from({ length: 12 }, () => loadConfig(file, { env: {} })));
    expect(new Set(configs.map(({ cookieKeys }) => cookieKeys[0])).size).toBe(1);
    expect(configs.flatMap(({ notices }) => notices)).toHaveLength(2);
    expect(readdirSync(join(dirname(file), '..', 'data'))).toHaveLength(2);
  });

  it('are never replaced when their file is damaged', async () => {
    const file = write(LOCAL, { '../data/encryption.key': 'half a k' });
    await expect(loadConfig(file, { env: {} })).rejects.toThrow(/encryption\.key does not contain a key/);
    expect(readFileSync(join(dirname(file), '../data/encryption.key'), 'utf8')).toBe('half a k');
  });

  it('are not written for a file that is refused, nor when only looking', async () => {
    for (const [main, options] of [
      [`${LOCAL}listen: 0\n`, {}],
      [LOCAL, { writeKeys: false }],
    ] as const) {
      const file = write(main);
      await loadConfig(file, { env: {}, ...options }).catch(() => undefined);
      expect(readdirSync(join(dirname(file), '..'))).toEqual(['config']);
    }
  });
});
