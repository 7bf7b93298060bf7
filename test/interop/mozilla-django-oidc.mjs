// Django with mozilla-django-oidc.
import { startApp } from './app-server.ts';
import { djangoPython, pythonVersion } from './django.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { app, issuer } = settings;
version(`${await pythonVersion('mozilla-django-oidc')}, Django ${await pythonVersion('Django')}`);
const site = await startApp([djangoPython, '-B', 'mozilla.py'], 'django');
try {
  const person = new Person();
  const page = await person.open(`${app}/oidc/authenticate/`);
  check(page.url === `${app}/me`, 'sign-in with PKCE, verified ID token', page);
  check(JSON.parse(page.text).email === 'ida@example.com', 'email by userinfo', page);
  const left = await person.open(`${app}/oidc/logout/`);
  check(left.url === `${app}/` && JSON.parse(left.text).email === null, 'sign-out', left);
  const asked = await person.open(`${app}/oidc/authenticate/`, `${issuer}/interaction`);
  check(asked.url.startsWith(`${issuer}/interaction`), 'after which it asks again', asked);
} finally {
  await site.stop();
}
