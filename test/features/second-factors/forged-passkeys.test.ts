// Forged passkeys: keys with false claims about themselves, forms that are sent twice, and altered pages.
import { execFileSync } from 'node:child_process';
import { createPrivateKey, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { formOf } from '../../world/browser.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, enterPassword, isLogin, newBrowser, signInAs } from '../../world/person.ts';
import {
  factorsOf,
  givePasskey,
  ownFactors,
  passkeyOptionsOf,
  setFactors,
  SoftwareKey,
  withAddForms,
} from '../../world/second-factors.ts';
import { requireServer } from '../../world/servers.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';

const OPTIONS = {
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  people: { bob: { password_hash: undefined } },
  config: { ...GENEROUS, sign_in: { passkeys: true, enrolment: 'self' } },
};

standingClock();

/** Opens the page for factors as alice, who has no factor. */
async function atFactors(world: OpenWorld) {
  moveClock(2 * MINUTE);
  await setFactors(world, 'alice');
  const browser = newBrowser(world);
  const login = await browser.open(`${world.issuer}/account/factors`);
  const page = await withAddForms(browser, await signInAs(browser, login, 'alice'));
  const form = formOf(page, '/add');
  async function send(response: string): Promise<number> {
    return (await browser.post(form.action, { ...form.fields, response })).status;
  }
  return { browser, page, handle: form.fields['handle'] ?? '', send };
}

async function signInBy(world: OpenWorld, key: SoftwareKey, changes: Parameters<SoftwareKey['assert']>[2]) {
  const { browser, page } = await begin(world);
  return browser.submit(page, '/passkey', { response: key.assert(world, page, changes) });
}

/** CBOR of a valid FIDO U2F attestation by an unknown manufacturer. */
function byUnknownMaker(key: SoftwareKey) {
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', '-'];
  const names = ['-subj', '/CN=Maker', '-days', '2'];
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const pem = execFileSync(requireServer('openssl'), ['req', ...made, ...names], { stdio: [...stdio] });
  const maker = createPrivateKey(pem);
  const { raw } = new X509Certificate(pem);
  return ({ authData, clientDataHash }: { authData: Buffer; clientDataHash: Buffer }) => {
    const id = Buffer.from(key.id, 'base64url');
    const signed = Buffer.concat([Buffer.alloc(1), authData.subarray(0, 32), clientDataHash, id, key.point]);
    const signature = sign('sha256', signed, maker);
    const size = Buffer.alloc(2);
    size.writeUInt16BE(raw.length);
    return Buffer.concat([
      Buffer.from('a263736967', 'hex'),
      Buffer.from([0x58, signature.length]),
      signature,
      Buffer.from('637835638159', 'hex'),
      size,
      raw,
    ]);
  };
}

const world = useWorld(OPTIONS);

describe('a new passkey', () => {
  it('MF-14: sent twice at once is one, and stays with its user', async () => {
    const { page, send } = await atFactors(world());
    const key = new SoftwareKey();
    const response = key.create(world(), page);
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => send(response)));
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(await send(response)).toBe(422);
    expect((await ownFactors(world())).passkeys.map(({ id }) => id)).toEqual([key.id]);
    const store = await factorsOf(world());
    expect(await store.claimCredential(key.id, PEOPLE.bob)).toBe(false);
  });

  it('MF-14: is refused with the certificate of a maker, whose lists would be fetched, and untouched', async () => {
    const { page, send } = await atFactors(world());
    const key = new SoftwareKey();
    const attest = byUnknownMaker(key);
    expect(await send(key.create(world(), page, { format: 'fido-u2f', attest }))).toBe(422);
    expect(await send(key.create(world(), page, { isPresent: false }))).toBe(422);
    expect((await ownFactors(world())).passkeys).toEqual([]);
    expect(await send(key.create(world(), page))).toBe(303);
  });

  it('may be of each algorithm that was offered', async () => {
    for (const kind of ['ES256', 'RS256', 'EdDSA'] as const) {
      const { page, handle, send } = await atFactors(world());
      const key = new SoftwareKey({ kind });
      expect([kind, await send(key.create(world(), page))]).toEqual([kind, 303]);
      const other = new SoftwareKey({ kind });
      const forged = JSON.parse(other.assert(world(), page)) as { response: { signature: string } };
      expect(isLogin(await signInBy(world(), key, { userHandle: handle, isPresent: false }))).toBe(true);
      expect(isLogin(await signInBy(world(), key, { userHandle: handle }))).toBe(false);
      const { browser, page: login } = await begin(world());
      const own = JSON.parse(key.assert(world(), login, { userHandle: handle })) as {
        response: { signature: string };
      };
      own.response.signature = forged.response.signature;
      expect(isLogin(await browser.submit(login, '/passkey', { response: JSON.stringify(own) }))).toBe(true);
    }
  });

  it('must verify its user where it is their only factor', async () => {
    await setFactors(world(), 'bob');
    const token = await newLink(world(), 'factors', PEOPLE.bob);
    const page = await newBrowser(world()).open(oneTimeLinkUrl(world().issuer, token));
    const wish = { residentKey: 'required', userVerification: 'required' };
    expect(passkeyOptionsOf(page)['authenticatorSelection']).toEqual(wish);
    const { page: alices } = await atFactors(world());
    const less = { residentKey: 'preferred', userVerification: 'preferred' };
    expect(passkeyOptionsOf(alices)['authenticatorSelection']).toEqual(less);
  });
});

describe('the passkeys of one user', () => {
  it('F1-17: are twenty at most, also where several come at once, and one too many belongs to no user', async () => {
    const { browser, page, send } = await atFactors(world());
    expect(await send(new SoftwareKey().create(world(), page))).toBe(303);
    const store = await factorsOf(world());
    await store.change(PEOPLE.alice, ({ passkeys }) => ({
      passkeys: [...passkeys, ...Array.from({ length: 18 }, () => new SoftwareKey().factor)],
    }));
    const list = await browser.open(`${world().issuer}/account/factors?add=passkey`);
    const form = formOf(list, '/add');
    const keys = Array.from({ length: 4 }, () => new SoftwareKey());
    const statuses = await Promise.all(
      keys.map(async (key) => {
        const response = key.create(world(), list);
        return (await browser.post(form.action, { ...form.fields, response })).status;
      }),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 422, 422, 422]);
    const { passkeys } = await ownFactors(world());
    expect(passkeys).toHaveLength(20);
    const left = keys.filter(({ id }) => !passkeys.some((one) => one.id === id));
    for (const { id } of left) expect(await store.claimCredential(id, PEOPLE.bob)).toBe(true);
    const full = await browser.open(`${world().issuer}/account/factors?add=passkey`);
    expect([full.status, full.text.includes('data-options')]).toEqual([200, false]);
  });

  it('F1-17: have names of 1,023 bytes, and none longer', async () => {
    const key = new SoftwareKey();
    for (const [bytes, status] of [
      [1024, 422],
      [1023, 303],
    ] as const) {
      const { page, send, handle } = await atFactors(world());
      const id = Buffer.alloc(bytes, 7).toString('base64url');
      expect(await send(key.create(world(), page, { id }))).toBe(status);
      const { browser, page: login } = await begin(world());
      const sent = JSON.parse(key.assert(world(), login, { userHandle: handle })) as object;
      const response = JSON.stringify({ ...sent, id, rawId: id });
      expect(isLogin(await browser.submit(login, '/passkey', { response }))).toBe(status === 422);
    }
  });

  it('F1-17: name their own user at the second step, or none', async () => {
    const [key, bobs] = [await givePasskey(world()), await givePasskey(world(), 'bob')];
    const second = async (userHandle: string | undefined) => {
      const { browser, page: step } = await enterPassword(world());
      return (await browser.submit(step, '/passkey', { response: key.assert(world(), step, { userHandle }) }))
        .status;
    };
    expect([await second(bobs.handle), await second('AAAA'), await second('')]).toEqual([401, 401, 401]);
    expect([await second(undefined), await second(key.handle)]).toEqual([200, 200]);
  });

  it('F1-17: are backup eligible for ever, or never', async () => {
    for (const synced of [false, true]) {
      const key = new SoftwareKey({ synced });
      // A passkey that an earlier version stored: its next use shows it.
      await givePasskey(world(), 'alice', { key });
      expect(isLogin(await signInBy(world(), key, {}))).toBe(false);
      expect(isLogin(await signInBy(world(), key, { synced: !synced }))).toBe(true);
      expect(isLogin(await signInBy(world(), key, {}))).toBe(false);
      const { page, handle, send } = await atFactors(world());
      expect(await send(key.create(world(), page))).toBe(303);
      expect((await ownFactors(world())).passkeys[0]?.backupEligible).toBe(synced);
      expect(isLogin(await signInBy(world(), key, { synced: !synced, userHandle: handle }))).toBe(true);
    }
  });
});

it('MF-07: the counter of a passkey may be 0 for ever, and never 0 again', async () => {
  const key = await givePasskey(world());
  const refused = [];
  for (const counter of [0, 0, 7, 7]) refused.push(isLogin(await signInBy(world(), key, { counter })));
  expect(refused).toEqual([false, false, false, true]);
  expect((await ownFactors(world())).passkeys[0]?.suspect).toBe(undefined);
  expect(isLogin(await signInBy(world(), key, { counter: 0 }))).toBe(true);
  const { passkeys, notices } = await ownFactors(world());
  expect([passkeys[0]?.suspect, notices.map(({ what }) => what)]).toEqual([true, ['passkey_refused']]);
  expect(isLogin(await signInBy(world(), key, { counter: 100 }))).toBe(true);
  const { browser, page } = await begin(world());
  // It is still her only factor.
  expect((await signInAs(browser, page, 'alice')).status).toBe(403);
});
