// The files of a new installation, as text; init.ts writes them.
import { DEMO_CALLBACK_PATH, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_TRY_PATH } from '../config/demo.ts';
import { toJsonSchema } from '../config/schema.ts';

export type StarterFile = {
  /** Relative to the installation's folder. */
  readonly name: string;
  readonly content: string;
  /** Only its owner may read it. */
  readonly isSecret: boolean;
};

type Starter = {
  readonly issuer: string;
  readonly username: string;
  readonly personId: string;
  readonly passwordHash: string;
  readonly newKey: () => string;
};

export function starterFiles(starter: Starter): StarterFile[] {
  const tryUrl = starterTryUrl(starter);
  return [
    open('config/postern.yaml', mainFile(starter)),
    open('config/clients.d/example.yaml', CLIENTS),
    ...(tryUrl === undefined ? [] : [open('config/clients.d/demo.yaml', demoFile(tryUrl))]),
    open('config/users.yaml', peopleFile(starter)),
    open('config/postern.schema.json', `${JSON.stringify(toJsonSchema(), undefined, 2)}\n`),
    secret('config/secrets/encryption.key', `${starter.newKey()}\n`),
    secret('config/secrets/cookie.key', `${starter.newKey()}\n`),
    secret('config/secrets/.gitignore', IGNORE_ALL),
    secret('data/.gitignore', IGNORE_ALL),
  ];
}

const open = (name: string, content: string): StarterFile => ({ name, content, isSecret: false });
const secret = (name: string, content: string): StarterFile => ({ name, content, isSecret: true });

const IGNORE_ALL = '# Nothing in here belongs in git.\n*\n';

type Address = Pick<Starter, 'issuer'>;

/** Where the new service can be tried: on this machine only, which alone may have an http issuer. */
export function starterTryUrl({ issuer }: Address): string | undefined {
  if (new URL(issuer).protocol !== 'http:') return undefined;
  return `http://localhost:${portsOf({ issuer }).management}${DEMO_TRY_PATH}`;
}

function portsOf({ issuer }: Address) {
  const { port, protocol } = new URL(issuer);
  const listen = protocol === 'http:' ? port || '80' : '3000';
  return { listen, management: listen === '3001' ? '3002' : '3001' };
}

function mainFile({ issuer }: Starter): string {
  const ports = portsOf({ issuer });
  return `# yaml-language-server: $schema=./postern.schema.json
#
# The configuration of Postern. Everything that is not here has a default: "postern schema" lists every key.
# After a change:  postern check --config config/postern.yaml
# Before a change: postern plan CHANGED_FILE --config config/postern.yaml
#
# Relative paths start at the folder of this file. A secret is env:NAME or file:PATH.

# Public address of the service: every URL and token begins with it.
issuer: ${issuer}

# Where the service listens; a TLS proxy may stand in front of it.
listen: { host: 127.0.0.1, port: ${ports.listen} }
# trusted_proxies: [10.0.0.0/8]

# /healthz, /readyz and /metrics. Keep it off the internet.
management: { host: 127.0.0.1, port: ${ports.management} }

# Everything on this machine. For many machines: redis://HOST, or env:NAME of a URL with a password.
store: lmdb:../data

# They protect what is stored, and sign cookies. Keep a copy in a safe place, never in git.
encryption_keys: [file:secrets/encryption.key]
cookie_keys: [file:secrets/cookie.key]

lifetimes:
  # Verified offline, so keep it short.
  access_token: 10m
  refresh_token: 14d
  session: 14d

# The APIs that accept tokens of this issuer. A scope belongs to one of them.
resources: []
#  - resource: https://api.example.com/reports
#    scopes: [reports.read, reports.write]

# The apps and services that use this issuer: one file each, or one for all. Changes are taken over while it runs.
clients_from: [clients.d/*.yaml]

# The people who may sign in. "postern user hash" makes an entry.
users_from: users.yaml

branding:
  name: Postern
`;
}

const CLIENTS = `# Clients: a list, in as many files of this folder as you like.
# "postern client secret" makes a secret and the lines that accept it.
#
# - client_id: my-app
#   client_name: My app
#   client_secrets:
#     - hash: "sha256:…"
#       name: first
#       expires_at: 2030-01-01
#   redirect_uris: [https://app.example.com/callback]
#   post_logout_redirect_uris: [https://app.example.com/]
#   grant_types: [authorization_code, refresh_token]
#   scope: openid email profile offline_access
#
# A service that gets tokens as itself:
#
# - client_id: nightly-report
#   client_secret: file:../secrets/nightly-report
#   grant_types: [client_credentials]
#   scope: reports.read
`;

function demoFile(tryUrl: string): string {
  const { origin } = new URL(tryUrl);
  return `# The client of ${tryUrl}, where you can try a sign-in. Its secret is public and is refused as soon as the
# issuer is not this machine: then delete this file. The port is that of management.
- client_id: ${DEMO_CLIENT_ID}
  client_name: Demo app
  client_secret: ${DEMO_CLIENT_SECRET}
  redirect_uris: [${origin}${DEMO_CALLBACK_PATH}]
  post_logout_redirect_uris: [${tryUrl}]
  grant_types: [authorization_code, refresh_token]
  scope: openid email profile offline_access
`;
}

function peopleFile({ personId, username, passwordHash }: Starter): string {
  return `# People who may sign in. "postern user hash" makes an entry.
users:
  # The id is the sub in this person's tokens: never change it, never give it to somebody else.
  - id: ${personId}
    username: ${JSON.stringify(username)}
    password_hash: ${passwordHash}
    preferred_username: ${JSON.stringify(username)}
`;
}
