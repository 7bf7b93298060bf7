// Creates the pictures of README.md: sign-in, consent and account page of a running service and the output of `plan`, light and dark. Run
// `npm run pictures` after a change of the pages' look. It needs Debian's fonts-inter to match a machine that has such a font.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium } from '../world/chromium.ts';
import { MAIN, runProgram } from '../world/process.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { PASSWORD_HASHES, PASSWORDS, startWorld, worldClients } from '../world/world.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pictures');
const SIZE = { width: 488, height: 660 };
const USER_AGENT =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36';
const FONTS = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>/usr/share/fonts</dir>
<alias binding="same"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
<alias binding="same"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
<alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias></fontconfig>`;

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
const world = await startWorld({ config: { clients, branding, account: true } });
const browser = await launchChromium({
  env: { ...process.env, FONTCONFIG_FILE: path.join(folder, 'fonts.conf') },
});
try {
  for (const scheme of ['light', 'dark'] as const) await takePicture(scheme);
  await takeTerminal(await runPlan());
} finally {
  await browser.close();
  await world.stop();
  await rm(folder, { recursive: true });
}

async function takePicture(colorScheme: 'light' | 'dark'): Promise<void> {
  const context = await browser.newContext({ colorScheme, viewport: SIZE, userAgent: USER_AGENT });
  const page = await context.newPage();
  await page.goto(authorizationUrl(world, { scope: 'openid profile email' }));
  await page.getByLabel('Username').fill('alice');
  const signIn = await imageOf(page);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  const consent = await imageOf(page);

  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.setViewportSize({ width: 2 * SIZE.width, height: 620 });
  await page.goto(`${world.issuer}/account`);
  await page.screenshot({ path: path.join(FOLDER, `account-${colorScheme}.png`) });

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

async function takeTerminal(text: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 2 * SIZE.width, height: 10 } });
  const style = 'margin: 0; padding: 16px; font: 14px/1.5 monospace; background: #161b22; color: #e6edf3';
  await page.setContent(`<body style="margin: 0"><pre style="${style}">`);
  const screen = page.locator('pre');
  await screen.evaluate((pre, printed) => (pre.textContent = printed), text);
  await screen.screenshot({ path: path.join(FOLDER, 'plan.png') });
}

/** The output of `plan` for a change that removes a user's access to an app. */
async function runPlan(): Promise<string> {
  const command = ['plan', '--config', 'now/postern.yaml', 'next/postern.yaml'];
  const service = (port: number) => `issuer: http://localhost:3000
groups: { finance: Finance, staff: All staff }
users_from: users.yaml
clients:
  - client_id: payroll
    scope: openid
    token_endpoint_auth_method: none
    redirect_uris: [http://localhost:${port}/callback]
    access: { groups: [finance] }
`;
  const user = (groups: string) => `- id: usr_anna0000000000000000
  username: anna
  password_hash: ${PASSWORD_HASHES.alice}
  groups: [${groups}]
`;
  for (const [name, port, groups] of [
    ['now', 8080, 'staff, finance'],
    ['next', 8081, 'staff'],
  ] as const) {
    await mkdir(path.join(folder, name));
    await writeFile(path.join(folder, name, 'postern.yaml'), service(port));
    await writeFile(path.join(folder, name, 'users.yaml'), user(groups));
  }
  const { code, stdout, stderr } = await runProgram([process.execPath, MAIN, ...command], { cwd: folder });
  if (code !== 11) throw new Error(stderr);
  return `$ postern ${command.join(' ')}\n${stdout.trimEnd()}`;
}
