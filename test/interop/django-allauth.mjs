// Django with django-allauth.
import { startApp } from './app-server.ts';
import { djangoPython, pythonVersion } from './django.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { app } = settings;
version(`${await pythonVersion('django-allauth')}, Django ${await pythonVersion('Django')}`);
const site = await startApp([djangoPython, '-B', 'allauth_site.py'], 'django');
try {
  const person = new Person();
  const page = await person.open(`${app}/accounts/oidc/postern/login/`);
  check(page.url === `${app}/me`, 'sign-in with PKCE', page);
  const { name, email } = JSON.parse(page.text);
  check(name === 'Ida Fixture' && email === 'ida@example.com', 'name and email by userinfo', page);
} finally {
  await site.stop();
}
