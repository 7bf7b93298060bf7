import { describe, expect, it } from 'vitest';
import { Browser } from '../world/browser.ts';
import { useWorld } from '../world/each-store.ts';
import { AUTHORIZATION_REQUEST, basic, clientCredentials, finishPages, get, post } from '../world/flows.ts';
import { CALLBACK, worldClients } from '../world/world.ts';

describe('features.client_credentials: false', () => {
  const people = worldClients().filter(({ grant_types: grants }) => !grants.includes('client_credentials'));
  const world = useWorld({
    config: {
      features: { client_credentials: false },
      resources: [{ resource: 'urn:example:api', scopes: ['reports.read'] }],
      clients: people,
    },
  });

  it('takes the grant out of discovery', async () => {
    const { body } = await get(world(), '/.well-known/openid-configuration');
    expect(body['grant_types_supported']).toEqual(['authorization_code', 'refresh_token']);
  });

  it('and out of the token endpoint', async () => {
    const form = { grant_type: 'client_credentials' };
    const answer = await post(world(), '/oauth/token', form, { authorization: basic('web') });
    expect([answer.status, answer.body['error']]).toEqual([400, 'unsupported_grant_type']);
  });
});

describe('features.pkce: per_client', () => {
  const world = useWorld({
    config: {
      features: { pkce: 'per_client' },
      clients: worldClients().map((client) =>
        client.client_id === 'web' ? { ...client, require_pkce: false } : client,
      ),
    },
  });
  const { code_challenge: _challenge, code_challenge_method: _method, ...plain } = AUTHORIZATION_REQUEST;

  async function codeOf(parameters: Record<string, string>): Promise<string> {
    const browser = new Browser(world().issuer);
    const url = `${world().issuer}/oauth/authorize?${new URLSearchParams(parameters).toString()}`;
    const page = await finishPages(browser, await browser.open(url), 'alice');
    return new URL(page.url).searchParams.get('code') ?? '';
  }

  it('lets off the confidential client that says require_pkce: false', async () => {
    const form = { grant_type: 'authorization_code', code: await codeOf(plain), redirect_uri: CALLBACK };
    const answer = await post(world(), '/oauth/token', form, { authorization: basic('web') });
    expect(answer.status).toBe(200);
  });

  it('checks the verifier all the same where a challenge was sent', async () => {
    const form = {
      grant_type: 'authorization_code',
      code: await codeOf({ ...AUTHORIZATION_REQUEST }),
      redirect_uri: CALLBACK,
    };
    const answer = await post(world(), '/oauth/token', form, { authorization: basic('web') });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('lets off no other', async () => {
    for (const [client, uri] of [
      ['spa', 'https://spa.example/cb'],
      ['web2', 'https://app2.example/cb'],
    ] as const) {
      const query = new URLSearchParams({ ...plain, client_id: client, redirect_uri: uri }).toString();
      const answer = await get(world(), `/oauth/authorize?${query}`);
      const location = new URL(answer.headers.get('location') ?? '');
      expect(`${location.origin}${location.pathname}`).toBe(uri);
      expect(location.searchParams.get('error')).toBe('invalid_request');
    }
  });

  it('still gives machine tokens', async () => {
    expect((await clientCredentials(world())).status).toBe(200);
  });
});
