// From the home page to the tokens, with the demo client configured.
import { describe, expect, it } from 'vitest';
import { DEMO_CLIENT_SECRET } from '../../../src/config/demo.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import { tryOut as declaration } from '../../../src/features/try-out/feature.ts';
import { Browser } from '../../world/browser.ts';
import { useWorld } from '../../world/each-store.ts';
import { finishPages, newBrowser } from '../../world/person.ts';
import { raw } from '../../world/raw.ts';
import { GENEROUS } from '../../world/world.ts';

describe('the try-out', () => {
  const world = useWorld();

  it('leads to the try-out while the demo client is there', async () => {
    const management = new URL(world().management).port;
    const tryOut = `http://localhost:${management}/try`;
    const demo = {
      client_id: 'demo',
      client_secret: DEMO_CLIENT_SECRET,
      redirect_uris: [`${tryOut}/callback`],
      scope: 'openid',
      id_token_signed_response_alg: 'ES256',
    };
    const signingKeys = { algorithms: ['RS256', 'ES256'] };
    await world().reload({ clients: [demo], resources: [], signing_keys: signingKeys });
    const { text } = await raw(world().base, { target: '/' });
    expect(text).toContain(`href="${tryOut}"`);
    const app = new Browser(`http://localhost:${management}`);
    const { url } = await app.open(`${tryOut}/start`);
    const browser = newBrowser(world());
    const answer = await finishPages(browser, await browser.open(url), 'alice');
    const { text: result } = await app.open(answer.url);
    // The access token uses RS256.
    expect(result).toContain('&#34;alg&#34;: &#34;ES256&#34;');

    // Without the demo client, the pages and cookies of both browsers give no access.
    const unfinished = await browser.open((await app.open(`${tryOut}/start`)).url);
    await world().reload(GENEROUS);
    for (const path of ['', '/start', `/callback${new URL(answer.url).search}`])
      expect((await app.open(`${tryOut}${path}`)).status).toBe(404);
    const goneOn = await browser.submit(unfinished, '/consent');
    expect([goneOn.status, goneOn.url.includes('code=')]).toEqual([400, false]);
    expect((await browser.open(url)).status).toBe(400);
  });

  it.each([
    [{ workers: 2 }, 'off: it needs workers: 1'],
    [{ management: { port: 3011 } }, 'off: add http://localhost:3011/try/callback to redirect_uris of'],
    [{ clients: [] }, undefined],
    [{}, 'http://localhost:3001/try'],
  ])('says at a start with %j whether it is on', (changes, said) => {
    const secrets = [{ digest: digestOf(DEMO_CLIENT_SECRET) }];
    const client = { clientId: 'demo', secrets, redirectUris: ['http://localhost:3001/try/callback'] };
    const config = { clients: [client], users: [], workers: 1, management: { port: 3001 }, ...changes };
    const last = declaration.begin[0](config)?.facts.at(-1);
    expect(last?.startsWith(`try it       ${said}`)).toBe(said && true);
  });
});
