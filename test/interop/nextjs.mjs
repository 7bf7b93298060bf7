// Next.js with Auth.js: the files that docs/apps/nextjs.md prints, as printed but for addresses and client, in Chromium.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchChromium } from '../world/chromium.ts';
import { startApp } from './app-server.ts';
import { writeFilesOf } from './guide.ts';
import { check, settings, version } from './report.ts';

const { app, clientId, clientSecret, issuer } = settings;
const folder = join(process.env.CACHE, 'nextjs');
const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
version(`${dependencies.next}, next-auth ${dependencies['next-auth']}`);

for (const left of ['app', '.next']) await rm(join(folder, left), { recursive: true, force: true });
for (const name of await writeFilesOf('nextjs.md', folder)) {
  const text = await readFile(join(folder, name), 'utf8');
  await writeFile(
    join(folder, name),
    text.replaceAll('http://localhost:8080', app).replaceAll('next-app', clientId),
  );
}
Object.assign(process.env, {
  MY_APP_SECRET: clientSecret,
  AUTH_SECRET: 'fixture-of-the-session-cookie-fixture',
  NEXT_TELEMETRY_DISABLED: '1',
});
const command = ['node_modules/.bin/next', 'dev', '-p', new URL(app).port];

const browser = await launchChromium();
const server = await startApp(command, folder);
try {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(app);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Username').fill('ida');
  await page.getByLabel('Password', { exact: true }).fill('fixture-password-of-ida');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForURL(`${app}/`);
  const shown = await page.locator('p').innerText();
  check(shown === 'Ida Fixture, ida@example.com', 'sign-in with PKCE, name and email by userinfo', shown);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${issuer}/oauth/logout**`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${app}/`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Username').waitFor();
  check(true, 'sign-out of the app and of the service');
} finally {
  await browser.close();
  await server.stop();
}
