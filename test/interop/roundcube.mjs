// Roundcube, a PHP application, whose IMAP server is Dovecot. It has no PKCE and sends its secret in the form.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { debianVersion } from './apache.ts';
import { startApp } from './app-server.ts';
import { startDovecot } from './dovecot.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, clientSecret, app } = settings;
version(await debianVersion('roundcube-core'));
const folder = path.join(settings.folder, 'roundcube');
mkdirSync(folder);
copyFileSync('/etc/roundcube/defaults.inc.php', path.join(folder, 'defaults.inc.php'));
const database = path.join(folder, 'database');
const imap = Number(new URL(process.env.OTHER_APP).port);
writeFileSync(
  path.join(folder, 'config.inc.php'),
  `<?php
$config['db_dsnw'] = 'sqlite:///${database}';
$config['des_key'] = 'fixture-of-24-letters-aa';
$config['log_driver'] = 'stdout';
$config['temp_dir'] = '${folder}';
$config['imap_host'] = '127.0.0.1:${imap}';
$config['oauth_provider'] = 'generic';
$config['oauth_provider_name'] = 'Postern';
$config['oauth_client_id'] = '${clientId}';
$config['oauth_client_secret'] = '${clientSecret}';
$config['oauth_auth_uri'] = '${issuer}/oauth/authorize';
$config['oauth_token_uri'] = '${issuer}/oauth/token';
$config['oauth_scope'] = 'openid profile imap offline_access';
$config['oauth_auth_parameters'] = ['resource' => 'https://mail.example.com', 'prompt' => 'consent'];
$config['oauth_identity_fields'] = ['preferred_username'];
`,
);
const tables = '/usr/share/roundcube/SQL/sqlite.initial.sql';
const fill = `(new PDO('sqlite:${database}'))->exec(file_get_contents('${tables}'));`;
execFileSync('php', ['-r', fill]);

process.env.ROUNDCUBE_CONFIG_DIR = folder;
const trust = ['curl.cainfo', 'openssl.cafile'].flatMap((name) => [
  '-d',
  `${name}=${settings.folder}/tls.crt`,
]);
const dovecot = await startDovecot(imap);
const site = await startApp(['php', ...trust, '-S', new URL(app).host, '-t', '/var/lib/roundcube'], folder);
try {
  const person = new Person();
  const page = await person.open(`${app}/index.php/login/oauth`);
  const { searchParams } = new URL(page.url);
  check(searchParams.get('_task') === 'mail', 'sign-in without PKCE, and IMAP with the token', page);
  check(page.text.includes('username">ida@'), 'user by the ID token', page.text);
} finally {
  await site.stop();
  await dovecot.stop();
}
