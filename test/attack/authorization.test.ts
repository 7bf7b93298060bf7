// The authorization endpoint: where a code may go, what a request may ask for, and when a user must be asked again.
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { authorize, exchange, takeCode } from '../world/app.ts';
import { authorizationUrl, type CodeClient, REDIRECT_URIS } from '../world/authorization-request.ts';
import { ask, newBrowser, redirectOf } from '../world/person.ts';
import { redeem } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { useWorld } from '../world/each-store.ts';
import { CALLBACK, GENEROUS, PASSWORDS } from '../world/world.ts';

const world = useWorld({ rotationTimer: NEVER, config: GENEROUS });
/** The same, with an issuer that isn't a loopback address. */
const far = useWorld({ rotationTimer: NEVER, config: GENEROUS, issuer: 'https://id.example' });
afterEach(() => void vi.useRealTimers());

/**
 * The only safe answer to a request with an untrusted redirect URI (RFC 6749 §4.1.2.1). The page of a loopback issuer quotes
 * what was sent in its details, once and as text; the page of any other issuer never does.
 */
async function expectErrorPage(client: CodeClient, redirectUri: string): Promise<void> {
  const pages = {
    near: await ask(world(), { client_id: client, redirect_uri: redirectUri }),
    far: await ask(far(), { client_id: client, redirect_uri: redirectUri }),
  };
  for (const page of Object.values(pages)) {
    expect([page.status, page.headers.get('location')], redirectUri).toEqual([400, null]);
    expect(page.headers.get('content-type'), redirectUri).toBe('text/html; charset=utf-8');
    expect(page.headers.get('refresh'), redirectUri).toBeNull();
    expect(page.headers.getSetCookie(), redirectUri).toEqual([]);
  }
  const details = /<dd lang="en" dir="auto">([^<]*)<\/dd>/;
  const [quoted = '', text = ''] = details.exec(pages.near.text) ?? [];
  expect(text.replaceAll('&#39;', "'"), redirectUri).toMatch(/^redirect_uri did not match .*; the app sent /);
  expect(text, redirectUri).not.toMatch(/["'<>\p{Cc}\p{Cf}]/u);
  const rest = pages.near.text.replace(quoted, '');
  for (const html of [rest, pages.far.text]) {
    expect(html, redirectUri).not.toContain('evil.example');
    expect(html, redirectUri).not.toContain('the app sent');
  }
}

async function expectRedirectError(
  client: CodeClient,
  changes: Readonly<Record<string, string | undefined>>,
  error: string,
): Promise<void> {
  const page = await ask(world(), { client_id: client, ...changes });
  const { target, query } = redirectOf(page);
  expect([page.status, target], JSON.stringify(changes)).toEqual([303, REDIRECT_URIS[client]]);
  // RFC 6749 §4.1.2.1: the state as it was sent. RFC 9207 §2: the issuer.
  expect(query, JSON.stringify(changes)).toMatchObject({
    error,
    state: 'state-of-the-client',
    iss: world().issuer,
  });
  expect(query, JSON.stringify(changes)).not.toHaveProperty('code');
}

describe('redirect URIs', () => {
  it.each([
    ['AZ-01: a trailing slash', `${CALLBACK}/`],
    ['AZ-01: a missing path', 'https://app.example'],
    ['AZ-01: a longer path', `${CALLBACK}2`],
    ['AZ-01: an empty path segment', 'https://app.example//cb'],
    ['AZ-01: an added query', `${CALLBACK}?x=1`],
    ['AZ-01: an empty query', `${CALLBACK}?`],
    ['AZ-01: a fragment', `${CALLBACK}#x`],
    ['AZ-01: an empty fragment', `${CALLBACK}#`],
    ['AZ-02: another case in the path', 'https://app.example/CB'],
    ['AZ-02: another case in the host', 'https://APP.example/cb'],
    ['AZ-02: another case in the scheme', 'HTTPS://app.example/cb'],
    ['AZ-03: dot segments', `${CALLBACK}/../evil`],
    ['AZ-03: dot segments that lead back', 'https://app.example/x/../cb'],
    ['AZ-03: encoded dot segments', `${CALLBACK}/%2e%2e/evil`],
    ['AZ-03: a path parameter before dots', `${CALLBACK}/..;/evil`],
    ['AZ-03: a path parameter', `${CALLBACK};x=1`],
    ['AZ-03: an encoded letter', 'https://app.example/%63b'],
    ['AZ-03: an encoded slash', 'https://app.example%2fcb'],
    ['AZ-06: a backslash before the real host', 'https://app.example\\@evil.example/cb'],
    ['AZ-06: a backslash for a slash', 'https://app.example\\cb'],
    ['AZ-06: a tab in the authority', 'https://app.example\t/cb'],
    ['AZ-06: a newline in the path', `${CALLBACK}\n`],
    ['AZ-06: a carriage return and a header', `${CALLBACK}\r\nSet-Cookie: x=1`],
    ['AZ-06: a NUL', `${CALLBACK}\0`],
    ['AZ-06: a space in front', ` ${CALLBACK}`],
    ['AZ-06: a space behind', `${CALLBACK} `],
    ['AZ-06: user information', 'https://app.example@evil.example/cb'],
    ['AZ-06: user information before the right host', 'https://evil.example@app.example/cb'],
    ['AZ-06: a port', 'https://app.example:8443/cb'],
    ['AZ-06: the default port', 'https://app.example:443/cb'],
    ['AZ-06: a suffix to the host', 'https://app.example.evil.example/cb'],
    ['AZ-06: a subdomain', 'https://x.app.example/cb'],
    ['AZ-06: a trailing dot', 'https://app.example./cb'],
    ['AZ-06: a full-width letter', 'https://app.exampl\uFF45/cb'],
    ['AZ-06: a Cyrillic letter', 'https://\u0430pp.example/cb'],
    ['AZ-06: http', 'http://app.example/cb'],
    ['AZ-06: another registered host', REDIRECT_URIS.web2],
    ['AZ-06: another host', 'https://evil.example/cb'],
    ['AZ-06: no scheme', '//app.example/cb'],
    ['AZ-06: javascript', 'javascript:alert(1)'],
    ['AZ-06: the issuer itself', '/oauth/logout'],
  ])('Spec §4 GET /oauth/authorize, redirect_uri, %s gets an error page', async (_what, redirectUri) => {
    await expectErrorPage('web', redirectUri);
  });

  it('AZ-01: a missing or empty redirect_uri is not filled in from the registration', async () => {
    for (const redirectUri of [undefined, '']) {
      const page = await ask(world(), { redirect_uri: redirectUri });
      expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    }
  });

  it('Spec §4 GET /oauth/authorize, client_id, AZ-01: an unknown one gets an error page, also with a redirect_uri that others have', async () => {
    for (const clientId of [
      'nobody',
      'unknown',
      'WEB',
      'web ',
      'web\0',
      '__proto__',
      'constructor',
      '',
      undefined,
    ]) {
      const page = await ask(world(), { client_id: clientId });
      expect([page.status, page.headers.get('location')], String(clientId)).toEqual([400, null]);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    }
  });

  it('AZ-01: the page doesn’t tell an unknown client from one with another redirect_uri; the log does', async () => {
    const evil = 'https://evil.example/cb';
    const requests = [
      { client_id: 'nobody', redirect_uri: evil },
      { client_id: 'web', redirect_uri: evil },
      { client_id: 'svc', redirect_uri: evil },
    ];
    const pages = [];
    for (const request of requests) pages.push(await ask(far(), request));
    const texts = pages.map(({ text }) => text.replaceAll(/<code>[\w-]{8,}<\/code>/g, '<code/>'));
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('the client is unknown, or the redirect_uri is not registered for it');
    expect(texts[0]).not.toMatch(/evil|Web app/);
    expect(pages.map(({ status }) => status)).toEqual([400, 400, 400]);
    const reasons = pages.map(({ text }) => {
      const refused = far()
        .recorded.log.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .find(({ requestId, msg }) => msg === 'authorization refused' && text.includes(String(requestId)));
      return [refused?.['error'], String(refused?.['advice']).split(' ')[0]];
    });
    expect(reasons.slice(0, 2)).toEqual([
      ['invalid_client', 'compare'],
      ['invalid_redirect_uri', 'add'],
    ]);
  });

  it('AZ-08: a native app may use any port of its loopback redirect, and nothing else', async () => {
    for (const uri of ['http://127.0.0.1:51004/cb', 'http://127.0.0.1:1/cb', 'http://127.0.0.1/cb']) {
      const page = await ask(world(), { client_id: 'native', redirect_uri: uri });
      expect(page.status, uri).toBe(303);
      expect(page.headers.get('location'), uri).toMatch(`${world().issuer}/interaction/`);
    }
    for (const uri of `http://localhost:51004/cb http://[::1]:51004/cb http://127.0.0.2:51004/cb
      http://127.1:51004/cb http://2130706433/cb http://0x7f000001/cb http://127.0.0.1.evil.example/cb
      http://127.0.0.1@evil.example/cb http://127.0.0.1:51004@evil.example/cb http://127.0.0.1:51004/other
      http://127.0.0.1:51004/cb/ http://127.0.0.1:51004/cb?x=1 http://127.0.0.1:51004/cb#x
      http://127.0.0.1:99999/cb http://127.0.0.1:51004x/cb https://127.0.0.1:51004/cb
      ftp://127.0.0.1:51004/cb`.split(/\s+/)) {
      const page = await ask(world(), { client_id: 'native', redirect_uri: uri });
      expect([page.status, page.headers.get('location')], uri).toEqual([400, null]);
    }
  });

  it('AZ-08: a code for one loopback port is exchanged with that port only', async () => {
    const ticket = await takeCode(world(), { client: 'native', scope: 'openid' });
    expect(ticket.callback.port).toBe('51004');
    const moved = await redeem(world(), ticket, { redirect_uri: 'http://127.0.0.1:51005/cb' });
    expect([moved.status, moved.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('AZ-09: redirect_uri twice, a good one and an evil one, never leads to the evil one', async () => {
    const evil = encodeURIComponent('https://evil.example/cb');
    const good = authorizationUrl(world());
    const withoutUri = authorizationUrl(world(), { redirect_uri: undefined });
    for (const url of [
      `${good}&redirect_uri=${evil}`,
      `${withoutUri}&redirect_uri=${evil}&redirect_uri=${encodeURIComponent(CALLBACK)}`,
      `${good}&redirect_uri%5B%5D=${evil}&redirect_uri%5B0%5D=${evil}`,
      `${good}&redirect_uri=`,
      `${good};redirect_uri=${evil}`,
    ]) {
      const page = await newBrowser(world()).request(url);
      const location = page.headers.get('location');
      expect([303, 400], url).toContain(page.status);
      if (location !== null) {
        const { origin, pathname } = new URL(location);
        const allowed = [CALLBACK, world().issuer];
        expect(
          allowed.some((one) => `${origin}${pathname}`.startsWith(one)),
          `${url} led to ${location}`,
        ).toBe(true);
      }
    }
  });

  it('AZ-09: any other parameter twice is an error and not a choice', async () => {
    for (const name of 'client_id scope state code_challenge response_type nonce prompt'.split(' ')) {
      const url = `${authorizationUrl(world(), { nonce: 'n', prompt: 'login' })}&${name}=other`;
      const page = await newBrowser(world()).request(url);
      const { query } = redirectOf(page);
      expect(query['code'], name).toBeUndefined();
      if (page.status === 303) expect(query['error'], name).toBe('invalid_request');
      else expect([page.status, page.headers.get('location')], name).toEqual([400, null]);
    }
  });
});

describe('what a request may ask for', () => {
  const OTHER_MODES = 'fragment form_post web_message jwt query.jwt form_post.jwt none QUERY __proto__'.split(
    ' ',
  );
  it.each(OTHER_MODES)('AZ-16: response_mode=%s is refused, by query', async (mode) => {
    await expectRedirectError('web', { response_mode: mode }, 'unsupported_response_mode');
  });

  it('AZ-16: response_mode=query is the only one, and an empty one is not a way around it', async () => {
    for (const mode of ['query', '']) {
      const page = await ask(world(), { response_mode: mode });
      expect(page.headers.get('location'), mode).toMatch(`${world().issuer}/interaction/`);
    }
  });

  it.each(['token', 'id_token', 'code token', 'code id_token', 'none', 'nonsense', 'CODE', 'code code2'])(
    'Spec §4 GET /oauth/authorize, response_type, AZ-16: %s is refused, and nothing is put into a fragment',
    async (responseType) => {
      const page = await ask(world(), { response_type: responseType, nonce: 'n' });
      const location = new URL(page.headers.get('location') ?? 'x:missing');
      expect(`${location.origin}${location.pathname}`).toBe(CALLBACK);
      expect(redirectOf(page).query).toMatchObject({
        error: 'unsupported_response_type',
        state: 'state-of-the-client',
        iss: world().issuer,
      });
      expect(location.hash).toBe('');
    },
  );

  it('AZ-10: request objects, by value and by reference, are refused and never fetched', async () => {
    await expectRedirectError('web', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported');
    await expectRedirectError('web', { request_uri: `${world().issuer}/x` }, 'request_uri_not_supported');
    await expectRedirectError('web', { registration: '{}' }, 'registration_not_supported');
  });

  it('AZ-10: an unknown scope is refused and named, and so is a scope of another client', async () => {
    for (const refused of ['nope', 'reports.write', 'other.read', 'admin']) {
      for (const scope of [`openid ${refused}`, refused]) {
        await expectRedirectError('web', { scope }, 'invalid_scope');
        expect(redirectOf(await ask(world(), { scope })).query['scope']).toBe(refused);
      }
    }
    await expectRedirectError('native', { scope: 'openid email' }, 'invalid_scope');
  });

  it('AZ-10: prompt=none with another prompt, and a prompt that does not exist, are invalid', async () => {
    for (const prompt of ['none login', 'none consent', 'everything', 'create']) {
      await expectRedirectError('web', { prompt }, 'invalid_request');
    }
  });
});

describe('the user is asked', () => {
  it('AZ-19: no redirect after the password is a 307 or a 308', async () => {
    const browser = newBrowser(world());
    const login = await browser.open(authorizationUrl(world(), { scope: 'openid email' }));
    let page = await browser.send(login, '/login', { username: 'alice', password: PASSWORDS.alice });
    const statuses = [page.status];
    for (let location = page.headers.get('location'); location?.startsWith(world().issuer);) {
      page = await browser.request(location);
      location = page.headers.get('location');
      if (location !== null) statuses.push(page.status);
    }
    expect([...new Set(statuses)]).toEqual([303]);
    const allowed = await browser.submit(page, '/consent');
    expect(allowed.status).toBe(303);
    expect(allowed.url.startsWith(`${CALLBACK}?code=`)).toBe(true);
  });

  it('AZ-23: max_age asks again when the sign-in is older, and the new auth_time says so', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const first = await exchange(await authorize(world(), { scope: 'openid' }));
    const signedInAt = decodeJwt(first.tokens.access_token)['auth_time'] as number;
    expect(signedInAt).toBe(Math.floor(Date.now() / 1000));
    vi.setSystemTime(Date.now() + 90_000);
    const stale = authorizationUrl(world(), { max_age: '60', prompt: 'none', scope: 'openid' });
    expect(redirectOf(await first.browser.request(stale)).query['error']).toBe('login_required');
    const fresh = authorizationUrl(world(), { max_age: '120', prompt: 'none', scope: 'openid' });
    expect(redirectOf(await first.browser.request(fresh)).query['code']).toMatch(/^[\w-]{43}$/);

    const page = await first.browser.open(authorizationUrl(world(), { max_age: '1' }));
    expect(page.text).toContain('name="password"');
    const again = await exchange(
      await authorize(world(), { scope: 'openid', browser: first.browser, parameters: { max_age: '1' } }),
    );
    const authTime = decodeJwt(again.tokens.id_token ?? '')['auth_time'] as number;
    expect(authTime - signedInAt).toBeGreaterThanOrEqual(90);
    expect(decodeJwt(again.tokens.access_token)['auth_time']).toBe(authTime);
  });

  it('AZ-23: max_age=0 always asks, and a max_age that is no whole number is refused', async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const page = await browser.open(authorizationUrl(world(), { max_age: '0' }));
    expect(page.text).toContain('name="password"');
    const silent = authorizationUrl(world(), { max_age: '0', prompt: 'none', scope: 'openid' });
    expect(redirectOf(await browser.request(silent)).query['code']).toBeUndefined();
    for (const maxAge of ['-1', '1.5', 'x', '9007199254740993', '1e400', '１']) {
      await expectRedirectError('web', { max_age: maxAge }, 'invalid_request');
    }
  });

  it('AZ-24: a scope that was never granted needs consent, also silently', async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const silent = (scope: string) => authorizationUrl(world(), { scope, prompt: 'none' });
    expect(redirectOf(await browser.request(silent('openid'))).query['code']).toMatch(/^[\w-]{43}$/);
    for (const scope of ['openid email', 'openid profile', 'openid reports.read']) {
      const { query } = redirectOf(await browser.request(silent(scope)));
      expect(query, scope).toMatchObject({ error: 'consent_required' });
      expect(query, scope).not.toHaveProperty('code');
    }
    // Consent is for one app.
    const other = authorizationUrl(world(), { client_id: 'web2', prompt: 'none', scope: 'openid' });
    expect(redirectOf(await browser.request(other)).query['error']).toBe('consent_required');
  });
});
