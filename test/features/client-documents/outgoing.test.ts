// Requests for documents of clients, in a network where every forbidden address exists and would answer.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOutgoing, NOTHING, PUBLIC } from '../../attack/outgoing-network.ts';
import type { Answers } from '../../world/name-server.ts';

describeOutgoing((inside) => {
  const CONFIG = {
    client_documents: { hosts: ['docs.example', 'silent.example'], scope: 'openid offline_access' },
  };
  beforeAll(async () => inside.start(CONFIG));
  // Rejected documents are fetched again, and every limit starts over.
  beforeEach(async () => {
    await inside.later(10);
    await inside.script('docs.example', [[PUBLIC]]);
  });

  it('are sent for a listed host', async () => {
    const { status, location, seen } = await inside.visit('https://docs.example/client.json');
    expect([status, location]).toEqual([303, expect.stringContaining('/interaction/')]);
    expect(seen).toEqual({
      connections: [`${PUBLIC} 443`],
      requests: ['docs.example/client.json'],
      strays: 0,
      names: ['docs.example'],
    });
  });

  it.each([
    'https://10.0.0.5/c',
    'https://[::1]/c',
    'https://localhost/c',
    'https://docs.example.evil.example/c',
    'https://evildocs.example/c',
    'https://sub.docs.example/c',
    'https://docs.example./c',
    'https://docs.example:8443/c',
    'https://docs.example:80/c',
    'https://docs.example:443/c',
    'https://docs.example@10.0.0.5/c',
    'https://10.0.0.5\\@docs.example/c',
    'https://DOCS.example/c',
    'https://docs.example',
    'https://docs.example/a/%2e%2e/c',
    'https://docs.example/c#x',
    'https://docs.example/c\t',
    'http://docs.example/c',
    '//docs.example/c',
  ])('MC-01, MC-07, MC-09: are not sent for %j, and nobody is sent anywhere', async (clientId) => {
    const { status, location, seen } = await inside.visit(clientId);
    expect([status, location, seen]).toEqual([400, '', NOTHING]);
  });

  it.each<[string, Answers]>([
    ['10.0.0.5', [['10.0.0.5']]],
    ['a public and a private address', [[PUBLIC, '10.0.0.5']]],
    ['a mapped address', [['::ffff:192.168.0.1']]],
    ['localhost by a CNAME', [['-> localhost']]],
  ])('MC-03: are not sent where a listed host leads to %s', async (_, answers) => {
    await inside.script('docs.example', answers);
    const { status, location, text, seen } = await inside.visit('https://docs.example/c');
    expect([status, location, seen]).toEqual([400, '', { ...NOTHING, names: ['docs.example'] }]);
    expect(text).not.toMatch(/address|10\.0\.0|public/);
  });

  it.each(
    ['https://docs.example/client.json', 'http://169.254.169.254/latest', ''].flatMap((target) =>
      [301, 302, 303, 307, 308].map((status) => [status, target] as const),
    ),
  )('MC-05: follow no redirect: %i to %s', async (status, target) => {
    const path = `/redirect/${status}/${encodeURIComponent(target)}`;
    const answer = await inside.visit(`https://docs.example${path}`);
    expect([answer.status, answer.location, answer.seen.strays]).toEqual([400, '', 0]);
    expect([answer.seen.connections, answer.seen.requests]).toEqual([
      [`${PUBLIC} 443`],
      [`docs.example${path}`],
    ]);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    [
      '/oauth/token',
      { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://docs.example/cb' },
    ],
    ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['/oauth/introspect', { token: 'x' }],
    ['/oauth/revoke', { token: 'x' }],
    ['/oauth/logout', { post_logout_redirect_uri: 'https://docs.example/cb' }],
    ['/oauth/userinfo', { access_token: 'x' }],
  ])('MC-30: are not sent for a client_id at %s with %o', async (endpoint, form) => {
    const { status, seen } = await inside.post(endpoint, {
      ...form,
      client_id: 'https://docs.example/new.json',
    });
    expect(status).toBeLessThan(500);
    expect(seen).toEqual(NOTHING);
  });

  it('MC-19: are not sent to anything that a document names, from sign-in to a refreshed token', async () => {
    const { refreshed, seen } = await inside.useClient('https://docs.example/links/client.json');
    expect([refreshed, seen.connections, seen.strays]).toEqual([200, [`${PUBLIC} 443`], 0]);
    expect([seen.requests, seen.names]).toEqual([['docs.example/links/client.json'], ['docs.example']]);
  });

  it.each([
    ['most-bytes', 303],
    ['byte-more', 400],
    ['length', 400],
    ['chunked', 400],
    ['endless', 400],
    ['gzip', 400],
    ['gzip-small', 400],
  ])('MC-10: read no more than a document may have: %s, %i', async (path, status) => {
    const answer = await inside.visit(`https://docs.example/${path}/c.json`);
    expect([answer.status, answer.seen.connections]).toEqual([status, [`${PUBLIC} 443`]]);
    await inside.closed();
  });

  it('MC-10: leave nothing in memory', async () => {
    for (const path of ['endless', 'gzip'])
      expect(await inside.growth(`https://docs.example/${path}/c.json`, 40)).toBeLessThan(5_000_000);
  });

  it('MC-12: end soon, however a host is slow, with 503 and closed connections', async () => {
    const slow = ['nothing', 'headers', 'body', 'hints', 'upgrade'].map(
      (one) => `https://docs.example/${one}`,
    );
    const answers = await Promise.all(
      ['https://silent.example/c', 'https://docs.example/status/500', ...slow].map((clientId, index) =>
        inside.visit(clientId, `127.1.${index}.1`),
      ),
    );
    for (const { status, location, retryAfter } of answers)
      expect([status, location, Number(retryAfter) > 0]).toEqual([503, '', true]);
    await inside.closed();
  });

  it('MC-12: end soon where the name server is silent', async () => {
    await inside.script('docs.example', []);
    const { status, retryAfter, seen } = await inside.visit('https://docs.example/unnamed');
    expect([status, seen.connections, seen.strays]).toEqual([503, [], 0]);
    expect(Number(retryAfter)).toBeGreaterThan(0);
  });

  it('MC-12: hold nobody up: a hundred at a silent host at once', async () => {
    const clientIds = Array.from({ length: 100 }, (_, index) => `https://silent.example/${index}`);
    const addresses = clientIds.map((_, index) => `127.2.${index + 1}.1`);
    const answer = await inside.flood({ clientIds, addresses, atOnce: 100 });
    expect([answer.signedIn, answer.lacking, answer.seen.strays]).toEqual([true, 0, 0]);
    expect(answer.statuses.filter((status) => status !== 429 && status !== 503)).toEqual([]);
    expect(answer.seen.connections.length).toBeLessThanOrEqual(10);
    await inside.closed();
  });
});
