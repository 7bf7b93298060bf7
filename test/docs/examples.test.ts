// The programs of examples/, run as they are but for their ports. test/docs/readme.test.ts signs in to the first one.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../world/chromium.ts';
import { runProgram, startUntil } from '../world/process.ts';
import { freePort } from '../world/servers.ts';
import { PASSWORDS, startWorld, worldClients, type World } from '../world/world.ts';

describe('examples/express', () => {
  let folder: string;
  let world: World;
  let home: string;
  beforeAll(async () => {
    const port = await freePort();
    home = `http://localhost:${port}/`;
    folder = await mkdtemp(path.resolve('node_modules/.example-'));
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    const source = await readFile('examples/express/app.js', 'utf8');
    await writeFile(path.join(folder, 'app.js'), source.replaceAll('8080', String(port)));
    const redirects = { redirect_uris: [`${home}callback`], post_logout_redirect_uris: [home] };
    const client = {
      ...redirects,
      client_id: 'my-app',
      client_name: 'My app',
      scope: 'openid email profile',
    };
    // Of a secret that nobody has.
    const client_secrets = [{ hash: `sha256:${randomBytes(32).toString('hex')}` }];
    world = await startWorld({ config: { clients: [...worldClients(), { ...client, client_secrets }] } });
  });
  afterAll(async () => {
    await world.stop();
    await rm(folder, { recursive: true });
  });

  const place = (env: Readonly<Record<string, string>>) => ({ cwd: folder, env });
  const command = [process.execPath, 'app.js'];

  it.each([
    ['', 'Set MY_APP_SECRET'],
    ['x', "Postern doesn't answer at http://localhost:1. Is it running?"],
  ])('says what is wrong at its start (secret "%s")', async (secret, said) => {
    const env = { MY_APP_SECRET: secret, ISSUER: 'http://localhost:1' };
    const { code, stderr } = await runProgram(command, place(env));
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) });
  });

  it('says that its secret is wrong', async () => {
    const env = { MY_APP_SECRET: 'another-secret', ISSUER: world.issuer };
    const app = await startUntil(`Open ${home}`, command, place(env));
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`${home}login`);
      await page.getByLabel('Username').fill('alice');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.getByText('Postern rejected the client secret: compare MY_APP_SECRET').waitFor();
    } finally {
      await browser.close();
      await app.end();
    }
  });
});
