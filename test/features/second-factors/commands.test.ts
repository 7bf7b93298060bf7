// `postern user factors` and `user enrol`, and how the other commands show and change second factors, on a running service.
import { describe, expect, it } from 'vitest';
import { parseForm } from '../../../src/store/form.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { type Browser, formOf } from '../../world/browser.ts';
import { anyStore, eachStore } from '../../world/each-store.ts';
import {
  begin,
  complete,
  enterPassword,
  finishPages,
  isConsent,
  newBrowser,
  silently,
} from '../../world/person.ts';
import { runVerb } from '../../world/command-line.ts';
import {
  factorsOf,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  ownFactors,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import { GENEROUS, type OpenWorld, PEOPLE } from '../../world/world.ts';

const OPTIONS = {
  // Passkeys belong to a host name.
  issuer: 'https://id.example',
  config: { ...GENEROUS, sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 3 } },
  people: { bob: { password_hash: undefined } },
};
const NOBODY = 'usr_gone000000000000003';

const user = (world: OpenWorld, args: readonly string[], input = '') =>
  runVerb(['user', ...args, '--config', world.configFile], input);

/** Runs a command, and returns its JSON output. */
async function printed(world: OpenWorld, args: readonly string[], input = ''): Promise<unknown> {
  const { code, stdout, stderr } = await user(world, [...args, '--json'], input);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as unknown;
}

const passwordOf = (world: OpenWorld, person: 'alice' | 'bob', browser?: Browser) =>
  enterPassword(world, { scope: 'openid' }, { browser, person });

anyStore('second factors on the command line', OPTIONS, (world) => {
  it('are listed with what is left of recovery codes, and beside the users', async () => {
    const { recoveryCodes } = await newRecoveryCodes(world());
    const app = newAuthenticatorApp('alice');
    const key = new SoftwareKey();
    await givePasskey(world(), 'alice', { key, oneTimeCode: app.factor, recoveryCodes });
    const { stdout } = await user(world(), ['factors', 'Alice']);
    expect(stdout).toMatch(new RegExp(`^ID .*\n${key.id} +passkey +A key +- .*years ago`));
    expect(stdout).toMatch(/^one-time-codes +authenticator app .*\nrecovery-codes +recovery codes +- +3 /m);
    expect(await printed(world(), ['factors', PEOPLE.alice])).toMatchObject({
      username: 'alice',
      passkeys: [{ id: key.id, name: 'A key', suspect: false }],
      one_time_codes: { created_at: '1970-01-01T00:00:00.000Z' },
      recovery_codes: 3,
    });
    expect(await printed(world(), ['list'])).toMatchObject([
      { username: 'alice', factors: { passkeys: 1, one_time_codes: true, recovery_codes: 3 } },
      // Not invited: users in the file can have a passkey and no password.
      { username: 'bob', invited: false, factors: { passkeys: 0, one_time_codes: false } },
    ]);
    const counts = '1 passkey, one-time codes, 3 recovery codes';
    expect((await user(world(), ['list'])).stdout).toContain(counts);
    for (const secret of [app.factor.sealed, key.factor.publicKey, ...recoveryCodes]) {
      expect(stdout).not.toContain(secret);
    }
  });

  it('end one by one: those who rested on one sign in again, and with the last one the password is enough', async () => {
    const { recoveryCodes } = await newRecoveryCodes(world());
    const app = newAuthenticatorApp('alice');
    const key = new SoftwareKey();
    await givePasskey(world(), 'alice', { key, oneTimeCode: app.factor, recoveryCodes });
    const { browser, page } = await passwordOf(world(), 'alice');
    expect(isSecondStep(page)).toBe(true);
    await finishPages(browser, await browser.submit(page, '/code', { code: app.code() }), 'alice');
    expect(await silently(world(), browser, { scope: 'openid' })).toBe('signed in');

    expect(await user(world(), ['factors', 'alice', '--remove', 'nothing'])).toMatchObject({
      code: 1,
      stderr: 'nothing to remove: nothing\n',
    });
    expect((await user(world(), ['factors', 'alice', '--remove', ''])).code).toBe(1);
    expect(await silently(world(), browser, { scope: 'openid' })).toBe('signed in');
    expect(await printed(world(), ['factors', 'alice', '--remove', key.id])).toMatchObject({
      passkeys: [],
      recovery_codes: 3,
    });
    expect(await silently(world(), browser, { scope: 'openid' })).toBe('login_required');
    // The credential has no owner now, and the user gets a notice.
    const store = await factorsOf(world());
    expect(await store.claimCredential(key.id, PEOPLE.bob)).toBe(true);
    expect((await store.get(PEOPLE.alice)).notices).toMatchObject([
      { what: 'factor_removed', method: 'passkey' },
    ]);

    expect(isSecondStep((await passwordOf(world(), 'alice')).page)).toBe(true);
    expect(await printed(world(), ['factors', 'alice', '--remove', 'one-time-codes'])).toMatchObject({
      passkeys: [],
      // Recovery codes without a factor to replace are removed.
      recovery_codes: 0,
    });
    const left = await passwordOf(world(), 'alice');
    expect([isSecondStep(left.page), left.page.status]).toEqual([false, 200]);
    expect((await user(world(), ['factors', 'alice', '--remove', 'all'])).code).toBe(1);
  });

  it('lose their recovery codes alone, which signs no user out', async () => {
    const { recoveryCodes } = await newRecoveryCodes(world());
    await giveOneTimeCodes(world(), 'alice', { recoveryCodes });
    const remove = ['factors', 'alice', '--remove', 'recovery-codes'];
    expect(await printed(world(), remove)).toMatchObject({ one_time_codes: {}, recovery_codes: 0 });
    expect((await ownFactors(world())).sessionsSince).toBe(0);
    expect((await user(world(), remove)).code).toBe(1);
  });

  it('F1-13: are asked for again by enable, after too many wrong codes', async () => {
    const app = newAuthenticatorApp('alice');
    await setFactors(world(), 'alice', { oneTimeCode: { ...app.factor, failures: 100 } });
    expect((await user(world(), ['enable', 'alice'])).code).toBe(0);
    const { browser, page } = await passwordOf(world(), 'alice');
    expect(isSecondStep(await browser.submit(page, '/code', { code: app.code() }))).toBe(false);
  });

  it('are added by a link, also for users in the file, but not beside an existing factor', async () => {
    await giveOneTimeCodes(world(), 'alice');
    expect(await user(world(), ['enrol', 'alice'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('postern user factors alice --remove all'),
    });
    await setFactors(world(), 'bob');
    const { link } = (await printed(world(), ['enrol', 'bob'])) as { readonly link: string };
    expect(link).toMatch(/^https:\/\/id\.example\/interaction\/link\/[\w-]{43}$/);
    const page = await newBrowser(world()).open(link);
    expect([page.status, formOf(page, link.slice(-43)).fields]).toEqual([200, expect.anything()]);
    const newer = (await printed(world(), ['enrol', 'bob'])) as { readonly link: string };
    expect((await newBrowser(world()).open(link)).status).toBe(410);
    expect((await newBrowser(world()).open(newer.link)).status).toBe(200);
    for (const verb of ['invite', 'reset']) {
      expect(await user(world(), [verb, 'bob'])).toMatchObject({ code: 1, stdout: '' });
    }
  });

  it('sign in a user in the file who has no password', async () => {
    const key = await givePasskey(world(), 'bob');
    expect(await printed(world(), ['list', 'bob'])).toMatchObject({ source: 'file', invited: false });
    const { browser, page } = await begin(world(), { scope: 'openid' });
    const wrong = await browser.submit(page, '/login', { username: 'bob', password: 'bob-password-22' });
    expect(wrong.status).toBe(401);
    const response = key.assert(world(), wrong);
    expect(isConsent(await browser.submit(wrong, '/passkey', { response }))).toBe(true);
  });

  it('outlive an entry of the file until they are removed', async () => {
    await setFactors(world(), 'alice');
    const store = await factorsOf(world());
    await store.change(NOBODY, () => ({ oneTimeCode: newAuthenticatorApp('bob').factor }));
    expect(await printed(world(), ['factors', NOBODY])).toMatchObject({ id: NOBODY, one_time_codes: {} });
    await printed(world(), ['factors', NOBODY, '--remove', 'all']);
    expect((await user(world(), ['factors', NOBODY])).code).toBe(1);
  });
});

describe('without sign_in in the file', () => {
  eachStore('a user who has factors', { ...OPTIONS, people: {} }, (world) => {
    const stateOf = async ({ openedStore: { documents } }: OpenWorld) =>
      documents.get('account-state', PEOPLE.alice);

    it('F1-14: is refused with a password, by a session of one too, and named, until an operator removes them', async () => {
      await setFactors(world(), 'alice');
      const { browser: weak } = await complete(world(), 'alice', { scope: 'openid' });
      const app = await giveOneTimeCodes(world(), 'alice');
      const { browser: strong, page } = await passwordOf(world(), 'alice');
      const next = await strong.submit(page, '/code', { code: app.code() });
      expect(isConsent(next)).toBe(true);
      await finishPages(strong, next, 'alice');

      const key = await givePasskey(world(), 'alice');
      const { browser: other, page: login } = await begin(world());
      // The state that an earlier version left: the reload adds the mark.
      const { documents } = world().openedStore;
      const unmarked = '{"v":1,"disabled":false,"validAfter":0}';
      await documents.put('account-state', PEOPLE.alice, unmarked, (await stateOf(world()))?.version ?? 0);
      await world().reload(GENEROUS, {});
      const refused = await passwordOf(world(), 'alice');
      expect([refused.page.status, refused.page.text]).toEqual([
        403,
        expect.stringContaining('Contact your administrator'),
      ]);
      expect(world().recorded.audit('sign_in').at(-1)).toMatchObject({
        outcome: 'failure',
        reason: 'factors_off',
        account_id: PEOPLE.alice,
      });
      for (const browser of [refused.browser, weak])
        expect(await silently(world(), browser, { scope: 'openid' })).toBe('login_required');
      expect(await silently(world(), strong, { scope: 'openid' })).toBe('signed in');
      const byPasskey = await other.submit(login, '/passkey', { response: key.assert(world(), login) });
      expect(byPasskey.status).toBe(404);
      expect(isConsent((await passwordOf(world(), 'bob')).page)).toBe(true);

      await printed(world(), ['factors', 'alice', '--remove', 'all']);
      expect(isConsent((await passwordOf(world(), 'alice')).page)).toBe(true);
    });

    it('F1-15: has an account state that no earlier version reads, from the first factor to the last', async () => {
      const { documents } = world().openedStore;
      const states = createAccountStates(documents);
      // How an earlier version handles it.
      const read = async () => parseForm((await stateOf(world()))?.value ?? '{}', 'the state of a user');
      await giveOneTimeCodes(world(), 'alice');
      await expect(read()).rejects.toThrow(
        'was written in form 2, and this version of the service knows form 1',
      );
      await states.update(PEOPLE.alice, { attemptsSince: 7 });
      await expect(read()).rejects.toThrow('was written in form 2');
      expect(await states.get(PEOPLE.alice)).toMatchObject({ hasFactors: true, attemptsSince: 7 });
      // Two processes: one removes the last factor while the other adds the next.
      const store = await factorsOf(world());
      for (let round = 0; round < 20; round += 1) {
        await Promise.all([
          store.change(PEOPLE.alice, () => ({ oneTimeCode: undefined })),
          store.change(PEOPLE.alice, () => ({ oneTimeCode: newAuthenticatorApp('alice').factor })),
        ]);
        const has = (await store.get(PEOPLE.alice)).oneTimeCode !== undefined;
        expect((await states.get(PEOPLE.alice)).hasFactors === true).toBe(has);
      }
      await setFactors(world(), 'alice');
      expect(await read()).toMatchObject({ v: 1, attemptsSince: 7 });
    });
  });

  anyStore('the commands', (world) => {
    it('tell factors that are left, and make no link for others', async () => {
      const [row] = (await printed(world(), ['list'])) as readonly object[];
      const factors = { passkeys: 0, one_time_codes: false, recovery_codes: 0 };
      expect(row).toMatchObject({ factors });
      expect(await user(world(), ['enrol', 'alice'])).toMatchObject({
        code: 1,
        stderr: 'no second factor can be added: turn on passkeys or one_time_codes in sign_in\n',
      });
    });
  });
});
