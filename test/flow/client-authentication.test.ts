import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';
import { signIn } from '../world/app.ts';
import { introspect } from '../world/presented-tokens.ts';
import { type Answer, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { SECRETS, startWorld, type World, worldClients } from '../world/world.ts';

const MACHINE = { grant_type: 'client_credentials' };
const ENDPOINTS = [
  ['token', '/oauth/token', MACHINE],
  ['introspect', '/oauth/introspect', { token: 'unknown' }],
  ['revoke', '/oauth/revoke', { token: 'unknown' }],
] as const;

function expectRefused(answer: Answer, world: World): void {
  expect(answer.status).toBe(401);
  expect(answer.body).toEqual({
    error: 'invalid_client',
    error_description: 'client authentication failed',
  });
  expect(answer.headers.get('www-authenticate')).toMatch(`Basic realm="${world.issuer}"`);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}

describe.each(ENDPOINTS)('client authentication at the %s endpoint', (_name, path, form) => {
  const world = useWorld();
  const send = async (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    post(world(), path, { ...form, ...fields }, headers);

  it('Spec §5 client_secret_basic: takes client_id and client_secret in Authorization: Basic', async () => {
    expect((await send({}, { authorization: basic('svc') })).status).toBe(200);
  });

  it('Spec §5 client_secret_post: takes client_id and client_secret in the form', async () => {
    expect((await send({ client_id: 'svc', client_secret: SECRETS.svc })).status).toBe(200);
  });

  it('Spec §5 client_secret_basic, TK-05: refuses a wrong secret with 401 and a challenge', async () => {
    expectRefused(await send({}, { authorization: basic('svc', 'wrong') }), world());
    expectRefused(await send({}, { authorization: basic('svc', SECRETS.web) }), world());
    expectRefused(await send({}, { authorization: basic('svc', `${SECRETS.svc}x`) }), world());
  });

  it('Spec §5 client_secret_post: refuses a wrong secret with 401 and a challenge', async () => {
    expectRefused(await send({ client_id: 'svc', client_secret: 'wrong' }), world());
  });

  it('Spec §5 none: is not enough for a confidential client', async () => {
    expectRefused(await send({ client_id: 'svc' }), world());
    expectRefused(await send({ client_id: 'post' }), world());
  });

  it.each([
    ['Spec §5 none: a public client that sends a secret', 'spa'],
    ['TK-04: an unknown client, as with a wrong secret,', 'unknown'],
  ])('%s is refused', async (_what, client) => {
    expectRefused(await send({ client_id: client, client_secret: SECRETS.web }), world());
    const header = `Basic ${Buffer.from(`${client}:${SECRETS.web}`).toString('base64')}`;
    expectRefused(await send({}, { authorization: header }), world());
  });

  it('TK-01: refuses two methods at once, and two clients', async () => {
    const twice = await send(
      { client_id: 'svc', client_secret: SECRETS.svc },
      { authorization: basic('svc') },
    );
    expect([twice.status, twice.body['error']]).toEqual([400, 'invalid_request']);
    const two = await send({ client_id: 'web' }, { authorization: basic('svc') });
    expect([two.status, two.body['error']]).toEqual([400, 'invalid_request']);
  });

  const WRONG_HEADERS = [
    'Basic',
    'Basic !!!',
    'Basic c3Zj',
    'Digest username="svc"',
    'Negotiate x',
    'Bearer x',
  ];
  it.each(WRONG_HEADERS)('TK-06: refuses the Authorization header "%s"', async (header) => {
    const answer = await send({}, { authorization: header });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('a public client', () => {
  const world = useWorld();

  it('Spec §5 none: names itself and shows no secret', async () => {
    for (const [path, form] of [
      ['/oauth/introspect', { token: 'unknown' }],
      ['/oauth/revoke', { token: 'unknown' }],
    ] as const) {
      expect((await post(world(), path, { ...form, client_id: 'spa' })).status).toBe(200);
    }
    const answer = await post(world(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code: 'unknown',
      redirect_uri: 'https://spa.example/cb',
      code_verifier: 'a'.repeat(43),
    });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it.each([
    ['Basic', 'spa:', {}],
    ['basic', 'spa:', { client_id: 'spa' }],
    ['Basic', '%73pa:', {}],
  ])('may send %s with an empty secret: %s %j', async (scheme, credentials, named) => {
    const authorization = `${scheme} ${btoa(credentials)}`;
    const { tokens } = await signIn(world(), { client: 'spa' });
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...named };
    const { status, body } = await post(world(), '/oauth/token', form, { authorization });
    expect(status).toBe(200);
    const token = String(body['access_token']);
    const asked = await post(world(), '/oauth/introspect', { token, ...named }, { authorization });
    expect(asked.body).toMatchObject({ active: true, client_id: 'spa' });
    expect((await post(world(), '/oauth/revoke', { token, ...named }, { authorization })).status).toBe(200);
    expect(await introspect(world(), token)).toEqual({ active: false });
  });

  it.each([
    ['web:', {}, 400],
    ['nobody:', {}, 400],
    ['spa:', { client_id: 'web' }, 400],
    ['spa:', { client_secret: 'x' }, 400],
    ['spa:x', {}, 401],
    [':', { client_id: 'spa' }, 400],
  ])('is no reason to take Basic %j with %j from anybody else', async (credentials, form, status) => {
    const headers = { authorization: `Basic ${btoa(credentials)}` };
    const answer = await post(world(), '/oauth/introspect', { token: 'unknown', ...form }, headers);
    expect(answer.status).toBe(status);
    expect(answer.body).not.toHaveProperty('active');
  });
});

/** A time as the configuration file writes it. */
function at(seconds: number): string {
  return `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;
}

describe('secrets that come and go', () => {
  standingClock();
  const hashed = 'hashed-secret-Ar8sQ3cE0pK6oG2dI4bH7xI1kN9gM5f';
  let world: World;
  let start: number;

  beforeAll(async () => {
    start = Date.now();
    const digest = createHash('sha256').update(hashed).digest('hex');
    const rotating = {
      client_id: 'rotating',
      grant_types: ['client_credentials'],
      scope: 'reports.read',
      client_secrets: [
        { name: 'old', value: 'env:TEST_WEB', expires_at: at(4 * MINUTE) },
        { name: 'new', value: 'env:TEST_WEB2', not_before: at(2 * MINUTE) },
        { name: 'by hash', hash: `sha256:${digest}`, expires_at: at(8 * MINUTE) },
      ],
    };
    world = await startWorld({ config: { clients: [...worldClients(), rotating] } });
  });
  afterAll(() => world.stop());

  async function statusOf(secret: string): Promise<number> {
    const authorization = `Basic ${Buffer.from(`rotating:${secret}`).toString('base64')}`;
    return (await post(world, '/oauth/token', MACHINE, { authorization })).status;
  }
  const moveTo = (seconds: number) => moveClock(seconds - (Date.now() - start) / 1000);

  it.each([
    ['at first the old one', 1, [200, 401, 200]],
    ['from not_before on both', 2 * MINUTE + 2, [200, 200, 200]],
    ['from expires_at on the new one alone', 4 * MINUTE + 2, [401, 200, 200]],
    ['and one given as a hash as long as it lasts', 8 * MINUTE + 2, [401, 200, 401]],
  ])('Spec §5 the secret is rotated: takes %s', async (_case, seconds, statuses) => {
    moveTo(seconds);
    expect([await statusOf(SECRETS.web), await statusOf(SECRETS.web2), await statusOf(hashed)]).toEqual(
      statuses,
    );
  });

  it('does not take the hash itself for the secret', async () => {
    const digest = createHash('sha256').update(hashed);
    expect(await statusOf(`sha256:${digest.copy().digest('hex')}`)).toBe(401);
    expect(await statusOf(digest.digest('base64url'))).toBe(401);
  });
});
