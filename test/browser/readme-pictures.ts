// Makes the pictures of README.md from a running service: a sign-in and a consent, light and dark. Run it with `npm run pictures`
// after a change of the pages' look. Debian's fonts-inter makes them as on a machine that has such a font.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium } from '../world/chromium.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { PASSWORDS, startWorld, worldClients } from '../world/world.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pictures');
const SIZE = { width: 488, height: 660 };
const FONTS = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>/usr/share/fonts</dir>
<alias binding="same"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
<alias binding="same"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias></fontconfig>`;

const clients = worldClients().map((client) =>
  client.client_id === 'web' ? { ...client, client_name: 'Team Calendar' } : client,
);
const branding = {
  name: 'Acme ID',
  color: '#0b6e4f',
  privacy_uri: 'https://acme.example/privacy',
  support_uri: 'https://acme.example/help',
};
const folder = await mkdtemp(path.join(tmpdir(), 'postern-pictures-'));
await writeFile(path.join(folder, 'fonts.conf'), FONTS);
const world = await startWorld({ config: { clients, branding } });
const browser = await launchChromium({
  env: { ...process.env, FONTCONFIG_FILE: path.join(folder, 'fonts.conf') },
});
try {
  for (const scheme of ['light', 'dark'] as const) await takePicture(scheme);
} finally {
  await browser.close();
  await world.stop();
  await rm(folder, { recursive: true });
}

async function takePicture(colorScheme: 'light' | 'dark'): Promise<void> {
  const context = await browser.newContext({ colorScheme, viewport: SIZE });
  const page = await context.newPage();
  await page.goto(authorizationUrl(world, { scope: 'openid profile email' }));
  await page.getByLabel('Username').fill('alice');
  const signIn = await imageOf(page);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  const consent = await imageOf(page);

  const both = await context.newPage();
  await both.setViewportSize({ ...SIZE, width: 2 * SIZE.width });
  await both.setContent(`<body style="margin: 0; display: flex">${signIn}${consent}`);
  await both.screenshot({ path: path.join(FOLDER, `pages-${colorScheme}.png`) });
  await context.close();
}

async function imageOf(page: Page): Promise<string> {
  const png = await page.screenshot({ caret: 'hide' });
  return `<img src="data:image/png;base64,${png.toString('base64')}" alt="">`;
}
