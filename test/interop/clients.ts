// The clients that `npm run interop` tries, and their requirements. One program each, in the files beside.
import { homedir } from 'node:os';
import path from 'node:path';

/** Results of builds and downloads stay here from one run to the next. */
export const CACHE = path.join(homedir(), '.cache/postern-interop');

export type Client = {
  /** Also the client_id, unless `clientId` says otherwise. */
  readonly name: string;
  readonly clientId?: string;
  readonly command: readonly string[];
  /** Where the commands run, below this folder. */
  readonly folder?: string;
  /** Runs before the service starts, and may take minutes the first time. Its results go to CACHE. */
  readonly build?: readonly string[];
  /** The port of the client's own app in postern.yaml. */
  readonly port?: number;
  readonly tls?: true;
  /** The port of a second instance of the app, on another site. */
  readonly otherPort?: number;
  /** Runs in a separate network, where it has a client ID metadata document; elsewhere it is tried without one. */
  readonly documents?: true;
  /** Debian packages, each with a file that tells whether it is there. */
  readonly needs?: readonly Need[];
};

export type Need = { readonly debian: string; readonly file: string };

const APACHE: readonly Need[] = [{ debian: 'apache2', file: '/usr/sbin/apache2' }];
const apacheModule = (debian: string, name: string): Need => ({
  debian,
  file: `/usr/lib/apache2/modules/${name}.so`,
});
const pythonModule = (debian: string, name: string): Need => ({
  debian,
  file: `/usr/lib/python3/dist-packages/${name}/__init__.py`,
});
// Debian's packages belong to Debian's Python, whatever else is in the PATH.
const python = (file: string) => ['/usr/bin/python3', file];
const DOVECOT: Need = { debian: 'dovecot-imapd', file: '/usr/lib/dovecot/imap' };
const DJANGO = {
  build: ['sh', 'django/build.sh'],
  needs: [{ debian: 'python3-venv', file: '/usr/share/doc/python3-venv' }],
};
const WEB_PYTHON = { ...DJANGO, build: ['sh', 'web-python/build.sh'] };
const example = (name: string, more: Pick<Client, 'build' | 'needs'>): Client => ({
  name,
  clientId: 'my-app',
  command: ['node', 'example.mjs', name],
  port: 3290,
  ...more,
});
const OAUTH2_PROXY = 'github.com/oauth2-proxy/oauth2-proxy/v7';
const goProgram = (folder: string) => ({
  folder,
  build: ['go', 'build', '-o', path.join(CACHE, folder), '.'],
  command: [path.join(CACHE, folder)],
  needs: [{ debian: 'golang-go', file: 'go' }],
});
/** `go install` would request the list of versions, which not every module proxy has. */
const goModule = (name: string, module: string, version: string) => [
  'sh',
  '-c',
  `mkdir -p "$CACHE/${name}" && cd "$CACHE/${name}" &&
  printf 'module built\\ngo 1.23\\nrequire ${module} ${version}\\n' > go.mod && go build -mod=mod -o ${name} ${module}`,
];
const verifier = (name: string): Client => ({
  name,
  clientId: 'verifiers',
  command: ['node', `verify-${name}.mjs`],
});

const mcp = (name: string, command: readonly string[]): Client => ({
  name,
  command,
  port: 3300,
  documents: true,
  build: ['sh', 'mcp/build.sh'],
  needs: [{ debian: 'python3-venv', file: '/usr/share/doc/python3-venv' }],
});

export const CLIENTS: readonly Client[] = [
  { name: 'openid-client', command: ['node', 'openid-client.mjs'], port: 3110 },
  {
    name: 'oidc-client-ts',
    command: ['node', 'oidc-client-ts.mjs'],
    port: 8444,
    tls: true,
    otherPort: 8445,
  },
  { name: 'express-openid-connect', command: ['node', 'express-openid-connect.mjs'], port: 3120 },
  { name: 'authjs', command: ['node', 'authjs.mjs'], port: 3130 },
  {
    name: 'nextjs',
    build: ['sh', 'npm-app.sh', 'nextjs'],
    command: ['node', 'nextjs.mjs'],
    port: 3295,
  },
  {
    name: 'react',
    build: ['sh', 'npm-app.sh', 'react'],
    command: ['node', 'react.mjs'],
    port: 3297,
  },
  { name: 'passport-openidconnect', clientId: 'passport', command: ['node', 'passport.mjs'], port: 3140 },
  mcp('mcp-sdk', ['node', 'mcp/client.mjs', '@modelcontextprotocol/sdk', 'node']),
  mcp('mcp-client', ['node', 'mcp/client.mjs', '@modelcontextprotocol/client', 'python']),
  mcp('mcp-remote', ['node', 'mcp/remote.mjs']),
  mcp('mcp-python', [path.join(CACHE, 'mcp/bin/python'), 'mcp/client.py']),
  mcp('mcp-servers', ['node', 'mcp/servers.mjs']),
  mcp('mcp-conformance', ['node', 'mcp/conformance.mjs']),
  verifier('jose'),
  verifier('jwks-rsa'),
  verifier('express-oauth2-jwt-bearer'),
  verifier('aws-jwt-verify'),
  verifier('fast-jwt'),
  {
    name: 'mod_auth_openidc',
    clientId: 'mod-auth-openidc',
    command: ['node', 'mod-auth-openidc.mjs'],
    port: 3150,
    tls: true,
    needs: [...APACHE, apacheModule('libapache2-mod-auth-openidc', 'mod_auth_openidc')],
  },
  {
    name: 'mod_oauth2',
    clientId: 'mod-oauth2',
    command: ['node', 'mod-oauth2.mjs'],
    port: 3155,
    needs: [...APACHE, apacheModule('libapache2-mod-oauth2', 'mod_oauth2')],
  },
  {
    name: 'postfix',
    folder: '../..',
    command: ['node', 'test/interop/mail.ts', 'postfix'],
    needs: [{ debian: 'postfix', file: '/usr/sbin/postfix' }],
  },
  {
    name: 'aiosmtpd',
    folder: '../..',
    command: ['node', 'test/interop/mail.ts', 'aiosmtpd'],
    needs: [pythonModule('python3-aiosmtpd', 'aiosmtpd')],
  },
  {
    name: 'dovecot',
    clientId: 'mail-program',
    command: ['node', 'dovecot.mjs'],
    port: 3260,
    needs: [DOVECOT],
  },
  {
    name: 'roundcube',
    command: ['node', 'roundcube.mjs'],
    port: 3270,
    otherPort: 3271,
    needs: [
      DOVECOT,
      { debian: 'php-cli', file: 'php' },
      { debian: 'php-sqlite3', file: '/usr/share/doc/php-sqlite3' },
      { debian: 'roundcube-core', file: '/usr/share/roundcube/index.php' },
      { debian: 'roundcube-sqlite3', file: '/usr/share/doc/roundcube-sqlite3' },
    ],
  },
  {
    name: 'oidc-agent',
    command: ['node', 'oidc-agent.mjs'],
    needs: [{ debian: 'oidc-agent-cli', file: 'oidc-agent' }],
  },
  {
    name: 'authlib',
    command: python('authlib_client.py'),
    port: 3160,
    needs: [pythonModule('python3-authlib', 'authlib'), pythonModule('python3-requests', 'requests')],
  },
  example('flask', WEB_PYTHON),
  example('fastapi', WEB_PYTHON),
  {
    name: 'requests-oauthlib',
    command: python('requests_oauthlib_client.py'),
    port: 3170,
    needs: [pythonModule('python3-requests-oauthlib', 'requests_oauthlib')],
  },
  {
    name: 'PyJWT',
    clientId: 'verifiers',
    command: python('verify_pyjwt.py'),
    needs: [pythonModule('python3-jwt', 'jwt'), pythonModule('python3-cryptography', 'cryptography')],
  },
  {
    name: 'mozilla-django-oidc',
    command: ['node', 'mozilla-django-oidc.mjs'],
    ...DJANGO,
    port: 3220,
  },
  {
    name: 'django-allauth',
    command: ['node', 'django-allauth.mjs'],
    ...DJANGO,
    port: 3230,
  },
  {
    name: 'spring-security',
    command: ['node', 'spring-security.mjs'],
    build: ['mvn', '--quiet', '--batch-mode', '--file', 'spring/pom.xml', 'package'],
    port: 3240,
    needs: [
      { debian: 'maven', file: 'mvn' },
      { debian: 'default-jdk-headless', file: 'javac' },
    ],
  },
  {
    name: 'rust-openidconnect',
    folder: 'rust-openidconnect',
    build: ['sh', 'build.sh'],
    command: [path.join(CACHE, 'rust-openidconnect/target/debug/rust-openidconnect')],
    port: 3250,
    needs: [{ debian: 'cargo', file: 'cargo' }],
  },
  {
    name: 'go-oidc',
    command: ['sh', 'run.sh'],
    folder: 'go-oidc',
    port: 3180,
    needs: [{ debian: 'golang-go', file: 'go' }],
  },
  example('go', { needs: [{ debian: 'golang-go', file: 'go' }] }),
  {
    name: 'go-oidc-rotations',
    command: ['node', 'rotations.ts'],
    needs: [
      { debian: 'golang-go', file: 'go' },
      { debian: 'redis-server', file: 'redis-server' },
    ],
  },
  {
    name: 'dex-migration',
    build: ['sh', 'dex/build.sh'],
    command: ['node', 'dex.ts'],
    needs: [{ debian: 'golang-go', file: 'go' }],
  },
  {
    name: 'kube-apiserver',
    clientId: 'kubernetes',
    ...goProgram('kube-apiserver'),
    port: 3200,
  },
  { name: 'vault', ...goProgram('vault'), port: 3210 },
  {
    name: 'miniflux',
    build: goModule('miniflux', 'miniflux.app/v2', 'v2.3.5'),
    command: ['node', 'miniflux.mjs'],
    port: 3285,
    needs: [
      { debian: 'golang-go', file: 'go' },
      { debian: 'postgresql', file: '/usr/share/doc/postgresql' },
    ],
  },
  {
    name: 'oauth2-proxy',
    build: goModule('oauth2-proxy', OAUTH2_PROXY, 'v7.8.1'),
    command: ['node', 'oauth2-proxy.mjs'],
    port: 3280,
    needs: [{ debian: 'golang-go', file: 'go' }],
  },
  {
    name: 'ruby-openid-connect',
    command: ['/usr/bin/ruby', 'openid_connect.rb'],
    port: 3190,
    needs: [
      {
        debian: 'ruby-openid-connect',
        file: '/usr/share/rubygems-integration/all/specifications/openid_connect-1.2.0.gemspec',
      },
    ],
  },
];
