// Codes of authenticator apps and recovery codes: the vectors of the RFC, another generator, and input as users type it.
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Vault } from '../../../src/keys/vault.ts';
import type { OneTimeCodes } from '../../../src/users/factors.ts';
import { createOneTimeCodes, withStep } from '../../../src/features/second-factors/one-time-codes.ts';
import { sealedFor } from '../../../src/users/factors.ts';
import { newRecoveryCode, recoveryCodeHash } from '../../../src/features/second-factors/recovery-codes.ts';
import { requireServer } from '../../world/servers.ts';

const ALICE = 'usr_alice';
const PERIOD_MS = 30_000;
const vault = new Vault([randomBytes(32)]);
const PARTS = { vault, issuer: 'Example: GmbH & Co' };
const codes = createOneTimeCodes(PARTS);

/** RFC 6238 appendix B: the seed of SHA-1, its times in seconds, and the last six of eight digits. */
const SEED = Buffer.from('12345678901234567890');
const VECTORS: readonly (readonly [number, string])[] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
];
const [NOW, CODE] = [1_234_567_890_000, '005924'];

const seeded = (lastStep = 0, secret = SEED): OneTimeCodes => ({
  sealed: vault.seal(secret, sealedFor(ALICE)),
  lastStep,
  createdAt: 0,
});
async function isRight(typed: string, at = NOW, own = seeded()): Promise<boolean> {
  const step = await codes.stepOf(ALICE, own, { typed, at });
  return step !== undefined && withStep(own, step, at) !== undefined;
}

/** The code of oathtool at epoch milliseconds. */
const foreignCode = (secret: string, at: number) =>
  execFileSync(
    requireServer('oathtool'),
    ['--totp', '--base32', '--now', `@${Math.floor(at / 1000)}`, secret],
    { encoding: 'utf8' },
  ).trim();

describe('a one-time code', () => {
  it.each(VECTORS)('MF-20: is that of RFC 6238 at %i', async (seconds, code) => {
    const step = await codes.stepOf(ALICE, seeded(), { typed: code, at: seconds * 1000 });
    expect(step).toBe(Math.floor(seconds / 30));
  });

  it('MF-20: is taken a step early and a step late, and no more', async () => {
    const accepted: number[] = [];
    for (const drift of [-2, -1, 0, 1, 2]) {
      const step = await codes.stepOf(ALICE, seeded(), { typed: CODE, at: NOW - drift * PERIOD_MS });
      if (step === undefined) continue;
      accepted.push(drift);
      // The step of the code, whenever it arrives.
      expect(step).toBe(Math.floor(NOW / PERIOD_MS));
    }
    expect(accepted).toEqual([-1, 0, 1]);
  });

  it('MF-18: is newer than every one before it', async () => {
    const step = Math.floor(NOW / PERIOD_MS);
    expect(await isRight(CODE, NOW, seeded(step - 1))).toBe(true);
    expect(await isRight(CODE, NOW, seeded(step))).toBe(false);
    expect(await isRight(CODE, NOW + PERIOD_MS, seeded(step + 1))).toBe(false);
  });

  const TYPED = ['005924', ' 005924\n', '005 924', '0 0 5 9 2 4', '００５９２４', '005\u00A0924'];
  it.each(TYPED)('MF-21: may have spaces and wide digits: %j', async (typed) => {
    expect(await isRight(typed)).toBe(true);
  });

  it.each(
    [
      ['', '5', '00592', '0059240', '5924', 'abcdef', '00592a', '+05924', '-05924', '5.924', '1e5'],
      ['٠٠٥٩٢٤', '00592４a', '0x1724', '005924'.repeat(2000), '\u0000005924', '005924;', '005‐924'],
    ].flat(),
  )('MF-21: of another form is wrong, and no failure: %j', async (typed) => {
    expect(await isRight(typed)).toBe(false);
  });

  it('opens for its person alone, and is neither right nor wrong without its encryption key', async () => {
    const typed = { typed: CODE, at: NOW };
    await expect(codes.stepOf('usr_bob', seeded(), typed)).rejects.toThrow('was altered (encryption key');
    const others = createOneTimeCodes({ ...PARTS, vault: new Vault([randomBytes(32)]) });
    await expect(others.stepOf(ALICE, seeded(), typed)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      retryAfterSeconds: expect.any(Number),
      message: expect.stringContaining(
        `sealed with the encryption key ${vault.kekId}, which is not configured`,
      ),
    });
  });
});

describe('a new secret', () => {
  it('is in a standard address of its own, with names that need escaping', async () => {
    const first = await codes.make(ALICE, 'alice@example.com');
    const { protocol, host, pathname, searchParams } = new URL(first.uri);
    expect([protocol, host]).toEqual(['otpauth:', 'totp']);
    expect(decodeURIComponent(pathname)).toMatch(/^\/Example: GmbH & Co:alice@example\.com$/);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      secret: first.secret,
      issuer: 'Example: GmbH & Co',
    });
    expect((await codes.make(ALICE, 'alice')).secret).not.toBe(first.secret);
  });

  it('MF-18: counts after its first right code, which is used up by that', async () => {
    const { secret, sealed } = await codes.make(ALICE, 'alice');
    const typed = foreignCode(secret, NOW);
    const wrong = typed === '000000' ? '000001' : '000000';
    expect(await codes.confirm(ALICE, { sealed, typed: wrong, at: NOW })).toBeUndefined();
    const own = await codes.confirm(ALICE, { sealed, typed, at: NOW });
    expect(own).toMatchObject({ createdAt: NOW / 1000 });
    if (own === undefined) return;
    expect(await isRight(typed, NOW, own)).toBe(false);
    expect(await isRight(foreignCode(secret, NOW + PERIOD_MS), NOW, own)).toBe(true);
  });

  it('of a form that was altered, of another person, or of the store is nobody’s', async () => {
    const { secret, sealed } = await codes.make(ALICE, 'alice');
    const typed = foreignCode(secret, NOW);
    for (const other of ['', 'x', `${sealed.slice(0, -4)}AAAA`, vault.seal(SEED, sealedFor(ALICE))])
      expect(await codes.confirm(ALICE, { sealed: other, typed, at: NOW })).toBeUndefined();
    expect(await codes.confirm('usr_bob', { sealed, typed, at: NOW })).toBeUndefined();
  });
});

describe('a recovery code', () => {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');

  it('MF-24: has 120 random bits in six groups of four', () => {
    const made = Array.from({ length: 500 }, newRecoveryCode);
    for (const code of made) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){5}$/);
    for (const place of [0, 3, 5, 28])
      expect(new Set(made.map((code) => code[place])).size, String(place)).toBe(32);
  });

  it('MF-24: is forgiven case, spaces, hyphens and letters that look like digits', () => {
    const own = recoveryCodeHash(hash, ALICE, '0123-4567-89AB-CDEF-GHJK-1MNP');
    for (const typed of [
      '0123456789abcdefghjk1mnp',
      ' o123 4567 89AB cdef GHJK lMNP ',
      'O123–4567—89AB‐CDEF-GHJK-iMNP',
      '０123-4567-89AB-CDEF-GHJK-1MNP',
    ])
      expect(recoveryCodeHash(hash, ALICE, typed), typed).toBe(own);
    for (const typed of ['', '0123-4567-89AB-CDEF-GHJK', '0123-4567-89AB-CDEF-GHJK-1MNQ'])
      expect(recoveryCodeHash(hash, ALICE, typed), typed).not.toBe(own);
    expect(recoveryCodeHash(hash, 'usr_bob', '0123-4567-89AB-CDEF-GHJK-1MNP')).not.toBe(own);
  });
});
