// The programs of examples/ that Node.js runs, unchanged except for their ports. test/docs/readme.test.ts signs in to the first one,
// and `npm run interop -- flask go` runs the others.
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../world/chromium.ts';
import { runProgram, startUntil } from '../world/process.ts';
import { freePort } from '../world/servers.ts';
import { PASSWORDS, startWorld, worldClients, type World } from '../world/world.ts';
import { useStarted } from '../world/started.ts';

const browser = useStarted(() => launchChromium());

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
    // The hash of an unknown secret.
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
    const page = await browser().newPage();
    try {
      await page.goto(`${home}login`);
      await page.getByLabel('Username').fill('alice');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.getByText('Postern rejected the client secret: compare MY_APP_SECRET').waitFor();
    } finally {
      await page.close();
      await app.end();
    }
  });
});

describe('examples/spa', () => {
  let folder: string;
  let origin: string;
  let command: readonly string[];
  beforeAll(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    folder = await mkdtemp(path.resolve('node_modules/.example-'));
    await cp('examples/spa', folder, { recursive: true });
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    const { scripts } = JSON.parse(await readFile('examples/spa/package.json', 'utf8')) as {
      scripts: { start: string };
    };
    command = ['sh', '-c', `exec node_modules/.bin/${scripts.start.replace('5173', String(port))}`];
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function withPage(issuer: string, use: (page: Page) => Promise<void>): Promise<void> {
    const app = await startUntil(origin, command, { cwd: folder, env: { VITE_ISSUER: issuer } });
    const page = await browser().newPage();
    try {
      await page.goto(origin);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await use(page);
    } finally {
      await page.close();
      await app.end();
    }
  }

  /** Starts a service with the client that the guide prints, and the origins that may send requests. */
  const startService = (allowed_origins: string[]) => {
    const others = worldClients().filter(({ client_id: id }) => id !== 'spa');
    const client = {
      client_id: 'spa',
      application_type: 'web',
      token_endpoint_auth_method: 'none',
      redirect_uris: [`${origin}/callback`],
      post_logout_redirect_uris: [`${origin}/`],
      scope: 'openid email profile',
    };
    return startWorld({ config: { cors: { allowed_origins }, clients: [...others, client] } });
  };

  it('signs in and out', async () => {
    const world = await startService([origin]);
    try {
      await withPage(world.issuer, async (page) => {
        await page.getByLabel('Username').fill('alice');
        await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('button', { name: 'Allow', exact: true }).click();
        await page.getByText('alice@example.com').waitFor();
        expect(page.url()).toBe(`${origin}/`);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL(`${world.issuer}/**`);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('Not signed in').waitFor();
      });
    } finally {
      await world.stop();
    }
  });

  it('says that its origin may not send requests', async () => {
    const world = await startService([]);
    try {
      await withPage(world.issuer, async (page) => {
        await page.getByText(`add ${origin} to cors.allowed_origins`).waitFor();
      });
    } finally {
      await world.stop();
    }
  });

  it('says that Postern is not there', () =>
    withPage('http://localhost:1', async (page) => {
      await page.getByText("Postern doesn't answer at http://localhost:1. Is it running?").waitFor();
    }));
});
