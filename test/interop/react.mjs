// React with react-oidc-context: src/App.jsx of docs/apps/single-page.md as printed but for addresses and client, in a Vite app.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchChromium } from '../world/chromium.ts';
import { startApp } from './app-server.ts';
import { writeFilesOf } from './guide.ts';
import { check, settings, version } from './report.ts';

const { app, clientId, issuer } = settings;
const folder = join(process.env.CACHE, 'react');
const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
version(`${dependencies['react-oidc-context']}, React ${dependencies.react}`);

await rm(join(folder, 'src'), { recursive: true, force: true });
await mkdir(join(folder, 'src'));
// As Vite creates them.
await writeFile(
  join(folder, 'index.html'),
  '<div id="root"></div><script type="module" src="/src/main.jsx"></script>',
);
await writeFile(
  join(folder, 'src/main.jsx'),
  `import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import App from './App.jsx';
createRoot(document.getElementById('root')).render(<StrictMode><App /></StrictMode>);`,
);
for (const name of await writeFilesOf('single-page.md', folder)) {
  const text = await readFile(join(folder, name), 'utf8');
  await writeFile(
    join(folder, name),
    text.replaceAll('http://localhost:3000', issuer).replaceAll("'spa'", `'${clientId}'`),
  );
}

const browser = await launchChromium();
const command = ['node_modules/.bin/vite', '--port', new URL(app).port, '--strictPort'];
const server = await startApp(command, folder);
try {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(app);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Username').fill('ida');
  await page.getByLabel('Password', { exact: true }).fill('fixture-password-of-ida');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('button', { name: 'Sign out Ida Fixture' }).waitFor();
  check(page.url() === `${app}/`, 'sign-in with PKCE, name by userinfo', page.url());
  await page.getByRole('button', { name: 'Sign out Ida Fixture' }).click();
  await page.waitForURL(`${issuer}/**`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${app}/`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Username').waitFor();
  check(true, 'sign-out, after which it asks again');
} finally {
  await browser.close();
  await server.stop();
}
