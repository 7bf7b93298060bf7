// RD-33: during an upgrade or a downgrade, two versions may share a store. Members that a newer version added are served, and kept when
// this version rewrites the record; a record in another form is answered with 503, reported in the log and left unchanged.
import { describe, expect, it } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import type { Client, ClientSecret } from '../../src/config/config.ts';
import { recordKey } from '../../src/oidc/record-payload.ts';
import { createSecretUses } from '../../src/oidc/secret-uses.ts';
import { KEYS_COLLECTION, RING_ID } from '../../src/keys/ring-document.ts';
import { rotateByHand } from '../../src/keys/ring-actions.ts';
import type { StoredForm } from '../../src/store/form.ts';
import { authorize, type Authorized, machineToken, type SignedIn, signIn } from '../world/app.ts';
import { introspect } from '../world/presented-tokens.ts';
import { get } from '../world/requests.ts';
import { hashOf, keyStoreOf } from '../world/stored.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { createTurns } from '../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE } from '../world/world.ts';
import { eachStore } from '../world/each-store.ts';

const NEWER = { newer: { of: ['a', 'later', 'version'] } };
const NEXT_FORM = { v: 2 };
/** The ring already has a second form, with keys of other algorithms. */
const NEXT_RING = { v: 3 };

type Place = {
  readonly kind: string;
  readonly key: string;
  readonly grant?: string;
  readonly alias?: string;
};

const CLIENT = { clientId: 'newer' } as Client;
const SECRET: ClientSecret = { digest: Buffer.alloc(32, 1) };

const turns = createTurns();
const OPTIONS = { config: { ...GENEROUS, lifetimes: { consent: '30d' } }, rotationTimer: turns.timer };

eachStore('RD-33: on a store that a newer version writes to, too', OPTIONS, (world) => {
  async function read({ kind, key }: Place): Promise<StoredForm | undefined> {
    const record = await world().openedStore.records.find(kind, key);
    return record && (JSON.parse(record.payload) as StoredForm);
  }

  /** Writes the stored record again, with the members of `more` added: at the top and one level below. */
  async function rewrite(place: Place, more: StoredForm, within?: string): Promise<void> {
    const { records } = world().openedStore;
    const record = await records.find(place.kind, place.key);
    const form = JSON.parse(record?.payload ?? '') as Record<string, unknown>;
    const inner = within === undefined ? {} : { [within]: { ...(form[within] as object), ...more } };
    const text = JSON.stringify({ ...form, ...inner, ...more });
    await records.save({ ...place, payload: text, ttlSeconds: 600 });
  }

  async function places(person: SignedIn | Authorized): Promise<Record<'session' | 'grant', Place>> {
    const hash = await hashOf(world().openedStore);
    const id = person.browser.cookies.find(({ name }) => name.endsWith('postern_session'))?.value ?? '';
    const key = recordKey(hash, 'Session', id);
    const form = await read({ kind: 'Session', key });
    const apps = form?.['authorizations'] as Record<string, { readonly grantId: string }> | undefined;
    const grant = recordKey(hash, 'Grant', apps?.['web']?.grantId ?? '');
    return {
      session: { kind: 'Session', key, alias: hash(`uid:${String(form?.['uid'])}`) },
      grant: { kind: 'Grant', key: grant, grant },
    };
  }

  async function tokenPlace(kind: string, id: string, person: SignedIn | Authorized): Promise<Place> {
    const hash = await hashOf(world().openedStore);
    return { kind, key: recordKey(hash, kind, id), grant: (await places(person)).grant.key };
  }

  const codeOf = ({ callback }: Authorized) => callback.searchParams.get('code') ?? '';
  const jtiOf = (jwt: string) =>
    (JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }).jti;

  describe('members that it added', () => {
    it('survive in session and grant when both are written again, and do no harm', async () => {
      const person = await signIn(world());
      const { session, grant } = await places(person);
      await rewrite(session, NEWER, 'authorizations');
      await rewrite(grant, NEWER, 'openid');
      // Requests one more scope: the grant gets it, and the session is updated.
      const again = await signIn(world(), { browser: person.browser, scope: 'openid reports.read' });
      expect((await introspect(world(), again.tokens.access_token))['active']).toBe(true);
      expect(await read(session)).toMatchObject({ v: 1, ...NEWER, authorizations: NEWER });
      expect(await read(grant)).toMatchObject({ v: 1, ...NEWER, openid: NEWER });
      // The members pass through them and aren't stored in them.
      expect(JSON.stringify([await read(session), await read(grant)])).not.toContain('newerMembers');
    });

    it('are no matter in a sign-in, a code, an access token and a refresh token', async () => {
      const { browser } = await signIn(world());
      const authorized = await authorize(world(), { browser });
      await rewrite(await tokenPlace('AuthorizationCode', codeOf(authorized), authorized), NEWER);
      const { body } = await redeem(world(), authorized);
      const [access, token] = [String(body['access_token']), String(body['refresh_token'])];
      await rewrite(await tokenPlace('AccessToken', jtiOf(access), authorized), NEWER);
      await rewrite(await tokenPlace('RefreshToken', token, authorized), NEWER);
      expect(await introspect(world(), access)).toMatchObject({ active: true });
      expect(await introspect(world(), access)).not.toHaveProperty('newer');
      expect((await refresh(world(), token)).status).toBe(200);
    });

    it('survive in a consent that is added to', async () => {
      const hash = await hashOf(world().openedStore);
      const consent = { kind: 'Consent', key: hash(`consent:${PEOPLE.bob}\nweb`) };
      await signIn(world(), { person: 'bob', scope: 'openid' });
      await rewrite(consent, NEWER);
      await signIn(world(), { person: 'bob', scope: 'openid email' });
      expect(await read(consent)).toMatchObject({ v: 1, ...NEWER, scopes: ['openid', 'email'] });
    });

    it('survive in the data of users and secrets', async () => {
      const { documents } = world().openedStore;
      const states = createAccountStates(documents);
      const people = createStoredUsers(world().openedStore);
      const carol = { id: 'usr_carol00000000000000003', username: 'carol', passwordHash: 'x', claims: {} };
      await states.update('usr_newer', { validAfter: 7 });
      await people.add(carol);
      const use = async (at: number) => {
        const uses = createSecretUses(documents, () => at * 1000);
        uses.note(CLIENT, SECRET);
        await uses.stop();
      };
      await use(1000);
      const useId = (await documents.list('secret-uses')).find(({ id }) => id.includes('newer'))?.id ?? '';
      const kept = [
        ['account-state', 'usr_newer'],
        ['people', carol.id],
        ['secret-uses', useId],
      ] as const;
      for (const [collection, id] of kept) {
        const found = await documents.get(collection, id);
        const form = JSON.parse(found?.value ?? '') as object;
        await documents.put(collection, id, JSON.stringify({ ...form, ...NEWER }), found?.version ?? 0);
      }
      await states.update('usr_newer', { disabled: true });
      expect(await people.setPassword(carol.id, 'y', 8)).toBeDefined();
      await use(2000);
      const forms = await Promise.all(
        kept.map(async ([collection, id]) => JSON.parse((await documents.get(collection, id))?.value ?? '')),
      );
      expect(forms).toEqual([
        expect.objectContaining({ v: 1, ...NEWER, validAfter: 7, disabled: true }),
        expect.objectContaining({ v: 1, ...NEWER, password_hash: 'y', valid_after: 8 }),
        expect.objectContaining({ v: 1, ...NEWER, at: 2000 }),
      ]);
    });

    it('survive in the key ring when it is turned, and are not published', async () => {
      const keyStore = keyStoreOf(world().openedStore);
      const { keys } = await keyStore.load();
      await keyStore.update((ring) => ({
        ...ring,
        ...NEWER,
        keys: ring.keys.map((key) => ({ ...key, ...NEWER })),
      }));
      const turned = await rotateByHand(keyStore);
      expect(turned).toMatchObject({
        ...NEWER,
        keys: expect.arrayContaining(keys.map(({ kid }) => expect.objectContaining({ kid, ...NEWER }))),
      });
      await turns.turn();
      const jwks = await get(world(), '/oauth/jwks.json');
      expect([jwks.status, jwks.text.includes('newer')]).toEqual([200, false]);
    });
  });

  describe('a form that only it knows', () => {
    async function expectLeftAlone(place: Place, ask: () => Promise<{ status: number; headers: Headers }>) {
      const before = await read(place);
      const answer = await ask();
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
      expect(await read(place)).toEqual(before);
      expect(logOf(world())).toContain(`${place.kind} in the store was written in form 2`);
    }

    it('of a code or a token is 503, spends nothing and writes nothing', async () => {
      const person = await signIn(world());
      const authorized = await authorize(world(), { browser: person.browser });
      const code = await tokenPlace('AuthorizationCode', codeOf(authorized), authorized);
      const token = await tokenPlace('RefreshToken', person.tokens.refresh_token ?? '', person);
      for (const place of [code, token]) await rewrite(place, NEXT_FORM);
      await expectLeftAlone(code, () => redeem(world(), authorized));
      await expectLeftAlone(token, () => refresh(world(), person.tokens.refresh_token));
      // Works as soon as the form is a known one.
      for (const place of [code, token]) await rewrite(place, { v: 1 });
      expect((await redeem(world(), authorized)).status).toBe(200);
      expect((await refresh(world(), person.tokens.refresh_token)).status).toBe(200);
    });

    it('of a session or a grant is 503, and signs no user out', async () => {
      const person = await signIn(world());
      const { session, grant } = await places(person);
      const url = `${world().issuer}/oauth/authorize?client_id=web`;
      await rewrite(session, NEXT_FORM);
      await expectLeftAlone(session, () => person.browser.request(`${url}&prompt=none`));
      await rewrite(session, { v: 1 });
      await rewrite(grant, NEXT_FORM);
      await expectLeftAlone(grant, () => refresh(world(), person.tokens.refresh_token));
    });

    it('of a user is 503, because their access is unknown', async () => {
      const { documents } = world().openedStore;
      const person = await signIn(world(), { person: 'bob' });
      const found = await documents.get('account-state', PEOPLE.bob);
      const text = JSON.stringify({ ...JSON.parse(found?.value ?? '{}'), ...NEXT_FORM, v: 3 });
      await documents.put('account-state', PEOPLE.bob, text, found?.version ?? 0);
      expect((await refresh(world(), person.tokens.refresh_token)).status).toBe(503);
      expect((await authorize(world(), { person: 'bob' })).callback.pathname).toContain('/login');
      expect(logOf(world())).toContain('the state of a user in the store was written in form 3');
      await documents.put('account-state', PEOPLE.bob, found?.value ?? '{}', (found?.version ?? 0) + 1);
      expect((await refresh(world(), person.tokens.refresh_token)).status).toBe(200);
    });

    it('of the key ring is logged, and the keys that are known go on', async () => {
      const { documents } = world().openedStore;
      const found = await documents.get(KEYS_COLLECTION, RING_ID);
      const form = JSON.parse(found?.value ?? '{}') as object;
      const text = JSON.stringify({ ...form, ...NEXT_RING });
      await documents.put(KEYS_COLLECTION, RING_ID, text, found?.version ?? 0);
      await turns.turn();
      expect(logOf(world())).toContain('the key ring in the store was written by a newer version');
      expect((await get(world(), '/oauth/jwks.json')).status).toBe(200);
      expect((await introspect(world(), await machineToken(world(), 'reports.read')))['active']).toBe(true);
      expect(JSON.parse((await documents.get(KEYS_COLLECTION, RING_ID))?.value ?? '{}')).toMatchObject(
        NEXT_RING,
      );
    });
  });
});

const logOf = ({ recorded: { log } }: OpenWorld) => log.join('\n');
