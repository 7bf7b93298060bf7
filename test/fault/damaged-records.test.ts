// A stored record that can't be read counts as absent wherever it is read: the answer is that for an unknown value, never a 500.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { authorize, signIn, takeCode } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { formOf } from '../world/browser.ts';
import { enterPassword, newBrowser, redirectOf } from '../world/person.ts';
import { introspect, revoke, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { hashOf } from '../world/stored.ts';
import { basic, redeem, refresh } from '../world/token-endpoint.ts';
import { notifiedClients } from '../world/logout-receiver.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE } from '../world/world.ts';
import { recordKey } from '../../src/oidc/record-payload.ts';
import { anyStore, eachStore } from '../world/each-store.ts';
import { runVerb } from '../world/command-line.ts';
import { begin, signInAs } from '../world/person.ts';
import { giveOneTimeCodes, setFactors } from '../world/second-factors.ts';

const DAMAGES = [
  ['cut JSON', '{"v":1,"accountId":"usr_al'],
  ['an array', '[]'],
  ['no text', '\u0000\u0001\uFFFD'],
  ['of a version that is no number', '{"v":"x"}'],
  ['without its members', '{"v":1}'],
] as const;
const WRONG = [7, 'x', null, [], [7], {}, { a: 7 }, true, 1e300, undefined];

/** Variants of `form`, each with one member missing or of another type, nested members included. */
function* wrongForms(form: object, within = ''): Iterable<readonly [string, object]> {
  for (const [name, value] of Object.entries(form) as [string, unknown][]) {
    // Form 7 belongs to a newer version.
    for (const one of WRONG.slice(name === 'v' ? 1 : 0))
      yield [`${within}${name}: ${JSON.stringify(one)}`, { ...form, [name]: one }];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    for (const [what, one] of wrongForms(value, `${within}${name}.`)) yield [what, { ...form, [name]: one }];
  }
}

const INVALID_GRANT = [400, 'invalid_grant'];

eachStore('a damaged record', { config: { ...GENEROUS, lifetimes: { consent: '30d' } } }, (place) => {
  /** Replaces the record of an id, behind the back of the service. */
  async function damage(world: OpenWorld, model: string, id: string, payload: string): Promise<string> {
    const { records } = world.openedStore;
    const key = recordKey(await hashOf(world.openedStore), model, id);
    const found = await records.find(model, key);
    expect(found, model).toBeDefined();
    await records.save({
      kind: model,
      key,
      payload,
      ttlSeconds: 600,
      grant: found?.grant,
      alias: found?.alias,
    });
    return key;
  }

  async function grantOf(world: OpenWorld, model: string, id: string): Promise<string> {
    const { openedStore } = world;
    const found = await openedStore.records.find(model, recordKey(await hashOf(openedStore), model, id));
    return (JSON.parse(found?.payload ?? '{}') as { grantId: string }).grantId;
  }

  it('with one member of another type fails no request', async () => {
    const { openedStore } = place();
    const { tokens, browser } = await signIn(place());
    const other = newBrowser(place());
    const page = await other.open(authorizationUrl(place()));
    const id = decodeJwt(tokens.access_token).jti ?? '';
    const session = browser.cookies.find(({ name }) => name === 'postern_session')?.value ?? '';
    const show = () => userinfo(place(), tokens.access_token);
    const ask = () => browser.request(authorizationUrl(place(), { prompt: 'none' }));
    const failed: string[] = [];
    for (const [model, name, uses] of [
      ['AccessToken', id, [show]],
      ['Grant', await grantOf(place(), 'AccessToken', id), [show, ask]],
      ['Session', session, [show, ask]],
      ['Interaction', page.url.split('/').at(-1) ?? '', [() => other.request(page.url)]],
    ] as const) {
      const key = recordKey(await hashOf(openedStore), model, name);
      const { payload: kept = '', grant, alias } = (await openedStore.records.find(model, key)) ?? {};
      const save = (payload: string) =>
        openedStore.records.save({ kind: model, key, payload, ttlSeconds: 600, grant, alias });
      for (const [what, form] of wrongForms(JSON.parse(kept) as object)) {
        await save(JSON.stringify(form));
        for (const use of uses) if ((await use()).status >= 500) failed.push(`${model} ${what}`);
      }
      await save(kept);
    }
    expect(failed).toEqual([]);
    for (const members of [{ scope: 7 }, { amr: null }, { exp: 1e300 }, { accountId: [] }]) {
      const ticket = await takeCode(place());
      const key = recordKey(await hashOf(openedStore), 'AuthorizationCode', ticket.code);
      const kept = (await openedStore.records.find('AuthorizationCode', key))?.payload ?? '';
      const form = { ...(JSON.parse(kept) as object), ...members };
      await damage(place(), 'AuthorizationCode', ticket.code, JSON.stringify(form));
      const answer = await redeem(place(), ticket);
      expect([answer.status, answer.body['error'], members]).toEqual([...INVALID_GRANT, members]);
    }
  });

  it('as a consent asks again, and is written anew', async () => {
    const key = (await hashOf(place().openedStore))(`consent:${PEOPLE.bob}\nweb`);
    for (const payload of ['{"v":1', '{"v":1}', '{"v":1,"scopes":7,"resourceScopes":{},"at":1}']) {
      await signIn(place(), { person: 'bob' });
      await place().openedStore.records.save({ kind: 'Consent', key, payload, ttlSeconds: 600 });
      const { page: asked } = await enterPassword(place(), {}, { person: 'bob' });
      expect([asked.text.includes('/consent"'), payload]).toEqual([true, payload]);
    }
  });

  describe.each(DAMAGES)('%s', (_, payload) => {
    it('as a code or its grant is invalid_grant', async () => {
      for (const model of ['AuthorizationCode', 'Grant']) {
        const ticket = await takeCode(place());
        const id = model === 'Grant' ? await grantOf(place(), 'AuthorizationCode', ticket.code) : ticket.code;
        await damage(place(), model, id, payload);
        const answer = await redeem(place(), ticket);
        expect([answer.status, answer.body['error']], model).toEqual(INVALID_GRANT);
      }
    });

    it('as a refresh token is invalid_grant, and may be revoked with its family', async () => {
      const { tokens } = await signIn(place());
      await damage(place(), 'RefreshToken', tokens.refresh_token ?? '', payload);
      const answer = await refresh(place(), tokens.refresh_token);
      expect([answer.status, answer.body['error']]).toEqual(INVALID_GRANT);
      const form = { token: tokens.refresh_token ?? '' };
      expect((await post(place(), '/oauth/revoke', form, { authorization: basic('web') })).status).toBe(200);
    });

    it('as an access token is inactive, 401 at userinfo, and revoked', async () => {
      const { tokens } = await signIn(place());
      const token = tokens.access_token;
      await damage(place(), 'AccessToken', decodeJwt(token).jti ?? '', payload);
      expect(await introspect(place(), token)).toEqual({ active: false });
      expect((await userinfo(place(), token)).status).toBe(401);
      expect((await revoke(place(), token)).status).toBe(200);
    });

    it('as an interaction is a page that has expired, at every step', async () => {
      const browser = newBrowser(place());
      const page = await browser.open(authorizationUrl(place()));
      const uid = page.url.split('/').at(-1) ?? '';
      const { action, fields } = formOf(page, '/login');
      await damage(place(), 'Interaction', uid, payload);
      const form = { ...fields, username: 'alice', password: PASSWORDS.alice };
      for (const answer of [
        await browser.request(page.url),
        await browser.post(action, form),
        await browser.request(`${place().issuer}/oauth/authorize/${uid}`),
      ]) {
        expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      }
    });

    it('as a session leaves the browser signed out, until a user signs in with it again', async () => {
      const { browser, tokens } = await signIn(place(), { scope: 'openid reports.read' });
      const session = browser.cookies.find(({ name }) => name === 'postern_session')?.value ?? '';
      const before = await damagedOf(place(), 'Session');
      const key = await damage(place(), 'Session', session, payload);
      expect(await introspect(place(), tokens.access_token)).toEqual({ active: false });
      const silent = authorizationUrl(place(), { prompt: 'none', scope: 'openid' });
      expect(redirectOf(await browser.request(silent)).query['error']).toBe('login_required');
      expect((await browser.request(`${place().issuer}/oauth/logout`)).status).toBe(200);
      const again = await authorize(place(), { browser, scope: 'openid' });
      expect(again.callback.searchParams.get('code')).not.toBeNull();
      expect(redirectOf(await browser.request(silent)).query).toHaveProperty('code');

      const lines = place()
        .recorded.log.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .filter(({ hash }) => hash === key);
      expect(lines.length).toBeGreaterThan(0);
      expect(lines[0]).toMatchObject({ kind: 'Session' });
      expect((await damagedOf(place(), 'Session')) - before).toBe(lines.length);
    });
  });
});

async function damagedOf({ management }: OpenWorld, kind: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  return Number(new RegExp(`damaged_records_total\\{kind="${kind}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
}

const SIGN_IN = {
  ...GENEROUS,
  account: true,
  sign_in: { one_time_codes: true },
  // A reload ends sessions, which it finds in each user's lists.
  clients: notifiedClients({ web: 'https://app.example/logout' }),
};

anyStore('what is stored of one user, damaged,', { config: SIGN_IN }, (place) => {
  const { alice: ALICE } = PEOPLE;
  const put = async ({ openedStore: { documents } }: OpenWorld, collection: string, value: string) =>
    documents.put(collection, ALICE, value, (await documents.get(collection, ALICE))?.version ?? 0);
  const verb = async ({ configFile }: OpenWorld, ...args: string[]) => {
    const { code, stdout, stderr } = await runVerb([...args, '--config', configFile]);
    return { code, text: stdout + stderr };
  };
  async function statusOf(world: OpenWorld, person: 'alice' | 'bob') {
    return (await enterPassword(world, { scope: 'openid' }, { person })).page.status;
  }

  it('F1-16: as factors keeps that user out alone, is named, and can be removed', async () => {
    await setFactors(place(), 'alice');
    await put(place(), 'factors', '{"v":1,"oneTimeCode":{"sea');
    await giveOneTimeCodes(place(), 'bob');
    const before = await damagedOf(place(), 'factors');
    expect(await statusOf(place(), 'alice')).toBe(503);
    expect(await damagedOf(place(), 'factors')).toBe(before + 1);
    expect(place().recorded.log.join('')).toContain(
      `second factors in the store can't be read: it is not a JSON object (${ALICE})`,
    );
    // At most one line a minute, although every request for this user finds the damage.
    const errors = place().recorded.log.length;
    expect(await statusOf(place(), 'alice')).toBe(503);
    expect(
      place()
        .recorded.log.slice(errors)
        .filter((line) => line.includes('"level":50')),
    ).toEqual([]);
    expect(await statusOf(place(), 'bob')).toBe(200);
    for (const args of [
      ['user', 'factors', 'alice'],
      ['user', 'list'],
      ['keys', 'list'],
    ]) {
      const { code, text } = await verb(place(), ...args);
      expect([args, code]).toEqual([args, 0]);
      if (args[0] === 'user') expect(text).toContain(ALICE);
    }
    expect((await verb(place(), 'user', 'factors', 'alice', '--remove', 'one-time-codes')).text).toContain(
      '--remove all',
    );
    // Whether the user had a second factor is unknown: the password alone isn't enough, even without the feature.
    await place().reload({ ...SIGN_IN, sign_in: undefined });
    expect([await statusOf(place(), 'alice'), await statusOf(place(), 'bob')]).toEqual([403, 403]);
    await place().reload(SIGN_IN);
    const { code, text } = await verb(place(), 'user', 'factors', 'alice', '--remove', 'all');
    expect([code, text]).toEqual([0, expect.stringContaining('has no second factor')]);
    expect(await statusOf(place(), 'alice')).toBe(200);
    await setFactors(place(), 'bob');
  });

  it('as a sign-in that waits for its second factor fails no request', async () => {
    await giveOneTimeCodes(place(), 'bob');
    const { browser, page } = await begin(place());
    const { url } = await signInAs(browser, page, 'bob');
    const { records } = place().openedStore;
    const half = {
      kind: 'HalfSignIn',
      key: (await hashOf(place().openedStore))(`half sign-in:${url.split('/').at(-1)}`),
    };
    const payload = (await records.find(half.kind, half.key))?.payload ?? '';
    const failed: string[] = [];
    for (const [what, form] of wrongForms(JSON.parse(payload) as object)) {
      await records.save({ ...half, payload: JSON.stringify(form), ttlSeconds: 300 });
      if ((await browser.request(url)).status >= 500) failed.push(what);
    }
    expect(failed).toEqual([]);
    await setFactors(place(), 'bob');
  });

  it('F1-16: as factors is noticed whatever the damage is', async () => {
    for (const value of `[] {"v":1,"passkeys":[null]} {"v":1,"passkeys":{}} {"v":1,"oneTimeCode":null}
      {"v":1,"oneTimeCode":{"sealed":7,"lastStep":1}} {"v":1,"recoveryCodes":[1]}
      {"v":1,"sessionsSince":"1"}`.split(/\s+/)) {
      await put(place(), 'factors', value);
      expect([value, await statusOf(place(), 'alice')]).toEqual([value, 503]);
    }
    await setFactors(place(), 'alice');
  });

  it.each(['account-state', 'person-sessions', 'person-grants'])(
    'F1-16: as %s stops neither a reload nor a list of users',
    async (collection) => {
      const kept = (await place().openedStore.documents.get(collection, ALICE))?.value ?? '{}';
      for (const value of ['{"v":1,', '[]', '{"v":9}', '{"sessions":{},"grants":[7],"disabled":1}']) {
        await put(place(), collection, value);
        await place().reload(SIGN_IN, { alice: { disabled: true } });
        await place().reload(SIGN_IN, {});
        expect([value, await statusOf(place(), 'alice')]).not.toEqual([value, 500]);
        expect((await verb(place(), 'user', 'list')).code).toBe(0);
        expect(await statusOf(place(), 'bob')).toBe(200);
      }
      await put(place(), collection, kept);
    },
  );
});
