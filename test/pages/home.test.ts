// The page at the issuer itself.
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
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

  it('answers an unknown path beside it as before', async () => {
    for (const target of ['//', '/index.html', '/?/x']) {
      const { status } = await raw(local().base, { target, headers: { accept: 'text/html' } });
      expect(status, target).toBe(target.startsWith('/?') ? 200 : 404);
    }
    const { text } = await raw(local().base, { target: '/nothing', headers: { accept: 'application/json' } });
    expect(JSON.parse(text)).toMatchObject({ error: 'not_found' });
  });
});
