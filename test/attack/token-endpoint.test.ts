// The token endpoint: client authentication, what each grant may issue, and what an answer may reveal.
import { describe, expect, it } from 'vitest';
import { type Answer, post } from '../world/requests.ts';
import { basic, requestToken } from '../world/token-endpoint.ts';
import { API, GENEROUS, OTHER_API, SECRETS, startWorld } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const world = useWorld({ config: GENEROUS });

const MACHINE = { grant_type: 'client_credentials' };

function expectRefusal(answer: Answer, status: number, error: string, what = ''): void {
  expect([answer.status, answer.body['error']], `${what} ${answer.text}`).toEqual([status, error]);
  for (const member of ['access_token', 'refresh_token', 'id_token']) {
    expect(answer.body, what).not.toHaveProperty(member);
  }
  // RFC 6749 §5.1, §5.2: no answer of this endpoint may be cached.
  expect(answer.headers.get('cache-control'), what).toBe('no-store');
  expect(answer.headers.get('pragma'), what).toBe('no-cache');
  expect(answer.headers.get('content-type'), what).toBe('application/json; charset=utf-8');
}

describe('client authentication', () => {
  it('TK-06: almost the right secret is the wrong one', async () => {
    const right = SECRETS.svc;
    for (const secret of [
      right.slice(0, -1),
      `${right}x`,
      `${right} `,
      ` ${right}`,
      right.toUpperCase(),
      right.toLowerCase(),
      SECRETS.web,
      'kept-elsewhere', // the placeholder that the engine gets instead
      '%00',
      '[object Object]',
    ]) {
      const answer = await post(world(), '/oauth/token', MACHINE, { authorization: basic('svc', secret) });
      expectRefusal(answer, 401, 'invalid_client', secret);
      const form = { grant_type: 'authorization_code', code: 'x', client_id: 'post', client_secret: secret };
      expectRefusal(await post(world(), '/oauth/token', form), 401, 'invalid_client', secret);
    }
  });

  it('TK-12: a secret with characters that forms encode works in both methods', async () => {
    const secret = 'x7:%+&=/?#[]@!$\'()*,;~ "<>\\^`{|}q9Kd2';
    const client = (clientId: string, method: string) => ({
      client_id: clientId,
      client_secret: secret,
      token_endpoint_auth_method: method,
      grant_types: ['client_credentials'],
      scope: 'reports.read',
    });
    const odd = await startWorld({
      config: {
        clients: [client('a', 'client_secret_basic'), client('b', 'client_secret_post')],
        resources: [{ resource: API, scopes: ['reports.read'] }],
      },
    });
    const encoded = new URLSearchParams({ s: secret }).toString().slice(2);
    for (const half of [encoded, encodeURIComponent(secret)]) {
      const header = { authorization: `Basic ${Buffer.from(`a:${half}`).toString('base64')}` };
      expect((await post(odd, '/oauth/token', MACHINE, header)).status, half).toBe(200);
    }
    const form = { ...MACHINE, client_id: 'b', client_secret: secret };
    expect((await post(odd, '/oauth/token', form)).status).toBe(200);
    await odd.stop();
  });
});

describe('grants', () => {
  it('TK-14: a public client gets no machine token', async () => {
    for (const client of ['spa', 'native'] as const) {
      const answer = await requestToken(world(), client, { ...MACHINE, scope: 'reports.read' });
      expectRefusal(answer, 400, 'unauthorized_client', client);
    }
  });

  it('TK-16: a grant that does not exist here is refused, however it is spelled', async () => {
    for (const grantType of [
      'password',
      'implicit',
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'urn:openid:params:grant-type:ciba',
      'urn:ietf:params:oauth:grant-type:pre-authorized_code',
      'CLIENT_CREDENTIALS',
      'client_credentials ',
      '__proto__',
      'toString',
    ]) {
      const form = { grant_type: grantType, username: 'alice', password: 'alice-password-1' };
      const answer = await requestToken(world(), 'svc', form);
      expectRefusal(answer, 400, 'unsupported_grant_type', grantType);
    }
    for (const form of [{ scope: 'reports.read' }, { grant_type: '' }]) {
      expectRefusal(await requestToken(world(), 'svc', form), 400, 'invalid_request');
    }
  });

  it('TK-17: an unknown scope among known ones is refused, not dropped', async () => {
    for (const [scope, refused] of [
      ['reports.read nope', 'nope'],
      ['nope', 'nope'],
      ['openid', 'openid'],
      ['reports.read email', 'email'],
      ['reports.read offline_access', 'offline_access'],
      ['Reports.Read', 'Reports.Read'],
      ['*', '*'],
      ['reports.read\tother.read', undefined],
    ] as const) {
      const answer = await requestToken(world(), 'svc', { ...MACHINE, scope });
      expectRefusal(answer, 400, 'invalid_scope', scope);
      if (refused !== undefined) expect(answer.body['scope']).toBe(refused);
      const asPage = { authorization: basic('svc'), accept: 'text/html' };
      expect((await post(world(), '/oauth/token', { ...MACHINE, scope }, asPage)).body).toEqual(answer.body);
    }
    expectRefusal(
      await requestToken(world(), 'rs1', { ...MACHINE, scope: 'reports.read reports.write' }),
      400,
      'invalid_scope',
    );
  });

  it('TK-18: a resource that does not exist, or a scope of another one, is refused', async () => {
    for (const resource of ['urn:nobody', 'nonsense', `${API}#x`]) {
      const unknown = { ...MACHINE, resource, scope: 'reports.read' };
      expectRefusal(await requestToken(world(), 'svc', unknown), 400, 'invalid_target', resource);
    }
    const foreign = { ...MACHINE, resource: API, scope: 'other.read' };
    expectRefusal(await requestToken(world(), 'svc', foreign), 400, 'invalid_scope');
    const form = `grant_type=client_credentials&resource=${encodeURIComponent(API)}&resource=${encodeURIComponent(OTHER_API)}`;
    const answer = await post(world(), '/oauth/token', form, { authorization: basic('svc') });
    expectRefusal(answer, 400, 'invalid_target');
  });
});

it('TK-29: credentials and a grant in the query are not read', async () => {
  const query = new URLSearchParams({
    ...MACHINE,
    client_id: 'post',
    client_secret: SECRETS.post,
  }).toString();
  expectRefusal(await post(world(), `/oauth/token?${query}`, ''), 401, 'invalid_client');
});
