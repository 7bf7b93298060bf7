// /metrics on the management port, as Prometheus reads it.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as oidc from 'openid-client';
import { parse } from 'yaml';
import { createMetrics, toText } from '../../src/observability/metrics.ts';
import { useWorld } from '../world/each-store.ts';
import { machineToken, signIn } from '../world/app.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { API, PASSWORDS, SECRETS, worldClients } from '../world/world.ts';

const SOON = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');
/** The maximum number of secrets that are shown, listed before the one that expires soon. */
const LATER = Array.from({ length: 200 }, (_, index) => ({
  client_id: `later-${index}`,
  grant_types: ['client_credentials'],
  scope: 'reports.read',
  client_secrets: [{ hash: `sha256:${'0'.repeat(64)}`, expires_at: '2099-01-01' }],
}));
const world = useWorld({
  config: {
    clients: [
      ...LATER,
      ...worldClients({
        svc: {
          client_secret: undefined,
          client_secrets: [{ value: 'env:TEST_SVC', expires_at: SOON, name: 'first' }],
        },
      }),
    ],
  },
});

async function scrape(management = world().management): Promise<string> {
  const answer = await fetch(`${management}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return answer.text();
}

/** The value of one series; 0 if it is missing. */
function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const line = text
    .split('\n')
    .find(
      (one) =>
        (one.startsWith(`${name}{`) || one.startsWith(`${name} `)) &&
        Object.entries(labels).every(([label, value]) => one.includes(`${label}="${value}"`)),
    );
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}

describe('/metrics', () => {
  it('counts requests by route and status, tokens by grant, sign-ins by outcome', async () => {
    const before = await scrape();
    const { configuration, tokens } = await signIn(world());
    await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    for (let count = 0; count < 3; count += 1) await machineToken(world(), 'reports.read');
    const after = await scrape();
    const grew = (name: string, labels: Readonly<Record<string, string>>) =>
      valueOf(after, name, labels) - valueOf(before, name, labels);
    const issued = 'postern_tokens_issued_total';
    expect(grew(issued, { grant_type: 'client_credentials' })).toBe(3);
    expect(grew(issued, { grant_type: 'authorization_code' })).toBe(1);
    expect(grew(issued, { grant_type: 'refresh_token' })).toBe(1);
    expect(grew('postern_http_request_duration_seconds_count', { route: 'token', status: '200' })).toBe(5);
    expect(grew('postern_security_events_total', { event: 'sign_in', outcome: 'success' })).toBe(1);
    expect(grew('postern_security_events_total', { event: 'consent', outcome: 'success' })).toBe(1);
    expect(grew('postern_signature_duration_seconds_count', {})).toBeGreaterThanOrEqual(5);
    expect(
      grew('postern_store_operation_duration_seconds_count', { operation: 'records.save' }),
    ).toBeGreaterThan(0);
  });

  it('shows what will happen: the next step of the keys, and secrets that end', async () => {
    await machineToken(world());
    const text = await scrape();
    expect(valueOf(text, 'postern_signing_key_next_step_timestamp_seconds')).toBeGreaterThan(
      Date.now() / 1000,
    );
    const secret = { client_id: 'svc', secret: 'first' };
    expect(valueOf(text, 'postern_client_secret_expiry_timestamp_seconds', secret)).toBeCloseTo(
      Date.parse(SOON) / 1000,
      -1,
    );
    expect(valueOf(text, 'postern_ready')).toBe(1);
    expect(valueOf(text, 'postern_configuration_current')).toBe(1);
    expect(text).toMatch(/postern_configuration_info\{hash="[0-9a-f]*"\} 1/);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });

  it('is not on the public port', async () => {
    expect((await get(world(), '/metrics')).status).toBe(404);
  });

  it('IN-10: no caller makes a series or gets a value into one', async () => {
    await machineToken(world());
    const lines = (text: string) => text.split('\n').length;
    await get(world(), '/warm-up');
    await post(world(), '/oauth/token', { grant_type: 'x', client_id: 'x' });
    await post(world(), '/oauth/token', {}, { authorization: basic('web', 'wrong') });
    const before = await scrape();
    for (let count = 0; count < 40; count += 1) {
      const canary = `canary-${count}`;
      await get(world(), `/${canary}`);
      await get(world(), `/oauth/authorize?client_id=${canary}&scope=${canary}`);
      await post(world(), '/oauth/token', { grant_type: canary, client_id: canary, client_secret: canary });
    }
    const after = await scrape();
    expect(after).not.toContain('canary');
    // The same series, except for a status or a limit that occurred for the first time.
    expect(lines(after) - lines(before)).toBeLessThan(60);
    const { tokens } = await signIn(world());
    const text = await scrape();
    for (const secret of [tokens.access_token, SECRETS.svc, PASSWORDS.alice, 'alice', 'usr_alice']) {
      expect(text).not.toContain(secret);
    }
  });

  it('counts a limit that is hit, each time', async () => {
    const wrong = () =>
      post(world(), '/oauth/introspect', { token: API }, { authorization: basic('rs1', 'wrong') });
    for (let count = 0; count < 22; count += 1) await wrong();
    const failures = { limit: 'introspection.failures' };
    const before = valueOf(await scrape(), 'postern_limit_hits_total', failures);
    expect(before).toBeGreaterThan(0);
    await wrong();
    expect(valueOf(await scrape(), 'postern_limit_hits_total', failures)).toBe(before + 1);
  });
});

it("the metrics of several workers are summed where that says something, and kept apart where it doesn't", async () => {
  const [one, two] = [createMetrics(), createMetrics()];
  one.count('tokens_issued', { grant_type: 'refresh_token' });
  two.count('tokens_issued', { grant_type: 'refresh_token' });
  two.observe('http_request', performance.now() - 1, { route: 'token', status: 200 });
  one.observe('http_request', performance.now() - 200, { route: 'token', status: 200 });
  const text = await toText(
    new Map([
      ['1', await one.read()],
      ['2', await two.read()],
    ]),
  );
  expect(valueOf(text, 'postern_tokens_issued_total', { grant_type: 'refresh_token' })).toBe(2);
  const bucket = 'postern_http_request_duration_seconds_bucket';
  expect(valueOf(text, bucket, { le: '0.0025' })).toBe(1);
  expect(valueOf(text, bucket, { le: '+Inf' })).toBe(2);
  for (const worker of ['1', '2']) {
    expect(valueOf(text, 'process_resident_memory_bytes', { worker })).toBeGreaterThan(1e6);
    expect(valueOf(text, 'nodejs_eventloop_lag_p99_seconds', { worker })).toBeGreaterThanOrEqual(0);
  }
});

describe('what is built on the metrics', () => {
  const metricsOf = (text: string) => new Set(text.match(/\b(?:postern|nodejs|process)_[a-z0-9_]+/g));
  const isKnown = (name: string, known: string) =>
    known.includes(`# TYPE ${name.replace(/_(?:bucket|count|sum)$/, '')} `) ||
    known.includes(`# TYPE ${name} `);

  it.each(['deploy/prometheus/alerts.yaml', 'deploy/grafana/postern.json'])(
    '%s asks for nothing that is not there',
    async (file) => {
      const known = await scrape();
      const names = metricsOf(readFileSync(file, 'utf8'));
      expect(names.size).toBeGreaterThan(5);
      expect([...names].filter((name) => !isKnown(name, known))).toEqual([]);
      expect(() => parse(readFileSync(file, 'utf8'))).not.toThrow();
    },
  );

  it('docs/observability.md names each metric of the service, and no other', async () => {
    const known = [...(await scrape()).matchAll(/^# TYPE (postern_\w+) /gm)].map(([, name]) => name ?? '');
    const named = [...metricsOf(readFileSync('docs/observability.md', 'utf8'))].filter((name) =>
      name.startsWith('postern_'),
    );
    expect(named.toSorted()).toEqual(known.toSorted());
  });
});
