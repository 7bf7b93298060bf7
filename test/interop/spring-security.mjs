// Spring Security in spring/: a web app that signs people in, and an API.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { startApp } from './app-server.ts';
import { forge, machineToken } from './machine-token.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { app, issuer, folder } = settings;
// Java has a trust store of its own.
const store = path.join(folder, 'trust.p12');
const certificate = path.join(folder, 'tls.crt');
const of = ['-file', certificate, '-keystore', store, '-storepass', 'fixture'];
await promisify(execFile)('keytool', ['-importcert', '-noprompt', '-alias', 'test', ...of]);
const trust = [`-Djavax.net.ssl.trustStore=${store}`, '-Djavax.net.ssl.trustStorePassword=fixture'];
const jar = path.join(process.env.CACHE, 'spring/app.jar');
const site = await startApp(['java', ...trust, '-jar', jar, `--server.port=${new URL(app).port}`], folder);
try {
  version(await (await fetch(`${app}/`)).text());
  const person = new Person();
  const page = await person.open(`${app}/me`);
  check(page.url.startsWith(`${app}/me`), 'sign-in with PKCE, verified ID token', page);
  check(page.text === 'ida@example.com', 'email by userinfo', page);

  const token = await machineToken('verifiers');
  const call = (bearer) => fetch(`${app}/reports`, { headers: { authorization: `Bearer ${bearer}` } });
  const good = await call(token);
  check(good.status === 200, 'verifies an access token', [good.status, ...good.headers]);
  check((await call(forge(token))).status === 401, 'refuses a forged one');

  const left = await person.submit(await person.open(`${app}/logout`), '/logout');
  check(left.url === `${app}/`, 'sign-out', left);
  const asked = await person.open(`${app}/me`, `${issuer}/interaction`);
  check(asked.url.startsWith(`${issuer}/interaction`), 'after which it asks again', asked);
} finally {
  await site.stop();
}
