// The fast path for plain client_credentials requests against the engine's own answer, which is the reference.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BothWays,
  compareGenerated,
  formHeaders,
  GENERATED_SECRETS,
  GENERATED_WORLD,
  startBothWays,
} from './both-ways.ts';
import { post } from '../../world/requests.ts';
import { basic } from '../../world/token-endpoint.ts';
import { openWire } from '../../world/wire.ts';
import { API, OTHER_API, SECRETS, startWorld } from '../../world/world.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { type Known, makeRequest } from './generated-requests.ts';
import { rounds } from '../../world/rounds.ts';

const PLAIN = 'grant_type=client_credentials';
/** The seed and the number of a request identify it when it fails. */
const SEED = 20_261_121;
const BATCHES = rounds(4, 1);
const BATCH = rounds(500, 250);
/** A timeout in milliseconds: the test takes seconds, and many times as long on a busy machine. */
const SLOW_MS = 240_000;
const PLAIN_SCOPES = ['reports.read reports.write', 'other.read reports.read', 'reports.write'];
const ODD_SCOPES = [
  '',
  'reports.read reports.read',
  'reports.read  reports.write',
  ' reports.read',
  'openid',
  'NOPE',
];
const SCOPES = PLAIN_SCOPES.concat(ODD_SCOPES);
const RESOURCES = [API, OTHER_API, 'urn:nobody'];

const svc = { authorization: basic('svc') };
const REQUESTS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['one scope', '&scope=reports.read', svc],
  ['two scopes of one API', '&scope=reports.read%20reports.write', svc],
  ['scopes of two APIs', '&scope=reports.read+other.read', svc],
  ['no scope', '', svc],
  ['no scope, and no default but its only one', '', { authorization: basic('rs1') }],
  ['the client named in the form, too', '&client_id=svc&scope=reports.read', svc],
  ['client_secret_post', `&client_id=svc&client_secret=${SECRETS.svc}&scope=other.read`, {}],
  ['an empty scope', '&scope=', svc],
  ['a repeated scope', '&scope=reports.read%20reports.read', svc],
  ['an unknown scope', '&scope=nope', svc],
  ['a scope of somebody else', '&scope=openid', svc],
  ['a parameter twice', '&scope=reports.read&scope=reports.read', svc],
  ['two ways of authenticating', `&client_id=svc&client_secret=${SECRETS.svc}`, svc],
  ['another client in the form', '&client_id=web', svc],
  ['a wrong secret', '&scope=reports.read', { authorization: basic('svc', 'wrong-secret') }],
  ['an unknown client', '&scope=reports.read', { authorization: `Basic ${btoa('nobody:secret')}` }],
  ['a client without that grant', '&scope=openid', { authorization: basic('web') }],
  ['a lower-case scheme', '&scope=reports.read', { authorization: basic('svc').replace('Basic', 'basic') }],
  ['an origin', '&scope=reports.read', { ...svc, origin: 'https://evil.example' }],
  [
    'another charset',
    '&scope=reports.read',
    { ...svc, 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
  ],
  ['a resource', '&scope=other.read&resource=https%3A%2F%2Fother.example%2Fapi', svc],
  ['no authentication', '&scope=reports.read', {}],
];

describe('requests for machine tokens', () => {
  standingClock();
  let both: BothWays;
  beforeAll(async () => {
    both = await startBothWays(GENERATED_WORLD);
  });
  afterAll(() => both.stop());

  const known: Known = {
    path: '/oauth/token',
    usual: 'svc',
    secrets: GENERATED_SECRETS,
    fields: (random) => [
      [
        'grant_type',
        random.chance(0.95) ? 'client_credentials' : random.pick(['', 'password', 'refresh_token']),
      ],
      ...(random.chance(0.85)
        ? [['scope', random.chance(0.8) ? 'reports.read' : random.pick(SCOPES)] as const]
        : []),
      ...(random.chance(0.1) ? [['resource', random.pick(RESOURCES)] as const] : []),
    ],
  };

  it(`AC-12: ${BATCHES * BATCH} generated ones get the engine's answers`, { timeout: SLOW_MS }, async () => {
    const statuses = await compareGenerated(both, { seed: SEED, batches: BATCHES, batch: BATCH }, (random) =>
      makeRequest(random, known),
    );
    // The comparison is meaningful only if both paths were taken and each kind of answer occurred.
    expect(statuses.get('200, fast path')).toBeGreaterThan((BATCHES * BATCH) / 10);
    for (const kind of ['200', '400', '401', '404', '413', '429'])
      expect(statuses.get(kind), kind).toBeGreaterThan(0);
  });

  it.each(REQUESTS)('AC-12: are answered as the engine answers them: %s', async (_what, fields, more) => {
    moveClock(MINUTE + 1);
    const body = Buffer.from(`${PLAIN}${fields}`);
    const type = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': `${body.length}` };
    const headers = Object.entries({ ...type, ...more }).flat();
    const { seen } = await both.ask(() => ({ method: 'POST', target: '/oauth/token', headers, body }));
    expect(seen[0]).toEqual(seen[1]);
  });
});

describe('a plain request for a machine token', () => {
  it.each([
    ['', '', '&scope=reports.read'],
    [' below a path', '/id', ''],
  ])('is answered without the engine%s, and with a cookie by the engine', async (_where, path, scope) => {
    const both = await startBothWays(GENERATED_WORLD, path);
    const body = Buffer.from(`grant_type=client_credentials${scope}`);
    const headers = ['Authorization', basic('svc'), ...formHeaders(body)];
    const ask = (isLate = false) =>
      both.ask(() => ({ method: 'POST', target: `${path}/oauth/token`, headers, body, isLate }));
    expect((await ask()).isFast).toBe(false); // the client isn't known at that address yet
    const { seen, isFast } = await ask();
    expect([isFast, seen[0].status]).toEqual([true, 200]);
    expect(seen[0].headers).toEqual(seen[1].headers);
    expect(both.visits()).toBeGreaterThan(0);
    await both.stop();
  });

  it('is answered by itself, in its turn, however its bytes come', async () => {
    const world = await startWorld();
    world.recorded.telemetry.log.level = 'info';
    const form = 'grant_type=client_credentials&scope=reports.read';
    const request = (authorization: string, body: string, connection = 'keep-alive') =>
      [
        'POST /oauth/token HTTP/1.1',
        'Host: id.example',
        `Connection: ${connection}`,
        `Authorization: ${authorization}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n');
    const right = basic('svc');
    // Afterwards the client is known at this address.
    await post(world, '/oauth/token', form, { authorization: right });

    const wire = await openWire(world.base);
    const bytes = [
      request(right, form),
      request(basic('svc', 'wrong-secret'), form),
      request(right, `${form}&ignored=1`),
      request(right, `${form}+nobodys`),
      request(right, 'grant_type=client_credentials&scope=other.read', 'close'),
    ].join('');
    // The first part ends inside a body; the second contains the rest and the next requests.
    const cut = form.length * 2 + 250;
    wire.write(bytes.slice(0, cut));
    await expect.poll(() => wire.received().includes('access_token')).toBe(true);
    wire.write(bytes.slice(cut));
    const { received } = await wire.ended;
    const answers = received.split('HTTP/1.1 ').slice(1);
    expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '401', '200', '400', '200']);
    expect(answers.map((answer) => /"scope":"([^"]*)"/.exec(answer)?.[1])).toEqual([
      'reports.read',
      undefined,
      'reports.read',
      'nobodys', // in the error
      'other.read',
    ]);
    const tokens = answers.flatMap((answer) => /"access_token":"([^"]+)"/.exec(answer)?.[1] ?? []);
    expect(new Set(tokens).size).toBe(3);
    await world.stop();
  });
});
