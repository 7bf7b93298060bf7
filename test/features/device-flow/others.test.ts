// The device flow with other features: the account page, second factors, a path of the issuer, and changed users.
import { describe, expect, it } from 'vitest';
import { DEVICE_CODE_GRANT, deviceFlow } from '../../../src/features/device-flow/feature.ts';
import { addCarol, CAROL, idsOf, openAccount } from '../../world/account-page.ts';
import { formOf } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { enterPassword, finishPages, newBrowser } from '../../world/person.ts';
import { userinfo } from '../../world/presented-tokens.ts';
import { textOf } from '../../world/requests.ts';
import { givePasskey, isSecondStep, newAuthenticatorApp } from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS } from '../../world/world.ts';
import {
  askForCodes,
  DEVICE_CONFIG,
  isConfirmPage,
  isDonePage,
  letIn,
  poll,
  postToDevice,
  refreshAsTv,
  typeCode,
} from './device.ts';

standingClock();

describe('on the account page', () => {
  const world = useWorld({
    rotationTimer: NEVER,
    config: { ...DEVICE_CONFIG, account: true, lifetimes: { consent: '30d' } },
  });

  it('a device is among the apps, and ends with its withdrawal, also one that has not asked yet', async () => {
    await addCarol(world());
    const browser = newBrowser(world());
    await openAccount(world(), browser, { password: CAROL.password });
    const [first, waiting] = [await askForCodes(world()), await askForCodes(world())];
    for (const device of [first, waiting])
      expect(isDonePage(await letIn(world(), device, { browser }))).toBe(true);
    const tokens = await poll(world(), first);
    expect((await userinfo(world(), textOf(tokens, 'access_token'))).status).toBe(200);
    const page = await openAccount(world(), browser);
    expect(idsOf(page, '/withdraw')).toContain('tv');
    const after = await browser.submit(page, '/withdraw', { id: 'tv' });
    expect(idsOf(after, '/withdraw')).not.toContain('tv');
    expect((await userinfo(world(), textOf(tokens, 'access_token'))).status).toBe(401);
    const renewed = await refreshAsTv(world(), tokens);
    expect(renewed.body['error']).toBe('invalid_grant');
    expect((await poll(world(), waiting)).status).toBe(400);
  });

  it('a device that was let in goes on without the session, where it was allowed to last', async () => {
    const [here, there] = [newBrowser(world()), newBrowser(world())];
    for (const one of [here, there]) await openAccount(world(), one, { password: CAROL.password });
    const [lasting, short] = [await askForCodes(world()), await askForCodes(world(), { scope: 'openid' })];
    for (const device of [lasting, short])
      expect(isDonePage(await letIn(world(), device, { browser: there }))).toBe(true);
    const [kept, ended] = [await poll(world(), lasting), await poll(world(), short)];
    await here.submit(await openAccount(world(), here), '/end-others');
    expect((await userinfo(world(), textOf(ended, 'access_token'))).status).toBe(401);
    const renewed = await refreshAsTv(world(), kept);
    expect(renewed.status).toBe(200);
  });
});

describe('at an issuer with a path, and while it is off', () => {
  const world = useWorld({ issuer: 'https://id.example/auth', config: DEVICE_CONFIG });

  it('is let in below the path, by a form of its own site', async () => {
    const asked = await askForCodes(world());
    const browser = newBrowser(world());
    const page = await typeCode(browser, world(), asked.userCode);
    expect([new URL(page.url).pathname, isConfirmPage(page)]).toEqual(['/auth/device', true]);
    const { xsrf } = formOf(page, '/auth/device').fields;
    const form = `xsrf=${xsrf}&user_code=${asked.userCode}&confirm=yes`;
    const forged = await postToDevice(browser, world(), form, { origin: 'https://evil.example' });
    expect(forged.status).toBe(403);
    expect(isDonePage(await letIn(world(), asked, { browser }))).toBe(true);
    expect((await poll(world(), asked)).status).toBe(200);
  });

  it('is nothing any more once the flow is off: its codes are for no grant, and its page is not there', async () => {
    const [{ fault }] = deviceFlow.clientRules;
    expect(fault({ grant_types: [DEVICE_CODE_GRANT] }, { features: { deviceFlow: false } })).toMatch(
      /is off/,
    );
    const asked = await askForCodes(world(), {}, 'first-party');
    expect(isDonePage(await letIn(world(), asked))).toBe(true);
    await world().reload(GENEROUS);
    expect((await poll(world(), asked, 'first-party')).body['error']).toBe('unsupported_grant_type');
    expect((await newBrowser(world()).open(`${world().issuer}/device`)).status).toBe(404);
    await world().reload(DEVICE_CONFIG);
    expect((await poll(world(), asked, 'first-party')).status).toBe(200);
  });
});

describe('with second factors', () => {
  const config = { ...DEVICE_CONFIG, sign_in: { passkeys: true, one_time_codes: true } };
  const world = useWorld({ issuer: 'https://id.example', config, rotationTimer: NEVER });

  it('asks for what the device wishes without openid, too (RFC 9470)', async () => {
    const app = newAuthenticatorApp('alice');
    await givePasskey(world(), 'alice', { oneTimeCode: app.factor });
    const { browser, page: step } = await enterPassword(world());
    await finishPages(browser, await browser.submit(step, '/code', { code: app.code() }), 'alice');
    const asked = await askForCodes(world(), {
      scope: 'reports.read',
      acr_values: 'urn:postern:acr:passkey',
    });
    const confirm = await typeCode(browser, world(), asked.userCode);
    expect(isSecondStep(await browser.submit(confirm, '/device', { confirm: 'yes' }))).toBe(true);
  });
});
