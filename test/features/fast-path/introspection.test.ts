// The fast path for introspection against the engine’s own answer, which is the reference: two services get the same request, the
// second in a form that the fast path leaves to the engine.
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/store/store.ts';
import {
  type BothWays,
  compareGenerated,
  formHeaders,
  GENERATED_SECRETS,
  GENERATED_WORLD,
  startBothWays,
  type WireRequest,
} from './both-ways.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { machineToken, signIn } from '../../world/app.ts';
import { revoke } from '../../world/presented-tokens.ts';
import { post } from '../../world/requests.ts';
import { basic } from '../../world/token-endpoint.ts';
import { SECRETS, type World } from '../../world/world.ts';
import { type Known, makeRequest, type Random } from './generated-requests.ts';
import { rounds } from '../../world/rounds.ts';

/** The seed and the number of a request identify it when it fails. */
const SEED = 20_261_122;
const BATCHES = rounds(4, 1);
const BATCH = rounds(500, 250);
/** A timeout in milliseconds: the test takes seconds, and many times as long on a busy machine. */
const SLOW_MS = 240_000;
const PATH = '/oauth/introspect';

type Tokens = Readonly<Record<string, string>>;

/** Clients whose scopes change, or that are removed, after their tokens were issued. */
const LATER = ['narrowed', 'emptied', 'gone'] as const;
const laterClient = (id: string, scope: string) => ({
  client_id: id,
  client_secret: 'env:TEST_POST',
  grant_types: ['client_credentials'],
  scope,
});
const BEFORE = {
  ...GENERATED_WORLD,
  clients: [
    ...GENERATED_WORLD.clients,
    ...LATER.map((id) => laterClient(id, 'reports.read reports.write other.read')),
  ],
};
const AFTER = {
  ...GENERATED_WORLD,
  clients: [
    ...GENERATED_WORLD.clients,
    laterClient('narrowed', 'reports.read'),
    laterClient('emptied', 'other.read'),
  ],
};

async function machineTokenOf(world: World, id: string, secret: string, scope: string): Promise<string> {
  const authorization = `Basic ${btoa(`${id}:${secret}`)}`;
  const { body } = await post(
    world,
    '/oauth/token',
    { grant_type: 'client_credentials', scope },
    { authorization },
  );
  return String(body['access_token']);
}

/** Issued before the clients changed; `expired` lives five minutes. */
async function earlyMachineTokens(world: World): Promise<Tokens> {
  const both = 'reports.read reports.write';
  return {
    expired: await machineTokenOf(world, 'svc', SECRETS.svc, 'other.read'),
    narrowed: await machineTokenOf(world, 'narrowed', SECRETS.post, both),
    emptied: await machineTokenOf(world, 'emptied', SECRETS.post, both),
    gone: await machineTokenOf(world, 'gone', SECRETS.post, both),
  };
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

async function lateMachineTokens(world: World): Promise<Tokens> {
  const machine = await machineToken(world, 'reports.read');
  const revoked = await machineToken(world, 'reports.read');
  await revoke(world, revoked, 'svc');
  const { tokens } = await signIn(world);
  const at = Math.floor(Date.now() / 1000);
  const foreign = new SignJWT({ client_id: 'svc', scope: 'reports.read' })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'k'.repeat(8) })
    .setSubject('svc')
    .setIssuer(world.issuer)
    .setAudience('urn:example:api')
    .setIssuedAt(at)
    .setExpirationTime(at + 600)
    .setJti('a'.repeat(43));
  const [header, claims, signature] = machine.split('.');
  return {
    machine,
    revoked,
    both: await machineToken(world, 'reports.read reports.write'),
    two: await machineToken(world, 'reports.read reports.write'),
    other: await machineToken(world, 'other.read'),
    rs1: await machineTokenOf(world, 'rs1', SECRETS.rs1, 'reports.read'),
    duo: await machineTokenOf(world, 'duo', SECRETS.web2, 'reports.read'),
    person: tokens.access_token,
    refresh: String(tokens.refresh_token),
    id: String(tokens.id_token),
    foreign: await foreign.sign(privateKey),
    tampered: `${header}.${claims?.slice(0, -4)}AAAA.${signature}`,
    unsigned: `${header}.${claims}.`,
    padded: `${machine}==`,
    respelled: `${machine.slice(0, -1)}${machine.endsWith('A') ? 'B' : 'A'}`,
    spaced: ` ${machine}`,
    ended: `${machine}\n`,
    twice: `${machine}.${machine}`,
    opaque: 'x'.repeat(43),
    dotted: 'a.b.c',
    empty: '',
  };
}

const HINTS = [
  'access_token',
  'refresh_token',
  'urn:ietf:params:oauth:token-type:access_token',
  'nonsense',
  '',
];

describe('generated introspection requests', () => {
  standingClock();
  let both: BothWays;
  let tokens: readonly [Tokens, Tokens];

  const forBoth = async (issue: (world: World) => Promise<Tokens>) =>
    [await issue(both.sides[0].world), await issue(both.sides[1].world)] as const;

  beforeAll(async () => {
    both = await startBothWays(BEFORE);
    const early = await forBoth(earlyMachineTokens);
    moveClock(6 * MINUTE);
    await both.restart(AFTER);
    const late = await forBoth(lateMachineTokens);
    tokens = [
      { ...early[0], ...late[0] },
      { ...early[1], ...late[1] },
    ];
    both.forget();
  });
  afterAll(() => both.stop());

  /** Picks mostly active tokens, because all others go to the engine anyway. */
  function chooseToken(random: Random, known: Tokens): string {
    const likely = ['machine', 'both', 'narrowed', 'duo', 'rs1', 'person', 'person'];
    return known[random.pick(random.chance(0.6) ? likely : Object.keys(known))] ?? '';
  }

  function make(random: Random, side: 0 | 1): WireRequest {
    const known: Known = {
      path: PATH,
      usual: 'rs1',
      secrets: GENERATED_SECRETS,
      fields: () => [
        ['token', chooseToken(random, tokens[side])],
        ...(random.chance(0.2) ? [['token_type_hint', random.pick(HINTS)] as const] : []),
      ],
    };
    return makeRequest(random, known);
  }

  it(`IS-01: ${BATCHES * BATCH} of them are answered as by the engine`, { timeout: SLOW_MS }, async () => {
    const statuses = await compareGenerated(both, { seed: SEED, batches: BATCHES, batch: BATCH }, make);
    // The comparison is meaningful only if both paths were taken and each kind of answer occurred.
    expect(statuses.get('200, fast path')).toBeGreaterThan((BATCHES * BATCH) / 10);
    for (const kind of ['200', '400', '401', '404', '413', '429'])
      expect(statuses.get(kind), kind).toBeGreaterThan(0);
  });

  const TOKENS = [
    'machine',
    'both',
    'two',
    'other',
    ...LATER,
    'rs1',
    'person',
    'refresh',
    'revoked',
    'expired',
  ];
  it.each(TOKENS)('IS-01: introspection of `%s` is as the engine’s for each client', async (name) => {
    moveClock(MINUTE + 1);
    for (const caller of ['rs1', 'svc', 'duo', 'web'] as const) {
      const authorization = `Basic ${btoa(`${caller}:${GENERATED_SECRETS[caller][0]}`)}`;
      for (let turn = 0; turn < 2; turn += 1) {
        const { seen } = await both.ask((side) => plain(tokens[side][name] ?? '', authorization));
        expect(seen[0], `${caller} about ${name}`).toEqual(seen[1]);
      }
    }
  });

  it('IS-01: a plain question is answered without the engine, and with a cookie by the engine', async () => {
    moveClock(MINUTE + 1);
    const ask = () => both.ask((side) => plain(tokens[side]['machine'] ?? '', basic('rs1')));
    await ask(); // an earlier request may have failed
    const before = both.visits();
    const { seen, isFast } = await ask();
    expect([isFast, seen[0].status]).toEqual([true, 200]);
    expect(JSON.parse(seen[0].text)).toMatchObject({ active: true, client_id: 'svc', sub: 'svc' });
    expect(both.visits()).toBeGreaterThan(before);
  });

  it("IS-01: where the store can't be asked the answer is the same 503, and counted the same", async () => {
    moveClock(MINUTE + 1);
    const ask = () => both.ask((side) => plain(tokens[side]['machine'] ?? '', basic('rs1')));
    await ask();
    const stubs = both.sides.map(({ world }) =>
      vi.spyOn(world.openedStore.records, 'find').mockRejectedValue(new StoreUnavailable()),
    );
    const { seen } = await ask();
    expect([seen[0].status, seen[0]]).toEqual([503, seen[1]]);
    for (const stub of stubs) stub.mockRestore();
    const again = await ask();
    expect([again.isFast, again.seen[0].status]).toEqual([true, 200]);
    expect(both.sides[0].counted()).toEqual(both.sides[1].counted());
  });
});

function plain(token: string, authorization: string): WireRequest {
  const body = Buffer.from(new URLSearchParams({ token }).toString());
  const headers = ['Authorization', authorization, 'X-Forwarded-For', '10.9.0.1', ...formHeaders(body)];
  return { method: 'POST', target: PATH, headers, body };
}
