// F1-06: proofs that a user or an app uses once, while the store fails. A 503 uses a proof up only if the store may have recorded the
// use before the answer was lost, and its text says so; after any other 503 the proof still works.
import { randomUUID } from 'node:crypto';
import { oneTimeLinkUrl } from '../../src/users/one-time-links.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { takeCode } from '../world/app.ts';
import { enterPassword, newBrowser } from '../world/person.ts';
import { bobSignedIn, type Proof, type Proofs, twice, type Use, useProofs } from '../world/proofs.ts';
import { giveOneTimeCodes, newRecoveryCodes } from '../world/second-factors.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { GENEROUS, type OpenWorld } from '../world/world.ts';
import { newLink } from '../world/one-time-link.ts';

async function atSecondStep(world: OpenWorld, field: string, value: string): Promise<Use> {
  const { browser, page: step } = await enterPassword(world);
  return () => browser.send(step, '/code', { [field]: value });
}

async function ofCode(world: OpenWorld, field: string, value: string): Promise<Proof> {
  return {
    use: await atSecondStep(world, field, value),
    again: async () => (await atSecondStep(world, field, value))(),
  };
}

async function ofLink(world: OpenWorld): Promise<Proof> {
  const id = `usr_${randomUUID().slice(0, 20)}`;
  const person = { id, username: id, passwordHash: undefined, claims: {} };
  await createStoredUsers(world.openedStore).add(person);
  const token = await newLink(world, 'invite', id);
  const password = 'river otter jazz 47';
  async function open(): Promise<Use> {
    const browser = newBrowser(world);
    const page = await browser.open(oneTimeLinkUrl(world.issuer, token));
    if (page.status !== 200) return () => Promise.resolve(page);
    return () => browser.send(page, token, { password, again: password });
  }
  return { use: await open(), again: async () => (await open())() };
}

const PROOFS: Proofs = {
  'a recovery code': async (world) => {
    const { codes, recoveryCodes } = await newRecoveryCodes(world, 'alice', 2);
    await giveOneTimeCodes(world, 'alice', { recoveryCodes });
    return ofCode(world, 'recovery_code', codes[0] ?? '');
  },
  'a one-time code': async (world) => ofCode(world, 'code', (await giveOneTimeCodes(world)).code()),
  'the way back from a second step': async (world) => {
    const app = await giveOneTimeCodes(world);
    const { browser, page: step } = await enterPassword(world);
    const done = await browser.send(step, '/code', { code: app.code() });
    return twice(() => browser.request(done.headers.get('location') ?? ''));
  },
  'a link for a first password': ofLink,
  'an authorization code': async (world) => {
    const ticket = await takeCode(world, { person: 'bob' });
    return twice(() => redeem(world, ticket));
  },
  'a refresh token': async (world) => {
    const { tokens } = await bobSignedIn(world);
    return twice(() => refresh(world, tokens.refresh_token));
  },
};

useProofs(PROOFS, { ...GENEROUS, sign_in: { passkeys: false, one_time_codes: true, recovery_codes: 10 } });
