// The page at the issuer itself.
import { describe, expect, it } from 'vitest';
import { DEMO_CLIENT_SECRET } from '../../src/config/demo.ts';
import { Browser } from '../world/browser.ts';
import { useWorld } from '../world/each-store.ts';
import { finishPages, newBrowser } from '../world/person.ts';
import { raw } from '../world/raw.ts';

const textOf = (html: string) =>
  html
    .replace(/[\s\S]*<body/, '<body')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

describe('the page at the issuer', () => {
  const local = useWorld();
  const elsewhere = useWorld({
    issuer: 'https://id.example/auth',
    config: { branding: { name: 'Acme ID' } },
  });

  it('is a start page on this machine, in the language of the browser', async () => {
    const { status, headers, text } = await raw(local().base, { target: '/' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).toContain(`href="${local().issuer}/.well-known/openid-configuration"`);
    expect(textOf(text)).toContain('README.md');
    // This world has no demo client.
    expect(text).not.toContain('/try');
    const german = await raw(local().base, { target: '/', headers: { 'accept-language': 'de' } });
    expect(textOf(german.text)).toContain('Ihre erste App');
  });

  it('has the name of the service and nothing else where the issuer is not this machine', async () => {
    const { status, text } = await raw(elsewhere().base, { target: '/auth/' });
    expect(status).toBe(200);
    expect(textOf(text)).toMatch(/^A Acme ID Acme ID$/);
    expect(text).toContain('<title>Acme ID</title>');
    expect(text.match(/<a /g)).toBeNull();
  });

  it('leads to the try-out while the demo client is there', async () => {
    const management = new URL(local().management).port;
    const tryOut = `http://localhost:${management}/try`;
    const demo = {
      client_id: 'demo',
      client_secret: DEMO_CLIENT_SECRET,
      redirect_uris: [`${tryOut}/callback`],
      scope: 'openid',
      id_token_signed_response_alg: 'ES256',
    };
    const signingKeys = { algorithms: ['RS256', 'ES256'] };
    await local().reload({ clients: [demo], resources: [], signing_keys: signingKeys });
    const { text } = await raw(local().base, { target: '/' });
    expect(text).toContain(`href="${tryOut}"`);
    const app = new Browser(`http://localhost:${management}`);
    const { url } = await app.open(`${tryOut}/start`);
    const browser = newBrowser(local());
    const answer = await finishPages(browser, await browser.open(url), 'alice');
    const { text: result } = await app.open(answer.url);
    expect(textOf(result)).toContain(
      'ID token, verified { &#34;header&#34;: { &#34;alg&#34;: &#34;ES256&#34;',
    );
  });

  it('answers an unknown path beside it as before', async () => {
    for (const target of ['//', '/index.html', '/?/x']) {
      const { status } = await raw(local().base, { target, headers: { accept: 'text/html' } });
      expect(status, target).toBe(target.startsWith('/?') ? 200 : 404);
    }
    const { text } = await raw(local().base, { target: '/nothing', headers: { accept: 'application/json' } });
    expect(JSON.parse(text)).toMatchObject({ error: 'not_found' });
  });
});
