// Miniflux on a PostgreSQL of its own, with the settings that docs/apps/miniflux.md prints.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from './app-server.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { app, clientSecret, issuer } = settings;
const built = join(process.env.CACHE, 'miniflux');
version(readFileSync(join(built, 'go.mod'), 'utf8').match(/v2 v(\S+)/)[1]);

const guide = readFileSync(new URL('../../docs/apps/miniflux.md', import.meta.url), 'utf8');
const printed = [...guide.matchAll(/```ini\n([^]*?)```/g)].map(([, block]) => block).join('');
const own = printed
  .replaceAll('https://miniflux.example.com', app)
  .replaceAll('https://id.example.com', issuer)
  .replace('…', clientSecret);

// PostgreSQL doesn't run as root.
const [programs] = globSync('/usr/lib/postgresql/*/bin');
const data = mkdtempSync(join(tmpdir(), 'postern-postgres-'));
execFileSync('chown', ['postgres', data]);
const control = (...args) =>
  execFileSync('runuser', ['-u', 'postgres', '--', join(programs, 'pg_ctl'), '-D', data, ...args], {
    stdio: 'ignore',
  });
control('init', '-o', '--auth=trust');
control('start', '-w', '-o', `-k ${data} -h ''`);
let miniflux;
try {
  Object.assign(process.env, Object.fromEntries(own.match(/.+/g).map((line) => line.split('='))), {
    DATABASE_URL: `user=postgres dbname=postgres host=${data} sslmode=disable`,
    RUN_MIGRATIONS: '1',
    LISTEN_ADDR: new URL(app).host,
  });
  miniflux = await startApp([join(built, 'miniflux')], data, '/healthcheck');
  const person = new Person();
  const page = await person.open(`${app}/oauth2/oidc/redirect`);
  check(page.url === `${app}/unread`, 'sign-in with PKCE', page);
  check(page.text.includes('Logged in as ida'), 'user by preferred_username of userinfo', page);
  check((await person.open(`${app}/users`)).status === 200, 'administrator by a group', page);
} finally {
  await miniflux?.stop();
  control('stop', '-m', 'immediate');
  rmSync(data, { recursive: true });
}
