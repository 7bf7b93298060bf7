// Limits as callers see them: who is refused, when, and above all who is not. Counting over several processes is
// in limits-over-processes.test.ts, the arithmetic in test/unit/limits/.
import { describe, expect, it } from 'vitest';
import { authorizationPath } from '../world/authorization-request.ts';
import { newBrowser, titleOf } from '../world/person.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { PASSWORDS, SECRETS, worldClients } from '../world/world.ts';
import { moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';

const behindProxy = { trusted_proxies: ['127.0.0.1'] };
const from = (address: string) => ({ 'x-forwarded-for': address });
const MACHINE = { grant_type: 'client_credentials' };
const AUTHORIZE = authorizationPath();

async function statusesOf(
  count: number,
  send: (index: number) => Promise<{ status: number }>,
): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, async (_none, index) => (await send(index)).status));
}

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((one) => one === status).length;

describe('guessing a secret', () => {
  const world = useWorld({ config: behindProxy });
  const send = async (address: string, secret: string, path = '/oauth/token') =>
    post(
      world(),
      path,
      path === '/oauth/token' ? { grant_type: 'refresh_token', refresh_token: 'x' } : { token: 'x' },
      { ...from(address), authorization: basic('web', secret) },
    );

  it('HT-14: a flood with the name of a client takes nothing from the client', async () => {
    const flood = statusesOf(300, async (index) => send(`203.0.113.${index % 100}`, `wrong-${index}`));
    const own = await statusesOf(50, async () => send('192.0.2.50', SECRETS.web));
    await flood;
    expect(new Set(own)).toEqual(new Set([400]));
    expect((await send('192.0.2.51', SECRETS.web)).body['error']).toBe('invalid_grant');
  });

  it('HT-06: a new leftmost X-Forwarded-For for each guess makes no new address', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      statuses.push((await send(`10.9.8.${count}, 198.51.100.66`, 'wrong')).status);
    }
    expect(statuses.slice(0, 20)).toEqual(Array<number>(20).fill(401));
    expect(statuses.slice(20)).toEqual(Array<number>(20).fill(429));
  });

  it.each([
    ['one IPv6 /64', (index: number) => `2001:db8:1:2:${index.toString(16)}::${index}`],
    ['mapped and plain IPv4', (index: number) => (index % 2 === 0 ? '192.0.2.77' : '::ffff:192.0.2.77')],
    ['ports', (index: number) => `192.0.2.78:${1000 + index}`],
  ])('HT-07: %s are one address', async (_name, addressOf) => {
    const statuses: number[] = [];
    for (let index = 0; index < 24; index += 1) statuses.push((await send(addressOf(index), 'wrong')).status);
    expect(countOf(statuses, 401)).toBe(20);
  });
});

describe('ordinary apps under the limits as shipped', () => {
  const world = useWorld({ config: behindProxy });

  it('a service that starts with a hundred requests at once gets a hundred tokens', async () => {
    const statuses = await statusesOf(100, async () =>
      post(world(), '/oauth/token', MACHINE, { ...from('192.0.2.1'), authorization: basic('svc') }),
    );
    expect(countOf(statuses, 200)).toBe(100);
  });

  it('an office of a hundred users signs in from one address', async () => {
    const statuses = await statusesOf(100, async () => get(world(), AUTHORIZE, from('192.0.2.3')));
    expect(countOf(statuses, 303)).toBe(100);
  });
});

describe('a public client', () => {
  const world = useWorld({
    config: {
      ...behindProxy,
      rate_limits: { revocation: '2/1m' },
      clients: worldClients({ spa: { rate_limits: { token: '3/1m' } } }),
    },
  });
  const send = async (path: string, address: string) => {
    const form: Record<string, string> =
      path === '/oauth/token' ? { grant_type: 'refresh_token', refresh_token: 'x' } : { token: 'x' };
    return post(world(), path, { ...form, client_id: 'spa' }, from(address));
  };

  it.each([
    ['/oauth/token', 3],
    ['/oauth/revoke', 2],
  ])('has its own limit at %s, for each address', async (path, limit) => {
    const statuses: number[] = [];
    for (let count = 0; count < limit + 2; count += 1) statuses.push((await send(path, '192.0.2.1')).status);
    expect(statuses.slice(0, limit)).not.toContain(429);
    expect(statuses.slice(limit)).toEqual([429, 429]);
    expect((await send(path, '192.0.2.2')).status).not.toBe(429);
  });

  it('is not limited by others that say they are it', async () => {
    await statusesOf(60, async (index) => send('/oauth/token', `203.0.113.${index % 20}`));
    expect((await send('/oauth/token', '192.0.2.3')).status).toBe(400);
  });
});

describe('signing in', () => {
  const world = useWorld({ config: behindProxy });
  standingClock();

  async function attempt(username: string, password: string, address: string) {
    const browser = newBrowser(world());
    const page = await browser.open(`${world().issuer}${AUTHORIZE}`, { headers: from(address) });
    return browser.submit(page, '/login', { username, password }, from(address));
  }

  it('HT-12, LG-25: ten wrong passwords stop the address for that account, and alice signs in from elsewhere', async () => {
    for (let count = 0; count < 10; count += 1) {
      const name = count % 2 === 0 ? 'alice' : ' ALICE';
      expect((await attempt(name, 'wrong', '198.51.100.1')).status).toBe(401);
    }
    const limited = await attempt('alice', PASSWORDS.alice, '198.51.100.1');
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(limited.text).toContain('Too many attempts.');
    const elsewhere = await attempt('alice', PASSWORDS.alice, '198.51.100.2');
    expect([elsewhere.status, titleOf(elsewhere)]).toEqual([200, 'Web app wants access to your account']);
    moveClock(Number(limited.headers.get('retry-after')));
    expect((await attempt('alice', PASSWORDS.alice, '198.51.100.1')).status).toBe(200);
  });
});

describe('AZ-28: a flood of the pages behind authorization requests', () => {
  const limited = { authorization: '20/1m' };
  const world = useWorld({ config: { ...behindProxy, rate_limits: limited } });
  standingClock();

  it('meets 429 at ten times the limit of an address', async () => {
    const page = `/interaction/${'x'.repeat(43)}`;
    const statuses = await statusesOf(250, async () => get(world(), page, from('192.0.2.200')));
    expect(countOf(statuses, 400)).toBeLessThanOrEqual(201);
    expect(countOf(statuses, 429)).toBeGreaterThan(0);
  });
});

describe('the log', () => {
  const world = useWorld({ config: behindProxy });

  it('says that a limit is reached once, however often it is', async () => {
    await statusesOf(100, async () =>
      post(world(), '/oauth/token', MACHINE, { authorization: basic('svc', 'wrong') }),
    );
    expect(world().recorded.log.filter((line) => line.includes('limit reached'))).toHaveLength(1);
  });

  it('IN-07: is one line of JSON for each event, whatever was sent, and shows no value that came in', async () => {
    const evil = 'x\u2028\u202e\r\n{"level":"info","msg":"forged"}\u001b[31m';
    const encoded = encodeURIComponent(evil);
    const headers = { 'user-agent': 'forged-agent', referer: 'https://forged.example/', accept: 'text/html' };
    await get(
      world(),
      `/oauth/authorize?client_id=${encoded}&redirect_uri=${encoded}&login_hint=${encoded}`,
      headers,
    );
    await get(world(), `/nothing/${encoded}`, headers);
    await post(world(), '/oauth/token', { ...MACHINE, client_id: evil, client_secret: evil }, headers);
    await post(
      world(),
      '/oauth/token',
      { ...MACHINE, scope: evil },
      { ...headers, authorization: basic('rs1') },
    );
    const browser = newBrowser(world());
    const page = await browser.open(`${world().issuer}${AUTHORIZE}`);
    await browser.submit(page, '/login', { username: evil, password: evil });
    const { log, auditLines } = world().recorded;
    const lines = [...log, ...auditLines];
    for (const line of lines) {
      expect(line.trimEnd()).not.toMatch(/[\r\n\p{Cc}\u2028\u202e]/u);
      const event = JSON.parse(line) as Record<string, unknown>;
      expect(event['msg']).not.toBe('forged');
      expect(line.length).toBeLessThan(1000);
    }
    expect(lines.join('')).not.toMatch(/forged-agent|forged\.example|"forged"/);
    for (const secret of [SECRETS.rs1, ...Object.values(PASSWORDS)])
      expect(lines.join('')).not.toContain(secret);
  });
});
