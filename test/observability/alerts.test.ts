// The shipped alert rules on series like those of the service: each fires on its fault, from the first error on, and all of them
// are silent during an hour of calm.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useWorld } from '../world/each-store.ts';
import { testFolder } from '../world/temp-folder.ts';
import { findPromtool } from './promtool.ts';

const RULES = path.resolve('deploy/prometheus/alerts.yaml');
type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };
const rules = (parse(readFileSync(RULES, 'utf8')) as Rules).groups.flatMap((group) => group.rules);

/** Series without job and instance -> values, one a minute, in promtool's notation. */
type Series = Readonly<Record<string, string>>;

const COUNT = 'postern_http_request_duration_seconds_count';
const BUCKET = 'postern_http_request_duration_seconds_bucket';
const EVENTS = 'postern_security_events_total';

/** An hour of a healthy service, including occasional events. */
const CALM: Series = {
  up: '1x60',
  postern_ready: '1x60',
  postern_configuration_current: '1x60',
  'postern_configuration_info{hash="a"}': '1x60',
  [`${COUNT}{route="token",status="200"}`]: '0+6000x60',
  [`${COUNT}{route="token",status="503"}`]: '0x60',
  [`${COUNT}{route="interaction",status="200"}`]: '0+1x60',
  // Requests that name client documents on hosts which don't answer, and a logout token in delivery.
  [`${COUNT}{route="authorization",status="200"}`]: '0+1x60',
  [`${COUNT}{route="authorization",status="503",cause="client_document"}`]: '0+10x60',
  'postern_outgoing_calls{state="waiting"}': '1x60',
  'postern_outgoing_calls{state="failed"}': '0x20 1x2 0x38',
  [`${EVENTS}{event="app_logout",outcome="failure"}`]: '0x60',
  postern_mail_oldest_seconds: '0x20 300x40',
  // One failure among few requests.
  [`${COUNT}{route="interaction",status="500"}`]: '0x30 1x30',
  [`${BUCKET}{route="token",le="0.5"}`]: '0+6000x60',
  [`${BUCKET}{route="token",le="1"}`]: '0+6000x60',
  [`${BUCKET}{route="token",le="+Inf"}`]: '0+6000x60',
  // One late answer of the store.
  'postern_store_errors_total{operation="records.find"}': '0x30 2x30',
  'postern_store_warning{warning="min_replicas"}': '1x60',
  // Due in a day, and a secret that ends in a year.
  postern_signing_key_next_step_timestamp_seconds: '86400x60',
  'postern_client_secret_expiry_timestamp_seconds{client_id="svc",secret="a"}': '31536000x60',
  [`${EVENTS}{event="client_authentication",outcome="failure"}`]: '0x20 1x20 2x20',
  [`${EVENTS}{event="sign_in",outcome="failure"}`]: '0+1x60',
  [`${EVENTS}{event="account_lock",outcome="failure"}`]: '0x60',
  'postern_limit_hits_total{limit="token.address"}': '0x30 5x30',
  // One worker was replaced.
  postern_workers_ended_total: '0x30 1x30',
  postern_crashes_total: '0x60',
  process_start_time_seconds: '0x30 1800x30',
  process_open_fds: '100x60',
  process_max_fds: '1024x60',
  'postern_lines_waiting_bytes{to="audit"}': '0x60',
  nodejs_eventloop_lag_p99_seconds: '0.02x60',
  // Answered half a second after the scrape began.
  postern_clock_timestamp_seconds: '0.5+60x60',
  postern_view_faults: '0x60',
};

/** The series that differ when something is wrong, from the half hour on. */
const FAULTS: Readonly<Record<string, readonly Series[]>> = {
  PosternDown: [{ up: '1x30 0x30' }],
  PosternNotReady: [{ postern_ready: '1x30 0x30' }],
  PosternErrors: [
    // No sign-in works, beside a hundred machine tokens a second; or only the token endpoint fails.
    {
      [`${COUNT}{route="interaction",status="200"}`]: '0x60',
      [`${COUNT}{route="interaction",status="503"}`]: '0x30 1+1x30',
    },
    { [`${COUNT}{route="token",status="503"}`]: '0x30 200+200x30' },
  ],
  PosternCrashLoop: [
    // A worker that dies before it serves is never scraped: only the counter shows it.
    { postern_workers_ended_total: '0x30 4+4x30' },
    { process_start_time_seconds: '0x30 1800+60x30' },
  ],
  PosternCrash: [{ postern_crashes_total: '0x30 1x30' }],
  PosternFileDescriptors: [{ process_open_fds: '100x30 900x30' }],
  PosternStoreErrors: [{ 'postern_store_errors_total{operation="ping"}': '0x30 20+20x30' }],
  PosternStoreWarning: [{ 'postern_store_warning{warning="disk"}': '_x30 1x30' }],
  PosternEncryptionKeyMissing: [{ 'postern_encryption_key_missing{key="0a1b"}': '_x30 1x30' }],
  PosternSigningKeyOverdue: [{ postern_signing_key_next_step_timestamp_seconds: '1800x60' }],
  PosternSlowTokens: [{ [`${BUCKET}{route="token",le="0.5"}`]: '0+5000x60' }],
  PosternConfigurationRefused: [{ postern_configuration_current: '1x30 0x30' }],
  PosternConfigurationsDiffer: [{ 'postern_configuration_info{hash="b"}': '_x30 1x30' }],
  PosternClientSecretEnds: [
    { 'postern_client_secret_expiry_timestamp_seconds{client_id="svc",secret="a"}': '604800x60' },
  ],
  PosternWrongClientSecrets: [
    // Once in five minutes, from a job that still uses the old secret.
    {
      [`${EVENTS}{event="client_authentication",outcome="failure"}`]:
        '0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x4 9x4 10x4 11x4',
    },
  ],
  PosternLimitsHit: [{ 'postern_limit_hits_total{limit="token.address"}': '0x30 10+10x30' }],
  PosternAppNotNotified: [
    { 'postern_outgoing_calls{state="failed"}': '0x30 1x30' },
    { [`${EVENTS}{event="app_logout",outcome="failure"}`]: '0x30 1x30' },
  ],
  PosternMailWaits: [{ postern_mail_oldest_seconds: '0x30 600+60x30' }],
  PosternGuessing: [{ [`${EVENTS}{event="sign_in",outcome="failure"}`]: '0x30 120+120x30' }],
  PosternAccountLock: [{ [`${EVENTS}{event="account_lock",outcome="failure"}`]: '0x30 1x30' }],
  PosternAuditStopped: [{ 'postern_lines_waiting_bytes{to="audit"}': '0x30 4096x30' }],
  PosternClockSkew: [{ postern_clock_timestamp_seconds: '30+60x60' }],
  PosternViewsBroken: [{ postern_view_faults: '0x30 1x30' }],
  PosternEventLoopLag: [{ nodejs_eventloop_lag_p99_seconds: '0.5x60' }],
};

const withPlace = (series: string, instance: string) => {
  const [, name = '', labels = ''] = /^([^{]+)\{?([^}]*)/.exec(series) ?? [];
  return `${name}{job="postern",instance="${instance}"${labels && `,${labels}`}}`;
};

function testOf(fault: Series, alert?: string): object {
  const instances = { 'one:3001': CALM, 'two:3001': { ...CALM, ...fault } };
  return {
    interval: '1m',
    input_series: [
      ...Object.entries(instances).flatMap(([instance, all]) =>
        Object.entries(all).map(([series, values]) => ({ series: withPlace(series, instance), values })),
      ),
      // The rules ignore another service that is down.
      { series: 'up{job="other",instance="other"}', values: '0x60' },
      { series: 'process_open_fds{job="other",instance="other"}', values: '99x60' },
      { series: 'process_max_fds{job="other",instance="other"}', values: '100x60' },
      { series: 'nodejs_eventloop_lag_p99_seconds{job="other",instance="other"}', values: '9x60' },
    ],
    promql_expr_test: [
      {
        expr: 'count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1h]))',
        eval_time: '60m',
        exp_samples: alert === undefined ? [] : [{ labels: `{alertname="${alert}"}`, value: 1 }],
      },
    ],
  };
}

describe('deploy/prometheus/alerts.yaml', () => {
  const world = useWorld();
  let metrics = '';
  let promtool: Awaited<ReturnType<typeof findPromtool>> = {};
  beforeAll(async () => {
    metrics = await (await fetch(`${world().management}/metrics`)).text();
    promtool = await findPromtool();
  });

  async function run(tests: readonly object[]): Promise<string> {
    const file = path.join(testFolder(), 'tests.yaml');
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
    try {
      await promisify(execFile)(promtool.program ?? '', ['test', 'rules', file]);
      return 'passed';
    } catch (error) {
      return `${(error as { stdout?: string }).stdout}${(error as { stderr?: string }).stderr}`;
    }
  }

  it('has a fault for each rule', () => {
    expect(Object.keys(FAULTS).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  it('asks for series of its own job only', () => {
    const selectors = rules.flatMap(({ expr }) =>
      expr.match(/\b(?:up|(?:postern|process|nodejs)_\w+)\b.*?(?=[\s)[])/g),
    );
    expect(selectors.length).toBeGreaterThan(25);
    expect(selectors.filter((one) => !one?.includes('{job="postern"'))).toEqual([]);
  });

  it('counts from 0 what rate() and increase() look at, before anything happened', () => {
    const counted = [CALM, ...Object.values(FAULTS).flat()]
      .flatMap((series) => Object.keys(series))
      .filter((series) => /_total\b|status="5/.test(series));
    expect(counted.length).toBeGreaterThan(15);
    const fresh = metrics.split('\n');
    const isHere = existsSync('src/features/back-channel-logout');
    const missing = counted.filter((series) => {
      if (series.includes('app_logout') && !isHere) return false;
      const [, name = '', labels = ''] = /^([^{]+)\{?([^}]*)/.exec(series) ?? [];
      return !fresh.some(
        (line) =>
          new RegExp(`^${name}(?:\\{| ).* ?0$`).test(line) &&
          labels.split(',').every((label) => line.includes(label)),
      );
    });
    expect(missing).toEqual([]);
  });

  it('is silent on an hour of calm', async (context) => {
    if (promtool.missing !== undefined) context.skip(promtool.missing);
    expect(await run([testOf({})])).toBe('passed');
  });

  it('fires on each fault, and only what is for it', async (context) => {
    if (promtool.missing !== undefined) context.skip(promtool.missing);
    const tests = Object.entries(FAULTS).flatMap(([alert, faults]) =>
      faults.map((fault) => testOf(fault, alert)),
    );
    expect(await run(tests)).toBe('passed');
  });
});
