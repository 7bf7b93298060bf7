import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION_REQUEST, VERIFIER } from '../../world/authorization-request.ts';
import { finishPages, newBrowser } from '../../world/person.ts';
import { introspect, introspection, userinfo } from '../../world/presented-tokens.ts';
import { get, post } from '../../world/requests.ts';
import { hashOf } from '../../world/stored.ts';
import { createTurns } from '../../world/turns.ts';
import { API, type OpenWorld, OTHER_API, PASSWORDS, PEOPLE, worldClients } from '../../world/world.ts';
import { DAY, HOUR, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { DocumentHost } from './document-host.ts';
import { anyStore, useWorld } from '../../world/each-store.ts';

const SCOPE = 'openid offline_access profile reports.read reports.write';
const CONFIG = {
  client_documents: { hosts: ['docs.example', 'one.example/only.json'], scope: SCOPE },
  lifetimes: { access_token: '1h' },
  resources: [
    {
      resource: API,
      scopes: ['reports.read', 'reports.write'],
      default_scopes: ['reports.read'],
      introspection_clients: ['rs1'],
    },
    { resource: OTHER_API, scopes: ['other.read'] },
  ],
};
const CALLBACK = 'https://docs.example/cb';

type Fields = Readonly<Record<string, string>>;

function authorizeUrl(world: OpenWorld, clientId: string, parameters: Fields = {}): string {
  const { scope: _scope, nonce: _nonce, ...request } = AUTHORIZATION_REQUEST;
  const all = { ...request, client_id: clientId, redirect_uri: CALLBACK, resource: API, ...parameters };
  const query = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return `${world.issuer}/oauth/authorize?${new URLSearchParams(query).toString()}`;
}

const open = (world: OpenWorld, clientId: string, parameters: Fields = {}) =>
  newBrowser(world).open(authorizeUrl(world, clientId, parameters));

/** Signs in as alice, who allows the request, and returns the code. */
async function codeOfSignIn(world: OpenWorld, clientId: string, parameters: Fields = {}): Promise<string> {
  const browser = newBrowser(world);
  const first = await browser.open(authorizeUrl(world, clientId, parameters));
  const page = await finishPages(browser, first, 'alice');
  return new URL(page.url).searchParams.get('code') ?? `no code: ${page.status} ${page.url} ${page.text}`;
}

const redeem = (world: OpenWorld, clientId: string, code: string) =>
  post(world, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    resource: API,
  });

async function tokensFor(world: OpenWorld, clientId: string, parameters: Fields = {}) {
  const { status, body } = await redeem(world, clientId, await codeOfSignIn(world, clientId, parameters));
  expect(status).toBe(200);
  return body as Record<string, string>;
}

const refresh = (world: OpenWorld, clientId: string, token = '') =>
  post(world, '/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token });

/** Reloads, as a new process that knows clients only from the store. */
const freshProcess = (world: OpenWorld) => world.reload(CONFIG);

const host = new DocumentHost();
let number = 0;
/** Publishes a document that no other test uses. */
function published(members?: Readonly<Record<string, unknown>>, headers?: Readonly<Record<string, string>>) {
  number += 1;
  const url = `https://docs.example/${number}/client.json`;
  host.publish(url, members, headers);
  return url;
}

anyStore('a client whose document is fetched', { config: CONFIG, outgoing: host }, (world) => {
  it('MC-36: signs in without a scope and with a resource, and refreshes without openid', async () => {
    const client = published();
    const browser = newBrowser(world());
    const first = await browser.open(authorizeUrl(world(), client));
    const consent = await browser.submit(first, '/login', { username: 'alice', password: PASSWORDS.alice });
    expect(consent.text).toContain('Stay connected when you’re not using it');
    const tokens = await tokensFor(world(), client);
    expect(tokens).toMatchObject({ scope: 'reports.read', refresh_token: expect.any(String) });
    expect(tokens['id_token']).toBeUndefined();
    expect(decodeJwt(tokens['access_token'] ?? '')).toMatchObject({ aud: API, client_id: client });
    const renewed = await refresh(world(), client, tokens['refresh_token']);
    expect(renewed.body).toMatchObject({ scope: 'reports.read', refresh_token: expect.any(String) });
    expect((await userinfo(world(), String(renewed.body['access_token']))).status).toBeGreaterThanOrEqual(
      401,
    );
    const replayed = await refresh(world(), client, tokens['refresh_token']);
    expect(replayed.body['error']).toBe('invalid_grant');
    const after = await refresh(world(), client, String(renewed.body['refresh_token']));
    expect(after.body['error']).toBe('invalid_grant');
    expect(host.timesAsked(client)).toBe(1);
  });

  it('MC-36: gets no refresh token where the document has no refresh_token, or with openid alone', async () => {
    const plain = published({ grant_types: ['authorization_code'] });
    expect((await tokensFor(world(), plain))['refresh_token']).toBeUndefined();
    const client = published();
    const tokens = await tokensFor(world(), client, { scope: 'openid reports.read' });
    expect(tokens['refresh_token']).toBeUndefined();
  });

  it('is known to a process that never saw it, at each endpoint, and asked for once', async () => {
    const client = published();
    const tokens = await tokensFor(world(), client);
    await freshProcess(world());
    expect(await introspect(world(), tokens['access_token'])).toMatchObject({
      active: true,
      client_id: client,
    });
    await freshProcess(world());
    const renewed = await refresh(world(), client, tokens['refresh_token']);
    expect(renewed.status).toBe(200);
    await freshProcess(world());
    const revoked = await post(world(), '/oauth/revoke', {
      client_id: client,
      token: String(renewed.body['refresh_token']),
    });
    expect(revoked.status).toBe(200);
    expect(await introspect(world(), String(renewed.body['access_token']))).toEqual({ active: false });
    expect(host.timesAsked(client)).toBe(1);
  });

  it('goes through sign-in, consent, userinfo and sign-out, each on a process that never saw it', async () => {
    const client = published({ post_logout_redirect_uris: ['https://docs.example/out'] });
    const browser = newBrowser(world());
    const url = authorizeUrl(world(), client, { scope: 'openid profile', resource: '' });
    let page = await browser.open(url);
    await freshProcess(world());
    page = await browser.submit(page, '/login', { username: 'alice', password: PASSWORDS.alice });
    await freshProcess(world());
    page = await browser.submit(page, '/consent');
    const code = new URL(page.url).searchParams.get('code') ?? page.text;
    await freshProcess(world());
    const { body } = await post(world(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: client,
      code,
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
    });
    await freshProcess(world());
    const answer = await userinfo(world(), String(body['access_token']));
    expect([answer.status, answer.body['sub']]).toEqual([200, PEOPLE.alice]);
    host.fail(client);
    await freshProcess(world());
    const query = { client_id: client, post_logout_redirect_uri: 'https://docs.example/out' };
    page = await browser.open(`${world().issuer}/oauth/logout?${new URLSearchParams(query).toString()}`);
    page = await browser.submit(page, '/oauth/logout/confirm', { logout: 'yes' });
    expect(page.url).toBe('https://docs.example/out');
    expect(host.timesAsked(client)).toBe(1);
  });
});

const errorPage = async (world: OpenWorld, clientId: string) => {
  const { status, headers, url } = await open(world, clientId);
  const leaves = url.startsWith(world.issuer) ? undefined : url;
  return [status, headers.get('retry-after') === null ? undefined : 'Retry-After', leaves];
};

const REFUSED = [400, undefined, undefined];
const AWAY = [503, 'Retry-After', undefined];

describe('which documents are fetched', () => {
  const world = useWorld({ config: CONFIG, outgoing: host });
  const withoutIt = useWorld({ outgoing: host });

  it('MC-09: those of listed hosts on their one port, and documents that are listed themselves', async () => {
    const before = host.asked.length;
    const strangers = [
      'https://sub.docs.example/c',
      'https://docs.example:8443/c',
      'https://one.example/other.json',
    ];
    const unknown = await open(world(), 'nobody');
    const shown = ({ text }: { text: string }) =>
      text.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'id');
    for (const url of strangers) {
      host.publish(url);
      const page = await open(world(), url);
      expect([url, page.status, shown(page)]).toEqual([url, 400, shown(unknown)]);
    }
    expect(host.asked.length).toBe(before);
    host.publish('https://one.example/only.json');
    expect(await errorPage(world(), 'https://one.example/only.json')).toEqual([200, undefined, undefined]);
  });

  it('MC-09: none where the file has no client_documents; discovery says which', async () => {
    const url = published();
    const before = host.asked.length;
    expect(await errorPage(withoutIt(), url)).toEqual(REFUSED);
    expect(host.asked.length).toBe(before);
    const supported = async (one: OpenWorld) =>
      (await get(one, '/.well-known/openid-configuration')).body['client_id_metadata_document_supported'];
    expect([await supported(world()), await supported(withoutIt())]).toEqual([true, undefined]);
  });

  const pin = async (url: string) => {
    const pinned = {
      client_id: url,
      token_endpoint_auth_method: 'none',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      scope: 'openid offline_access reports.read',
    };
    await world().reload({ ...CONFIG, clients: [...worldClients(), pinned] });
  };

  it('MC-36: takes a client of the file before a document; it gets a refresh token by its grant types, too', async () => {
    const url = published();
    await pin(url);
    expect(await errorPage(world(), url)).toEqual([200, undefined, undefined]);
    const tokens = await tokensFor(world(), url);
    const renewed = await refresh(world(), url, tokens['refresh_token']);
    expect([renewed.status, typeof renewed.body['refresh_token']]).toEqual([200, 'string']);
    expect(
      (await tokensFor(world(), url, { scope: 'openid reports.read' }))['refresh_token'],
    ).toBeUndefined();
    expect(host.timesAsked(url)).toBe(0);
    await world().reload(CONFIG);
  });

  it('holds nothing of what users allowed the pinned document, once the pin is removed', async () => {
    const url = published();
    await pin(url);
    const browser = newBrowser(world());
    const first = await finishPages(browser, await browser.open(authorizeUrl(world(), url)), 'alice');
    const { body } = await redeem(world(), url, new URL(first.url).searchParams.get('code') ?? '');
    const kept = await tokensFor(world(), url);
    await pin(url);
    expect(await introspect(world(), String(body['access_token']))).toMatchObject({ active: true });
    await world().reload(CONFIG);
    expect((await browser.open(authorizeUrl(world(), url))).text).toContain('/consent"');
    expect(await introspect(world(), kept['access_token'])).toEqual({ active: false });
    for (const token of [body['refresh_token'], kept['refresh_token']])
      expect((await refresh(world(), url, String(token))).body['error']).toBe('invalid_grant');
    // A client that is pinned again is a new one; what the user allowed the fetched client stays.
    const fetched = await tokensFor(world(), url);
    await pin(url);
    expect((await refresh(world(), url, kept['refresh_token'])).body['error']).toBe('invalid_grant');
    expect((await refresh(world(), url, fetched['refresh_token'])).status).toBe(200);
    await world().reload(CONFIG);
  });

  it('narrows what came of it with the scope of the file', async () => {
    const url = published();
    const tokens = await tokensFor(world(), url, { scope: 'reports.read reports.write' });
    const { hosts } = CONFIG.client_documents;
    await world().reload({
      ...CONFIG,
      client_documents: { hosts, scope: 'openid offline_access reports.read' },
    });
    const renewed = (await refresh(world(), url, tokens['refresh_token'])).body;
    expect(renewed['scope']).toBe('reports.read');
    await world().reload(CONFIG);
  });

  it('keeps users out of an API by its rules, and of no app', async () => {
    const [api, ...others] = CONFIG.resources;
    const groups = { staff: 'Staff', others: 'Others' };
    const rules = (allowed: string) => ({
      ...CONFIG,
      groups,
      resources: [{ ...api, access: { groups: [allowed] } }, ...others],
    });
    const url = published();
    const people = { alice: { groups: ['staff'] } };
    await world().reload(rules('staff'), people);
    const tokens = await tokensFor(world(), url);
    expect(tokens['scope']).toBe('reports.read');
    await world().reload(rules('others'), people);
    expect(await codeOfSignIn(world(), url)).toMatch(/^no code: .*error=access_denied/);
    expect((await refresh(world(), url, tokens['refresh_token'])).body['error']).toBe('invalid_grant');
    await world().reload(CONFIG, {});
  });

  it('asks again for one that is damaged in the store', async () => {
    const url = published();
    expect((await open(world(), url)).status).toBe(200);
    const key = (await hashOf(world().openedStore))(`client document:${url}`);
    const found = await world().openedStore.records.find('ClientDocument', key);
    expect(found?.payload).toContain('App of nobody');
    await world().openedStore.records.save({ kind: 'ClientDocument', key, payload: '{', ttlSeconds: 60 });
    await freshProcess(world());
    expect((await open(world(), url)).status).toBe(200);
    expect(host.timesAsked(url)).toBe(2);
  });
});

describe('how long a document is trusted', () => {
  standingClock();
  const turns = createTurns();
  const world = useWorld({ config: CONFIG, outgoing: host, rotationTimer: turns.timer });
  /** Moves the clock and checks the keys: without that check the service signs nothing. */
  async function pass(seconds: number): Promise<void> {
    moveClock(seconds);
    await turns.turn();
  }
  const opened = async (url: string) => {
    const pages = await Promise.all(Array.from({ length: 5 }, () => open(world(), url)));
    return pages.filter(({ status }) => status === 200).length;
  };

  it('MC-28: as long as its headers say, between five minutes and a day, by one fetch', async () => {
    const cases: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
      [{ 'cache-control': 'public, max-age=3600' }, HOUR],
      [{ 'cache-control': 'max-age=99999999' }, DAY],
      [{ 'cache-control': 'no-store, max-age=3600' }, 5 * MINUTE],
      [{}, 5 * MINUTE],
    ];
    for (const [headers, seconds] of cases) {
      const url = published({}, headers);
      expect([headers, await opened(url), host.timesAsked(url)]).toEqual([headers, 5, 1]);
      await pass(seconds - 2);
      expect([headers, await opened(url), host.timesAsked(url)]).toEqual([headers, 5, 1]);
      // Also more than a minute, which limits first fetches.
      await pass(3);
      expect([headers, await opened(url), host.timesAsked(url)]).toEqual([headers, 5, 2]);
    }
  });

  it('MC-28: a redirect URI that was removed stops working then; three spellings are three clients', async () => {
    await pass(DAY);
    const url = published();
    expect((await open(world(), url)).status).toBe(200);
    host.publish(url, { redirect_uris: ['https://docs.example/new'] });
    expect((await open(world(), url)).status).toBe(200);
    await pass(5 * MINUTE + 1);
    expect(await errorPage(world(), url)).toEqual(REFUSED);
    for (const path of ['c', 'C', '%63']) {
      host.publish(`https://docs.example/${path}`);
      expect((await open(world(), `https://docs.example/${path}`)).status).toBe(200);
      expect(host.timesAsked(`https://docs.example/${path}`)).toBe(1);
    }
  });

  it('MC-15: a refusal is remembered for a minute', async () => {
    await pass(MINUTE);
    const url = published({ client_id: 'https://docs.example/other' });
    for (let count = 0; count < 3; count += 1) expect(await errorPage(world(), url)).toEqual(REFUSED);
    host.publish(url);
    await pass(59);
    expect(await errorPage(world(), url)).toEqual(REFUSED);
    expect(host.timesAsked(url)).toBe(1);
    await pass(2);
    expect((await open(world(), url)).status).toBe(200);
  });

  it('a host that is away is a 503 with Retry-After, and nothing is used up', async () => {
    await pass(MINUTE);
    for (const answer of [undefined, { status: 500 }, { status: 503 }, { status: 429 }]) {
      await pass(MINUTE);
      const url = published();
      if (answer === undefined) host.fail(url);
      else host.answer(url, answer);
      // The reference on the page leads to the reason.
      const [reference = 'none'] =
        /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec((await open(world(), url)).text) ?? [];
      const line = world().recorded.log.find((one) => one.includes(reference));
      expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 30, msg: 'request failed' });
      expect(await errorPage(world(), url)).toEqual(AWAY);
      expect(host.timesAsked(url)).toBe(1);
      host.publish(url);
      await pass(31);
      expect((await open(world(), url)).status).toBe(200);
    }
  });

  it('is a warning, and counted apart from failures of the service: five by a stranger raise no alert', async () => {
    await pass(MINUTE);
    const count = async (labels: object) => {
      const all = (await world().recorded.telemetry.metrics.read()) as readonly {
        name: string;
        values: readonly { metricName?: string; labels: object; value: number }[];
      }[];
      const { values = [] } = all.find(({ name }) => name === 'postern_http_request_duration_seconds') ?? {};
      const found = values.find(
        (one) => one.metricName?.endsWith('_count') && JSON.stringify(one.labels) === JSON.stringify(labels),
      );
      return found?.value ?? 0;
    };
    const away = { route: 'authorization', status: 503 };
    const causes = [{}, { cause: 'client_document' }];
    const counts = () => Promise.all(causes.map((cause) => count({ ...away, ...cause })));
    const [own, before = 0] = await counts();
    const [client, other] = [published(), published()];
    await tokensFor(world(), client);
    await pass(5 * MINUTE + 1);
    for (const url of [client, other]) {
      host.fail(url);
      for (let at = 0; at < 5; at += 1) expect(await errorPage(world(), url)).toEqual(AWAY);
      const lines = world().recorded.log.filter((one) => one.includes(`"clientId":"${url}"`));
      expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({ level: 40 });
    }
    expect(await counts()).toEqual([own, before + 10]);
  });

  it('what came of it goes on for a day while its host is away, a new authorization does not', async () => {
    await pass(MINUTE);
    const url = published();
    const { access_token: accessToken = '', ...tokens } = await tokensFor(world(), url);
    host.fail(url);
    await pass(5 * MINUTE + 1);
    expect(await errorPage(world(), url)).toEqual(AWAY);
    expect(await introspect(world(), accessToken)).toMatchObject({ active: true });
    await freshProcess(world());
    let { body } = await refresh(world(), url, tokens['refresh_token']);
    await pass(DAY - 10 * MINUTE);
    ({ body } = await refresh(world(), url, String(body['refresh_token'])));
    const living = String(body['access_token']);
    expect(living).toMatch(/^eyJ/);
    await pass(11 * MINUTE);
    await freshProcess(world());
    for (const _ of ['twice', 'and nothing is used up']) {
      const late = await refresh(world(), url, String(body['refresh_token']));
      expect([late.status, late.headers.has('retry-after')]).toEqual([503, true]);
    }
    const asked = await introspection(world(), living);
    expect([asked.status, asked.headers.has('retry-after')]).toEqual([503, true]);
    host.publish(url);
    await pass(31);
    expect((await refresh(world(), url, String(body['refresh_token']))).status).toBe(200);
  });

  it('a document that is gone or refused for some minutes ends what came of it; a revocation never needs one', async () => {
    for (const answer of [{ status: 404 }, { status: 301 }, { body: 'no JSON' }]) {
      await pass(2 * MINUTE);
      const url = published();
      let tokens = await tokensFor(world(), url);
      host.answer(url, answer);
      await pass(5 * MINUTE + 1);
      await freshProcess(world());
      // One failure may be a mistake: nothing new begins, and no user is signed out.
      expect(await errorPage(world(), url)).toEqual(REFUSED);
      for (const minutes of [0, 1.1, 2]) {
        await pass(minutes * MINUTE);
        expect(await introspect(world(), tokens['access_token'])).toMatchObject({ active: true });
        const { body } = await refresh(world(), url, tokens['refresh_token']);
        expect(body).toMatchObject({ refresh_token: expect.any(String) });
        tokens = body as Record<string, string>;
        await freshProcess(world());
      }
      // After it was published in between, it must be rejected twice again.
      host.publish(url);
      await pass(MINUTE + 1);
      expect((await open(world(), url)).status).toBe(200);
      host.answer(url, answer);
      await pass(5 * MINUTE + 1);
      expect(await introspect(world(), tokens['access_token'])).toMatchObject({ active: true });
      await pass(5 * MINUTE + 1);
      expect(await introspect(world(), tokens['access_token'])).toEqual({ active: false });
      expect((await refresh(world(), url, tokens['refresh_token'])).body['error']).toBe('invalid_client');
      expect(await errorPage(world(), url)).toEqual(REFUSED);
      // The client stays removed, even if its host is offline from then on.
      host.fail(url);
      await pass(MINUTE + 1);
      expect(await introspect(world(), tokens['access_token'])).toEqual({ active: false });
      const revoked = await post(world(), '/oauth/revoke', {
        client_id: url,
        token: tokens['refresh_token'] ?? '',
      });
      expect(revoked.status).toBe(200);
      // Published again, it is a client again, and revoked tokens stay revoked.
      host.publish(url);
      await pass(MINUTE + 1);
      expect((await open(world(), url)).status).toBe(200);
      expect((await refresh(world(), url, tokens['refresh_token'])).body['error']).toBe('invalid_grant');
    }
  });

  it('MC-28: nor is anybody sent to an old post_logout_redirect_uri when its document is no longer good', async () => {
    await pass(2 * MINUTE);
    const out = 'https://docs.example/out';
    const url = published({ post_logout_redirect_uris: [out] });
    await tokensFor(world(), url);
    host.fail(url);
    const query = new URLSearchParams({ client_id: url, post_logout_redirect_uri: out }).toString();
    const signOut = async () =>
      (await newBrowser(world()).open(`${world().issuer}/oauth/logout?${query}`)).url;
    await pass(DAY);
    expect(await signOut()).toBe(out);
    // Without a redirect URI the answer is a page, which needs no request to its host either.
    const nobody = await newBrowser(world()).open(`${world().issuer}/oauth/logout?client_id=${url}`);
    expect([nobody.status, host.timesAsked(url)]).toEqual([200, 1]);
    await pass(6 * MINUTE);
    expect(await signOut()).not.toBe(out);
  });

  it('what a document no longer has ends with the old one: an address, a grant, a scope', async () => {
    await pass(2 * MINUTE);
    const url = published();
    const scope = 'reports.read reports.write';
    const browser = newBrowser(world());
    const page = await browser.open(authorizeUrl(world(), url));
    const tokens = await tokensFor(world(), url, { scope });
    host.publish(url, { redirect_uris: ['https://docs.example/new'], scope: 'reports.read' });
    await pass(5 * MINUTE + 1);
    const left = await finishPages(browser, page, 'alice');
    expect([left.status, left.url.startsWith(world().issuer)]).toEqual([400, true]);
    expect(await introspect(world(), tokens['access_token'])).toMatchObject({ scope: 'reports.read' });
    const { body } = await refresh(world(), url, tokens['refresh_token']);
    expect(body['scope']).toBe('reports.read');
    host.publish(url, { grant_types: ['authorization_code'] });
    await pass(5 * MINUTE + 1);
    expect((await refresh(world(), url, String(body['refresh_token']))).body['error']).toBe(
      'unauthorized_client',
    );
  });

  it('a code and an open sign-in are kept where the document can’t be had', async () => {
    await pass(2 * MINUTE);
    const url = published();
    const browser = newBrowser(world());
    const page = await browser.open(authorizeUrl(world(), url));
    host.fail(url);
    await pass(5 * MINUTE + 1);
    const code = new URL((await finishPages(browser, page, 'alice')).url).searchParams.get('code') ?? '';
    expect((await redeem(world(), url, code)).status).toBe(200);
  });
});

describe('how many documents are fetched', () => {
  standingClock();
  const turns = createTurns();
  const hosts = [
    'docs.example',
    'docs.example/named.json',
    'a.example',
    'b.example',
    'c.example',
    'd.example',
  ];
  const config = {
    ...CONFIG,
    client_documents: { hosts, scope: SCOPE },
    trusted_proxies: ['127.0.0.1'],
  };
  const world = useWorld({ config, outgoing: host, rotationTimer: turns.timer });
  async function nextMinute(minutes = 1): Promise<void> {
    moveClock(minutes * MINUTE + 1);
    await turns.turn();
  }

  /** Opens `count` unknown documents; returns the results, and the number of requests to their host. */
  async function openUnknown(
    count: number,
    urlOf: (one: number) => string,
    addressOf: (one: number) => string,
  ) {
    const before = host.asked.length;
    const statuses: number[] = [];
    for (let one = 0; one < count; one += 1) {
      const url = authorizeUrl(world(), urlOf(one));
      const browser = newBrowser(world());
      const page = await browser.open(url, { headers: { 'x-forwarded-for': addressOf(one) } });
      expect([page.status, page.headers.has('retry-after')]).toEqual([page.status, page.status !== 400]);
      statuses.push(page.status);
    }
    const times = (status: number) => statuses.filter((one) => one === status).length;
    return { asked: host.asked.length - before, [400]: times(400), [429]: times(429), [503]: times(503) };
  }
  const missing = (name: string) => (one: number) => {
    const url = `https://${name}/missing/${one}`;
    host.answer(url, { status: 404 });
    return url;
  };
  let networks = 0;
  /** Returns addresses, each in a new network. */
  function addresses(): string {
    networks += 1;
    return `198.${18 + (networks >> 8)}.${networks & 255}.7`;
  }

  const missingAnywhere = (one: number) => missing(`${'abcd'[one % 4] ?? ''}.example`)(one);
  const statusFor = async (url: string, browser = newBrowser(world())) =>
    (await browser.open(authorizeUrl(world(), url))).status;

  it('MC-30: five a minute for one caller, ten of one host, whatever is asked of others', async () => {
    await nextMinute();
    const one = await openUnknown(40, missingAnywhere, () => '203.0.113.9');
    expect(one).toEqual({ asked: 5, 400: 5, 429: 35, 503: 0 });
    const more = await openUnknown(40, missing('docs.example'), addresses);
    expect(more).toEqual({ asked: 10, 400: 10, 429: 30, 503: 0 });
    // This delays neither a pinned client nor another host that the file names.
    host.publish('https://docs.example/named.json');
    host.publish('https://a.example/first.json');
    expect(await statusFor('https://docs.example/named.json')).toBe(200);
    expect(await statusFor('https://a.example/first.json')).toBe(200);
    const limits = world().recorded.audit('limit_reached');
    expect(limits.map(({ limit }) => limit)).toEqual(
      expect.arrayContaining(['documents.address', 'documents.host']),
    );
  });

  it('six addresses that name documents which are not there hold up no first sign-in', async () => {
    await nextMinute();
    const six = (one: number) => `198.51.${100 + (one % 6)}.7`;
    const flood = await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        openUnknown(6, (one) => missing('docs.example')(6 * at + one), six),
      ),
    );
    expect(flood.reduce((sum, { 429: refused }) => sum + refused, 0)).toBeGreaterThanOrEqual(20);
    for (const _ of ['an app', 'and another one']) expect(await statusFor(published())).toBe(200);
    // They are stored for more than the minute.
    await nextMinute();
    expect((await openUnknown(30, (one) => missing('docs.example')(30 + one), six)).asked).toBe(2);
  });

  it('browsers that a user has signed in from have fetches of their own, also when signed out', async () => {
    await nextMinute();
    const browser = newBrowser(world());
    host.publish('https://docs.example/named.json');
    const first = await browser.open(authorizeUrl(world(), 'https://docs.example/named.json'));
    await finishPages(browser, first, 'alice');
    const device = browser.cookies.find(({ name }) => name.endsWith('device'));
    const [signedOut, forged] = [newBrowser(world()), newBrowser(world())];
    if (device === undefined) throw new Error('there is no cookie of the browser');
    signedOut.setCookie(device);
    forged.setCookie({
      ...device,
      value: (device.value.startsWith('A') ? 'B' : 'A') + device.value.slice(1),
    });
    await openUnknown(12, missing('docs.example'), addresses);
    expect([await statusFor(published()), await statusFor(published(), forged)]).toEqual([429, 429]);
    for (const one of [browser, signedOut]) {
      expect(await statusFor(published(), one)).toBe(200);
      const statuses: number[] = [];
      for (let at = 0; at < 12; at += 1)
        statuses.push(await statusFor(missing('docs.example')(100 + at), one));
      expect(statuses.filter((status) => status === 429)).toHaveLength(2);
      await nextMinute();
      await openUnknown(12, missing('docs.example'), addresses);
    }
  });

  it('a network may name a hundred in an hour that are not there', async () => {
    let asked = 0;
    for (let minute = 0; minute < 14; minute += 1) {
      await nextMinute();
      const unknown = (one: number) => missingAnywhere(minute * 12 + one);
      asked += (await openUnknown(12, unknown, (one) => `192.0.2.${one}`)).asked;
    }
    expect(asked).toBe(100);
    expect(world().recorded.audit('limit_reached').at(-1)).toMatchObject({ limit: 'documents.network' });
    await nextMinute(60);
  });

  it('MC-30: what one host answers is asked for ten times a minute, whatever it is', async () => {
    for (const answer of [{ status: 404 }, { status: 500 }, { body: '{}' }]) {
      await nextMinute();
      const url = published();
      host.answer(url, answer);
      const got = await openUnknown(30, () => url, addresses);
      expect([answer, got.asked]).toEqual([answer, 1]);
      host.publish(url);
      await nextMinute();
      expect((await open(world(), url)).status).toBe(200);
    }
  });

  it('a client with tokens is renewed, whatever strangers ask for', async () => {
    await nextMinute();
    const client = published();
    let { refresh_token: token } = await tokensFor(world(), client);
    await nextMinute(6);
    await openUnknown(60, missing('docs.example'), addresses);
    const renewed = await refresh(world(), client, token);
    token = String(renewed.body['refresh_token']);
    expect([renewed.status, host.timesAsked(client)]).toEqual([200, 2]);
    expect((await open(world(), client)).status).toBe(200);
    await world().reload(config);
    await nextMinute(6);
    await openUnknown(60, missing('docs.example'), addresses);
    expect((await open(world(), client)).status).toBe(200);
    expect(host.timesAsked(client)).toBe(3);
  });

  it('records each fetch, and no metric names the client', async () => {
    await nextMinute();
    const client = published();
    await tokensFor(world(), client);
    await nextMinute(6);
    host.answer(client, { body: { client_secret: 'a-secret-that-nobody-may-read' } });
    expect((await open(world(), client)).status).toBe(400);
    const records = world()
      .recorded.audit('client_document')
      .filter(({ client_id: id }) => id === client);
    expect(records).toMatchObject([
      { outcome: 'success', action: 'first' },
      { outcome: 'failure', action: 'renewal', reason: expect.any(String) },
    ]);
    expect(world().recorded.log.join('')).not.toContain('a-secret-that-nobody-may-read');
    const metrics = JSON.stringify(await world().recorded.telemetry.metrics.read());
    expect(metrics).not.toContain('docs.example');
  });
});
