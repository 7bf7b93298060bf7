// oauth2-proxy in front of an app that knows nothing of sign-ins.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startApp } from './app-server.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, clientSecret, app, folder } = settings;
const built = path.join(process.env.CACHE, 'oauth2-proxy');
const program = path.join(built, 'oauth2-proxy');
// The program itself only says `undefined`.
version(/oauth2-proxy\/v7 v(\S+)/.exec(readFileSync(path.join(built, 'go.mod'), 'utf8'))[1]);
const options = {
  'http-address': new URL(app).host,
  upstream: 'static://202',
  provider: 'oidc',
  'oidc-issuer-url': issuer,
  'provider-ca-file': path.join(folder, 'tls.crt'),
  'client-id': clientId,
  'client-secret': clientSecret,
  'redirect-url': `${app}/oauth2/callback`,
  scope: 'openid email profile groups',
  'allowed-group': 'staff',
  'code-challenge-method': 'S256',
  'cookie-secret': 'fixture-of-the-cookie'.padEnd(32, '-'),
  'cookie-secure': 'false', // for the test, which has no TLS here
  'email-domain': '*',
  'skip-provider-button': 'true',
};
const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
const proxy = await startApp([program, ...args], folder, '/ping');
try {
  const person = new Person();
  const page = await person.open(`${app}/`);
  check(page.status === 202 && page.url.startsWith(app), 'sign-in with PKCE', page);
  const { email } = JSON.parse((await person.open(`${app}/oauth2/userinfo`)).text);
  check(email === 'ida@example.com', 'email by userinfo', email);
  const { groups } = JSON.parse((await person.open(`${app}/oauth2/userinfo`)).text);
  check(String(groups) === 'admins,staff', 'lets a group in', groups);
  const other = await new Person('otto').open(`${app}/`);
  check(other.status === 403, 'and keeps others out', other);
} finally {
  await proxy.stop();
}
