// A migration as in docs/import.md: an app (go-oidc) whose user signs in at a real Dex, then at Postern, of which it knows only
// the issuer.
import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../world/servers.ts';
import { startApp } from './app-server.ts';
import { CACHE } from './clients.ts';
import { Person } from './person.ts';
import { check, ok, settings, version } from './report.ts';

const EMAIL = 'ida@example.com';
const { folder, clientSecret: secret } = settings;
const [dexPort, ourPort, appPort] = [await freePort(), await freePort(), await freePort()];
const [dex, ours, app] = [
  `http://127.0.0.1:${dexPort}/dex`,
  `http://localhost:${ourPort}`,
  `http://localhost:${appPort}`,
];
const DEX = `issuer: ${dex}
storage: { type: memory }
web: { http: 127.0.0.1:${dexPort} }
oauth2: { skipApprovalScreen: true }
expiry: { idTokens: 10m, refreshTokens: { validIfNotUsedFor: 48h, absoluteLifetime: 720h } }
enablePasswordDB: true
staticClients:
  - { id: wiki, name: Wiki, redirectURIs: ['${app}/callback'], secret: ${secret} }
staticPasswords:
  - email: ${EMAIL}
    hash: $2a$10$/JI6YkuDKWXxBspTd9GA.e3q3r80owJ5LL4N1FyfUXyIrCCJXjb8e
    username: ida
    userID: 08a8684b-db88-4b73-90a9-3cd1661f5466
`;
const MAIN = path.resolve(import.meta.dirname, '../../dist/main.js');
const file = path.join(folder, 'dex.yaml');
const moved = path.join(folder, 'moved');
const config = ['--config', path.join(moved, 'postern.yaml')];

/** Signs in at an issuer and returns what the app has tried, beginning with the user's subject there. */
async function signIn(issuer: string, subject: string): Promise<string> {
  const [env, cwd] = [{ ISSUER: issuer, CLIENT_ID: 'wiki', CLIENT_SECRET: secret, APP: app }, 'go-oidc'];
  const child = spawn('sh', ['run.sh'], {
    cwd: path.join(import.meta.dirname, cwd),
    env: { ...process.env, ...env, SUBJECT: subject },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const person = new Person(EMAIL);
  const tried: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [, word, text = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    if (word === 'visit') child.stdin.write(`${(await person.open(text, app)).url}\n`);
    if (word === 'ok') tried.push(text);
  }
  return tried.join(', ');
}

async function postern(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args]);
  return stdout;
}

const ALL = 'discovery, state, sign-in with PKCE, verified ID token, userinfo, refresh';
version('2.41.1');
await writeFile(file, DEX);
const before = await startApp([path.join(CACHE, 'dex/dex'), 'serve', file], folder, `${dex}/healthz`);
const atDex = await signIn(dex, 'CiQwOGE4Njg0Yi1kYjg4LTRiNzMtOTBhOS0zY2QxNjYxZjU0NjYSBWxvY2Fs');
check(atDex === ALL, 'signed in at Dex by go-oidc', atDex);
await before.stop();

await postern('migrate', 'dex', file, '--issuer', ours, '--out', moved);
await postern('check', ...config);
ok('postern migrate, and postern check without a change by hand');
const after = await startApp([process.execPath, MAIN, 'serve', ...config], folder, `${ours}/healthz`);
try {
  const invited = await postern('user', 'import', file, '--from', 'dex', '--invite', '--json', ...config);
  const [{ link = '' } = {}] = JSON.parse(invited) as readonly { readonly link?: string }[];
  await new Person(EMAIL).open(link);
  ok('the invitation of an imported user');
  const here = await signIn(ours, 'usr_');
  check(here === ALL, 'signed in at Postern by the same app, with only the issuer changed', here);
} finally {
  await after.stop();
}
