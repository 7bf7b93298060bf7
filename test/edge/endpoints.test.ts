// Each row of the table of endpoints, over HTTP: these tests cover a new endpoint automatically.
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/config/endpoint-rows.ts';
import { ENDPOINT_TABLE } from '../../src/config/endpoints.ts';
import { useWorld } from '../world/each-store.ts';
import { raw, type RawAnswer } from '../world/raw.ts';
import { ALL_ON, MAIL_ON } from '../world/switches.ts';
import { type OpenWorld, SPA_ORIGIN } from '../world/world.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Limits that a few requests reach; pages have ten times as many. */
const LIMITS = {
  token: '1/1m',
  introspection: '1/1m',
  revocation: '1/1m',
  userinfo: '1/1m',
  authorization: '1/1m',
  logout: '1/1m',
};

/** Switches on every endpoint. */
const EVERYTHING = {
  trusted_proxies: ['127.0.0.1'],
  account: true,
  sign_in: {},
  ...MAIL_ON,
  features: ALL_ON,
};

const EXAMPLES: Readonly<Record<string, string>> = {
  ':uid': 'u'.repeat(21),
  ':link': 'l'.repeat(43),
  ':purpose': 'invite',
  ':step': 'login',
  ':file': 'none.css',
  ':change': 'add',
};
const targetOf = ({ path }: Endpoint) => path.replaceAll(/:\w+/g, (part) => EXAMPLES[part] ?? part);
const methodOf = ({ methods }: Endpoint) => methods[0] ?? 'GET';
const exact = ENDPOINT_TABLE.filter(({ path }) => !path.includes(':'));
const named = (rows: readonly Endpoint[]) => rows.map((row) => [row.path, row] as const);

/** Each row has its own address, so that no row uses up the limits of another. */
function askEndpoint(world: OpenWorld, row: Endpoint, method: string, headers = {}): Promise<RawAnswer> {
  const from = { 'x-forwarded-for': `10.0.0.${ENDPOINT_TABLE.indexOf(row) + 1}`, ...headers };
  return raw(world.base, { method, target: targetOf(row), headers: from });
}

describe('the table of endpoints', () => {
  const world = useWorld({ config: EVERYTHING });

  it.each(named(ENDPOINT_TABLE))('serves %s with its methods alone', async (_path, row) => {
    const methods: readonly string[] = row.isScriptable ? [...row.methods, 'OPTIONS'] : row.methods;
    for (const method of METHODS) {
      const { status, headers } = await askEndpoint(world(), row, method);
      expect(status === 405, method).toBe(!methods.includes(method));
      if (status === 405) expect(headers['allow']).toBe(methods.join(', '));
    }
  });

  it.each(named(exact))('has somebody answer at %s, and metrics know its name', async (_path, row) => {
    for (const method of row.methods) {
      expect((await askEndpoint(world(), row, method)).status, method).not.toBe(404);
    }
    const metrics = JSON.stringify(await world().recorded.telemetry.metrics.read());
    expect(metrics).toContain(`"route":"${row.name}"`);
  });

  it.each(named(ENDPOINT_TABLE))('lets scripts call %s or not, errors included', async (_path, row) => {
    const origin = { origin: SPA_ORIGIN };
    const answers = [
      await askEndpoint(world(), row, 'OPTIONS', { ...origin, 'access-control-request-method': 'POST' }),
      await askEndpoint(world(), row, methodOf(row), origin),
    ];
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(row.isScriptable ? SPA_ORIGIN : undefined);
      expect(headers['x-request-id'] !== undefined).toBe(row.isScriptable);
    }
  });

  it.each(named(exact))('refuses in the caller’s language at %s', async (_path, row) => {
    const { headers } = await askEndpoint(world(), row, 'PUT', { accept: 'text/html' });
    expect(headers['content-type']).toMatch(row.caller === 'person' ? /^text\/html/ : /^application\/json/);
  });

  const OF_CLIENTS = named(ENDPOINT_TABLE.filter(({ caller }) => caller === 'client'));
  it.each(OF_CLIENTS)('IS-03: asks for credentials at %s, and counts wrong ones', async (_path, row) => {
    for (const authorization of [undefined, `Basic ${btoa('svc:wrong')}`]) {
      const answer = await askEndpoint(world(), row, 'POST', {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization && { authorization }),
      });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
      expect(JSON.parse(answer.text)).toMatchObject({ error: 'invalid_client' });
    }
  });
});

describe('the limits of the table of endpoints', () => {
  const world = useWorld({ config: { trusted_proxies: ['127.0.0.1'], rate_limits: LIMITS } });

  it.each(named(ENDPOINT_TABLE))('HT-12: hold at %s, or there are none', async (_path, row) => {
    const statuses: number[] = [];
    for (let count = 0; count < 13; count += 1) {
      const { status, headers } = await askEndpoint(world(), row, methodOf(row));
      statuses.push(status);
      if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expect(statuses.includes(429)).toBe(row.limit !== undefined);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
  });
});
