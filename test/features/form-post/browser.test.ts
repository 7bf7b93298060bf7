// response_mode=form_post in a real browser, with the app of docs/form-post.md as it is printed there.
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { launchChromium } from '../../world/chromium.ts';
import { freePort } from '../../world/servers.ts';
import { press, fillSignIn } from '../../world/visitors.ts';
import { GENEROUS, PEOPLE, SECRETS, startWorld, type World, worldClients } from '../../world/world.ts';
import { tempFolder } from '../../world/temp-folder.ts';

type Recipe = {
  readonly begin: () => Promise<Response>;
  readonly finish: (request: Request) => Promise<string>;
};
type Settings = { readonly features: object; readonly clients: readonly object[] };

let world: World;
let browser: Browser;
const folder = tempFolder();
let recipe: Recipe;
/** The app's origin, on another site than the service, so that SameSite cookies are restricted. */
let app: string;
/** The forms posted to the app, and the URL and Referer of every request to it. */
const posts: URLSearchParams[] = [];
const addresses: string[] = [];
/** The number of the user's own requests with a cookie that no form from another site may send. */
let laxCookies = 0;

async function answerAtApp(incoming: IncomingMessage): Promise<Response> {
  const { url = '/', method = 'GET', headers } = incoming;
  addresses.push(url, headers.referer ?? '');
  if (url === '/') {
    if (headers.cookie?.includes('lax=') === true) laxCookies += 1;
    return recipe.begin();
  }
  // The browser also requests an icon.
  if (url !== '/callback') return new Response(null, { status: 204 });
  const body = await text(incoming);
  posts.push(new URLSearchParams(body));
  // The page doesn't reveal the previous page, not even its origin.
  expect([method, headers.referer, headers.origin]).toEqual(['POST', undefined, 'null']);
  const { cookie = '', 'content-type': type = '' } = headers;
  expect(cookie).not.toContain('lax=');
  const request = new Request(`${app}${url}`, { method, headers: { cookie, 'content-type': type }, body });
  const outcome = await recipe.finish(request).then(
    (sub) => `Hello ${sub}`,
    (error: unknown) => `Refused: ${(error as { error?: string }).error ?? String(error)}`,
  );
  return new Response(`<title>App</title><h1>${outcome}</h1>`, { headers: { 'Content-Type': 'text/html' } });
}

const server = createServer((incoming, outgoing) => {
  const sent = answerAtApp(incoming).then(async (response) => {
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  sent.catch((error: unknown) => outgoing.destroy(error as Error));
});

beforeAll(async () => {
  const document = await readFile('docs/form-post.md', 'utf8');
  const blocks = [...document.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)];
  const [yaml = '', code = ''] = blocks.map(([, block = '']) => block);
  const port = await freePort();
  app = `http://localhost:${port}`;
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
  // The printed text, with the addresses of this machine.
  const here = (block: string) =>
    block.replaceAll('https://intranet.example.com', app).replaceAll('intranet', 'web');
  const { features, clients } = parse(here(yaml)) as Settings;
  const web = { ...clients[0], client_secret: 'env:TEST_WEB', grant_types: ['authorization_code'] };
  world = await startWorld({ config: { ...GENEROUS, features, clients: worldClients({ web }) } });

  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  const file = path.join(folder, 'app.mjs');
  const local = here(code)
    .replace('https://id.example.com', world.issuer)
    .replace('process.env.INTRANET_SECRET', JSON.stringify(SECRETS.web))
    .replace(', secret)', ', secret, undefined, { execute: [oidc.allowInsecureRequests] })');
  await writeFile(file, local);
  recipe = (await import(file)) as Recipe;
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await world?.stop();
  server.closeAllConnections();
  server.close();
});

async function enterFromApp(page: Page): Promise<void> {
  await page.goto(app);
  await fillSignIn(page);
  await press(page, 'Allow');
}

/** Returns the title of the app's page after the post. */
async function titleAtApp(page: Page): Promise<string> {
  await page.waitForURL(`${app}/callback`);
  return page.getByRole('heading', { level: 1 }).innerText();
}

describe.each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('PR-01: form_post in a browser %s', (_, javaScriptEnabled) => {
  const toTheApp = async (page: Page) => {
    if (javaScriptEnabled) return;
    await page.getByRole('heading', { name: 'Back to Web app' }).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  it('PR-01: the code comes to the app by POST, once, and is in no address', async () => {
    const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    const visited: string[] = [];
    page.on('framenavigated', (frame) => visited.push(frame.url()));
    posts.length = 0;
    addresses.length = 0;
    laxCookies = 0;
    await page.context().addCookies([{ name: 'lax', value: '1', url: app, sameSite: 'Lax' }]);
    await enterFromApp(page);
    await toTheApp(page);
    expect(await titleAtApp(page)).toBe(`Hello ${PEOPLE.alice}`);
    expect([posts.length, laxCookies]).toEqual([1, 1]);
    const code = posts[0]?.get('code') ?? '';
    expect(code).not.toBe('');
    expect([...visited, ...addresses].filter((one) => one.includes(code))).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('PR-01: so does an error, and what else the request was', async () => {
    const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
    posts.length = 0;
    await page.goto(app);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await toTheApp(page);
    expect(await titleAtApp(page)).toBe('Refused: access_denied');

    const state = '"><script>document.title = "run"</script>&#x22;\u2028';
    const scope = 'openid';
    const refused = {
      response_mode: 'form_post',
      prompt: 'none',
      scope,
      redirect_uri: `${app}/callback`,
      state,
    };
    await page.goto(authorizationUrl(world, refused), { waitUntil: 'commit' });
    await toTheApp(page);
    // The app didn't create this state, so it rejects the answer.
    expect(await titleAtApp(page)).toMatch(/^Refused: /);
    expect(posts[1]?.get('state')).toBe(state);
    expect(posts[1]?.get('error')).toBe('login_required');
    await page.context().close();
  });
});
