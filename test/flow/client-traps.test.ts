// Common mistakes of real clients (docs/apps/README.md, "Traps"): each has a decision, and an answer that says what is wrong.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { machineToken, signIn } from '../world/app.ts';
import { DEFAULT_SCOPE } from '../world/authorization-request.ts';
import { revoke, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { API, SPA_ORIGIN, worldClients } from '../world/world.ts';

const MACHINE = { grant_type: 'client_credentials', scope: 'reports.read' };
const ODD_SECRET = 'odd+fixture/Qm3v%41=T8xZ:5kN1&rB7y~L9wC2 sD6fH4jP0a';
const NOT_ENCODED = 'not%encoded-fixture-Qm3vT8xZ5kN1rB7yL9wC2sD6fH4j';
const API_SECRET = 'api-fixture-Qm3vT8xZ5kN1rB7yL9wC2sD6fH4jP0a';
const HOME = 'https://app.example';

const raw = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

describe('an app that asks for offline_access without prompt=consent', () => {
  const world = useWorld();

  it('AZ-25: sees in the answer’s scope that there is no refresh token, and the operator reads why, once', async () => {
    const asked = { scope: DEFAULT_SCOPE, parameters: { prompt: 'login' } };
    const { tokens } = await signIn(world(), asked);
    await signIn(world(), asked);
    expect(tokens.refresh_token).toBeUndefined();
    expect(tokens.scope?.split(' ')).not.toContain('offline_access');
    const lines = world().recorded.log.filter((line) => line.includes('prompt=consent'));
    expect(lines.map((line) => (JSON.parse(line) as { clientId: string }).clientId)).toEqual(['web']);
  });
});

describe('a secret with reserved characters in Basic', () => {
  const odd = { grant_types: ['client_credentials'], scope: 'reports.read' };
  const world = useWorld({
    config: {
      clients: [
        ...worldClients(),
        { ...odd, client_id: 'odd', client_secret: ODD_SECRET },
        { ...odd, client_id: 'percent', client_secret: NOT_ENCODED },
      ],
    },
  });

  it('is wrong as it stands: RFC 6749 §2.3.1 wants it form-encoded, and only one reading is compared', async () => {
    const answer = await post(world(), '/oauth/token', MACHINE, { authorization: raw('odd', ODD_SECRET) });
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_client']);
    const encoded = raw('odd', encodeURIComponent(ODD_SECRET));
    expect((await post(world(), '/oauth/token', MACHINE, { authorization: encoded })).status).toBe(200);
  });

  it('says so where it can be nothing else', async () => {
    const answer = await post(world(), '/oauth/token', MACHINE, {
      authorization: raw('percent', NOT_ENCODED),
    });
    expect(answer.body['error_description']).toContain('not properly encoded');
  });
});

describe('post_logout_redirect_uri', () => {
  const [web, ...others] = worldClients();
  const world = useWorld({ config: { clients: [{ ...web, post_logout_redirect_uris: [HOME] }, ...others] } });

  it.each([
    ['as it is registered', HOME, 200],
    ['with one slash more', `${HOME}/`, 400],
  ])('%s: %s is answered with %i', async (_case, uri, status) => {
    const { browser, tokens } = await signIn(world(), { scope: 'openid' });
    const query = new URLSearchParams({
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: uri,
    });
    const page = await browser.open(`${world().issuer}/oauth/logout?${query.toString()}`);
    expect(page.status).toBe(status);
    if (status === 400) expect(page.text).toContain('post_logout_redirect_uri');
  });
});

describe('the answer of a revocation', () => {
  const world = useWorld();

  it.each([['a live'], ['an unknown']])('is empty, without a content type (for %s token)', async (which) => {
    const token = which === 'a live' ? await machineToken(world(), 'reports.read') : 'never-issued';
    const answer = await revoke(world(), token, 'svc');
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.get('content-type')).toBeNull();
  });

  it('can be read by a single-page app', async () => {
    const form = { token: 'never-issued', client_id: 'spa' };
    const answer = await post(world(), '/oauth/revoke', form, { origin: SPA_ORIGIN });
    expect(answer.headers.get('access-control-allow-origin')).toBe(SPA_ORIGIN);
    expect(answer.headers.get('content-type')).toBeNull();
  });

  it('keeps its type where it says what is wrong', async () => {
    const answer = await post(world(), '/oauth/revoke', {}, { authorization: basic('svc') });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      400,
      'application/json; charset=utf-8',
    ]);
  });
});

describe('an API that only introspects', () => {
  const api = { client_id: 'api-only', grant_types: [], scope: '', client_secret: API_SECRET };
  const world = useWorld({
    config: {
      clients: [...worldClients(), api],
      resources: [
        { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['api-only'] },
        { resource: 'urn:example:other', scopes: ['other.read'] },
      ],
    },
  });

  it('needs neither grants nor scopes, and gets no token', async () => {
    const token = await machineToken(world(), 'reports.read');
    const authorization = raw('api-only', API_SECRET);
    const answer = await post(world(), '/oauth/introspect', { token }, { authorization });
    expect([answer.status, answer.body['active']]).toEqual([200, true]);
    const refused = await post(world(), '/oauth/token', MACHINE, { authorization });
    expect(refused.status).toBe(400);
    expect(refused.body).not.toHaveProperty('access_token');
  });
});

describe('name and email', () => {
  const world = useWorld();

  it('are in the ID token where the access token is for an API alone, and can’t be shown at userinfo', async () => {
    const { tokens } = await signIn(world(), {
      scope: 'openid email profile reports.read',
      parameters: { resource: API },
    });
    expect((await userinfo(world(), tokens.access_token)).status).toBe(403);
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ name: 'Alice Example' });
  });
});
