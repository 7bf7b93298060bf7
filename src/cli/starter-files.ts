// The files of a new installation, as text; init.ts writes them.
import { toJsonSchema } from '../config/json-schema.ts';

export type StarterFile = {
  /** Relative to the installation's folder. */
  readonly name: string;
  readonly content: string;
  /** Only its owner may read it. */
  readonly isSecret: boolean;
};

export type Starter = {
  readonly issuer: string;
  readonly username: string;
  readonly personId: string;
  readonly passwordHash: string;
  readonly newKey: () => string;
};

export function starterFiles(starter: Starter): StarterFile[] {
  return [
    open('config/postern.yaml', mainFile(starter)),
    open('config/clients.d/example.yaml', CLIENTS),
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

function mainFile({ issuer }: Starter): string {
  const { port, protocol } = new URL(issuer);
  const listenPort = protocol === 'http:' ? port || '80' : '3000';
  return `# yaml-language-server: $schema=./postern.schema.json
#
# The configuration of Postern. Everything that is not here has a default: "postern schema --markdown" lists every key.
# After a change:  postern check --config config/postern.yaml
# Before a change: postern plan CHANGED_FILE --config config/postern.yaml
#
# Relative paths start at the folder of this file. A secret is env:NAME or file:PATH.

# Public address of the service: every URL and token begins with it.
issuer: ${issuer}

# Where the service listens; a TLS proxy may stand in front of it.
listen: { host: 127.0.0.1, port: ${listenPort} }
# trusted_proxies: [10.0.0.0/8]

# /healthz, /readyz and /metrics. Keep it off the internet.
management: { host: 127.0.0.1, port: ${listenPort === '3001' ? 3002 : 3001} }

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
