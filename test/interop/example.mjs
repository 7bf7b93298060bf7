// `example.mjs NAME`: a program of examples/, or one that a guide prints, as it is but for its port. It is started without a secret,
// without Postern and with a wrong secret where it says what is wrong, and then as it should be.
import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startApp } from './app-server.ts';
import { writeFilesOf } from './guide.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const python = join(process.env.CACHE, 'web-python/bin/python');
const port = new URL(settings.app).port;
const [name] = process.argv.slice(2);
const { command, packages, explains } = {
  flask: { command: [python, 'app.py'], packages: 'authlib|flask', explains: true },
  fastapi: { command: [python, '-m', 'uvicorn', 'app:app', '--port', port], packages: 'authlib|fastapi' },
  go: {
    command: ['sh', '-c', 'go build -o app . && exec ./app'],
    packages: '\t.*/go-oidc/v3',
    explains: true,
  },
}[name];

const folder = join(settings.folder, name);
if (explains) await cp(new URL(`../../examples/${name}`, import.meta.url), folder, { recursive: true });
else await writeFilesOf('flask.md', folder);
for (const file of await readdir(folder)) {
  const text = await readFile(join(folder, file), 'utf8');
  await writeFile(join(folder, file), text.replaceAll('8080', port));
}
const list = name === 'go' ? join(folder, 'go.mod') : new URL('web-python/requirements.txt', import.meta.url);
const pinned = (await readFile(list, 'utf8')).match(new RegExp(`^(?:${packages})\\b.*$`, 'gm'));
version(pinned.map((line) => line.trim().replace('==', ' ')).join(', '));

process.env.SESSION_KEY = 'fixture-of-the-session-cookie';
const start = (secret) => {
  process.env.MY_APP_SECRET = secret;
  return startApp(command, folder);
};
if (explains) {
  const [program, ...args] = command;
  for (const [secret, said] of [
    ['', 'Set MY_APP_SECRET'],
    ['x', "Postern doesn't answer at http://localhost:1. Is it running?"],
  ]) {
    const env = { ...process.env, MY_APP_SECRET: secret, ISSUER: 'http://localhost:1' };
    const failed = await promisify(execFile)(program, args, { cwd: folder, env }).catch((error) => error);
    check(failed.code === 1 && failed.stderr.includes(said), `says "${said}"`, failed);
  }
  const wrong = await start('another-secret');
  const page = await new Person().open(`${settings.app}/login`);
  check(page.text.includes('Postern rejected the client secret'), 'says that the secret is wrong', page);
  await wrong.stop();
}

const app = await start(settings.clientSecret);
try {
  const person = new Person();
  const home = await person.open(`${settings.app}/login`);
  check(home.url === `${settings.app}/`, 'sign-in with PKCE', home);
  const me = await person.open(`${settings.app}/me`);
  const user = JSON.parse(me.text);
  check(user.name === 'Ida Fixture' && user.email === 'ida@example.com', 'name and email by userinfo', me);
  const left = await person.open(`${settings.app}/logout`);
  check(left.url === `${settings.app}/`, 'sign-out', left);
  const interaction = `${settings.issuer}/interaction`;
  const asked = await person.open(`${settings.app}/login`, interaction);
  check(asked.url.startsWith(interaction), 'after which it asks again', asked);
} finally {
  await app.stop();
}
