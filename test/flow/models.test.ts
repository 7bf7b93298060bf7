// The table of models against the engine: the models that it requests from the adapter in all flows, and the behavior of its classes.
import { randomUUID } from 'node:crypto';
import Provider, { type Adapter } from 'oidc-provider';
import { expect, it, vi } from 'vitest';
import { fold } from '../../src/features/index.ts';
import { modelNames, modelOf } from '../../src/oidc/models.ts';
import type { NewRecord, Store } from '../../src/store/store.ts';
import { machineToken, signIn } from '../world/app.ts';
import { useWorld } from '../world/each-store.ts';
import { introspect, revoke, userinfo } from '../world/presented-tokens.ts';
import { get } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { GENEROUS, PEOPLE, worldClients } from '../world/world.ts';

type Token = { readonly scope?: string; save(): Promise<string>; consume(): Promise<void> };
type Class = {
  new (members: object): Token;
  find(value: string): Promise<Token | undefined>;
  readonly prototype: object;
  readonly adapter: Adapter;
  readonly IN_PAYLOAD?: readonly string[];
  readonly revokeByGrantId?: (grantId: string) => Promise<void>;
};

const saved: NewRecord[] = [];
let engine: Provider | undefined;
const handStore = ({ records, ...store }: Store): Store => ({
  ...store,
  records: {
    ...records,
    save: (record) => (saved.push(record), records.save(record)),
    find: (...of) => ((engine = Provider.ctx?.oidc.provider ?? engine), records.find(...of)),
  },
});
const world = useWorld({ config: GENEROUS, handStore });

/** Makes the engine of the running configuration read from the store. */
const findEngine = () => redeem(world(), { code: 'unknown' });
const classOf = (name: string) => Reflect.get(engine ?? {}, name) as Class;
const withTrait = (trait: string) =>
  modelNames.filter((name) => modelOf(name).traits.some((one) => one === trait));

/** Creates a model as the engine saves it; `value` is the text that a client presents. */
async function make(name: string, members: object = {}) {
  const scope = 'openid offline_access profile';
  const owner = { clientId: 'web', accountId: PEOPLE.alice, grantId: randomUUID() };
  const token = new (classOf(name))({ ...owner, scope, params: {}, deviceInfo: {}, ...members });
  const value = await token.save();
  return { token, find: () => classOf(name).find(value) };
}

it('has the models that the engine asks for, and throws for any other', async () => {
  await findEngine();
  const spies = modelNames.map((name) => {
    const { adapter } = classOf(name);
    return [name, (Object.keys(adapter) as (keyof Adapter)[]).map((one) => vi.spyOn(adapter, one))] as const;
  });
  const { browser, tokens } = await signIn(world());
  expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
  expect((await refresh(world(), tokens.refresh_token)).status).toBe(200);
  expect((await introspect(world(), await machineToken(world())))['active']).toBe(true);
  expect((await revoke(world(), tokens.access_token)).status).toBe(200);
  expect((await get(world(), '/oauth/authorize?client_id=unknown')).status).toBe(400);
  const ask = await browser.open(`${world().issuer}/oauth/logout?id_token_hint=${tokens.id_token ?? ''}`);
  expect((await browser.submit(ask, '/confirm', { logout: 'yes' })).status).toBe(200);

  const asked = spies.filter(([, ofModel]) => ofModel.some(({ mock }) => mock.calls.length > 0));
  expect(asked.map(([name]) => name)).toEqual(modelNames.filter((name) => !(name in fold('models'))));
  for (const name of ['ClientCredentials', 'constructor']) expect(() => modelOf(name)).toThrow(TypeError);
  expect(() => engine?.ReplayDetection.adapter).toThrow('ReplayDetection is not in the table');
});

it.each<[string, (model: Class) => unknown]>([
  ['scoped', ({ IN_PAYLOAD: members }) => members?.includes('scope')],
  ['grantable', ({ revokeByGrantId }) => revokeByGrantId],
  ['sessionBound', ({ IN_PAYLOAD: members }) => members?.includes('expiresWithSession')],
  ['usedOnce', ({ prototype }) => 'consume' in prototype],
])('has %s for the models whose class in the engine is', (trait, is) => {
  expect(withTrait(trait)).toEqual(modelNames.filter((name) => is(classOf(name))));
});

it.each(withTrait('grantable'))('%s is revoked with its grant, and with no other', async (name) => {
  const [revoked, other] = [await make(name, { grantId: 'a' }), await make(name, { grantId: 'b' })];
  await classOf('AccessToken').revokeByGrantId?.('a');
  expect([await revoked.find(), await other.find()]).toEqual([undefined, expect.anything()]);
});

it.each(withTrait('sessionBound'))('%s is not found where its session is over', async (name) => {
  const [bound, free] = [await make(name, { expiresWithSession: true, sessionUid: 'x' }), await make(name)];
  expect([await bound.find(), await free.find()]).toEqual([undefined, expect.anything()]);
});

it.each(withTrait('usedOnce'))('%s is rejected at a second use', async (name) => {
  const { token } = await make(name);
  await token.consume();
  await expect(token.consume()).rejects.toThrow('invalid_grant');
});

it('has awaited and grantable for the records that are saved so', () => {
  const kinds = (is: (record: NewRecord) => unknown) => [...new Set(saved.filter(is).map((one) => one.kind))];
  expect(kinds(({ isAwaited }) => isAwaited).toSorted()).toEqual(withTrait('awaited').toSorted());
  const inGrant = kinds(({ grant, key }) => grant !== undefined && grant !== key);
  expect(inGrant.toSorted()).toEqual(withTrait('grantable').toSorted());
});

it('CF-05: whatever is scoped loses the scopes that its client loses', async () => {
  const made = await Promise.all(withTrait('scoped').map((name) => make(name)));
  const scope = 'openid offline_access';
  await world().reload({ ...GENEROUS, clients: worldClients({ web: { scope } }) });
  await findEngine();
  const found = await Promise.all(made.map(({ find }) => find()));
  expect(found.map((one) => one?.scope)).toEqual(made.map(() => scope));
});
