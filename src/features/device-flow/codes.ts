// Device codes in the store (RFC 8628), under keyed hashes of the device code and of the user code. A lookup by user code returns a handle,
// which the token endpoint doesn't accept, instead of the device code.
import { randomUUID } from 'node:crypto';
import Provider, { type Adapter, type AdapterPayload, errors, type Session } from 'oidc-provider';
import type { App } from '../../oidc/app.ts';
import { networkOf } from '../../limits/network.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import type { Accounts } from '../../users/accounts.ts';
import { createAdapter } from '../../oidc/adapter.ts';
import { typedIn } from './around.ts';
import { createRecordForm } from '../../oidc/record-payload.ts';
import { issuedBySession } from '../../oidc/seam/session-sign-in.ts';

const KIND = 'DeviceCode';
const HANDLE = 'key:';
/** The record of a user code that was answered. */
const ANSWERED = '{"v":1}';
/** Eight letters, with any spaces and hyphens between them. Other input isn't corrected. */
const SPELLED = /^[a-z\s-]{8,32}$/i;
/** Seconds after expiry in which a late poll gets expired_token (RFC 8628 §3.5). */
const KEPT_SECONDS = 600;
const MAX_LENGTH = 128;

/** The code was answered before, perhaps by a concurrent request. */
export class CodeUsed extends errors.InvalidRequest {}

export async function signedInUser(findLive: Accounts['findLive'], session: Session | undefined) {
  return session?.accountId === undefined ? undefined : findLive(session.accountId, issuedBySession(session));
}

/** Only the parameters that the sign-in needs, because anyone can send a request. */
function paramsOf({ client_id, scope, resource, ...params }: Readonly<Record<string, unknown>> = {}) {
  const [max_age, acr_values] = [params['max_age'], params['acr_values']].map((value) =>
    String(value).length > MAX_LENGTH ? undefined : value,
  );
  return { client_id, scope, resource, max_age, acr_values };
}

export function createDeviceCodeAdapter(parts: App): Adapter {
  const { records, hash, store, limits, findLive } = parts;
  const { toRecord, payloadOf, ...form } = createRecordForm(KIND, parts);
  const keyOf = (id: string) => (id.startsWith(HANDLE) ? id.slice(HANDLE.length) : form.keyOf(id));
  const aliasOf = (userCode: string) => hash(`user-code:${userCode}`);

  /** Counts each try before any lookup. A right one is taken back. */
  async function takeTry(): Promise<() => void> {
    const { ctx } = Provider;
    const session = ctx?.oidc.session;
    const user = await signedInUser(findLive, session);
    if (!ctx || session === undefined || user === undefined) throw new errors.LoginRequired();
    const address = clientAddressOf(ctx);
    const { quotaOf, takeInStore } = limits;
    const { takeBack } = await takeInStore({ address }, [
      quotaOf('device.browser', session.uid),
      quotaOf('device.user', user.id),
      quotaOf('device.address', address),
      quotaOf('device.network', networkOf(address)),
    ]);
    return takeBack;
  }

  /** Claims the user code for the first answer, before the answer is saved. Throws CodeUsed for later ones. */
  async function claim(follows: string, alias: string, ttlSeconds: number): Promise<void> {
    const key = hash(randomUUID());
    const record = { kind: KIND, key, payload: ANSWERED, ttlSeconds, alias, follows };
    if ((await store.records.save({ ...record, isConfirmed: true })) !== 'saved')
      throw new CodeUsed('already used');
  }

  return {
    ...createAdapter(KIND, parts),

    async upsert(id, { userCode, params, ...payload }: AdapterPayload, expiresIn) {
      const ttlSeconds = (expiresIn ?? Number.NaN) + KEPT_SECONDS;
      const alias = userCode === undefined ? undefined : aliasOf(userCode);
      const isAnswer = id.startsWith(HANDLE);
      // The first answer: a denial, or an approval that one sign-in continues.
      const isEnd = payload['error'] !== undefined || payload.accountId !== undefined;
      if (isAnswer && alias !== undefined && (payload['inFlight'] === true) !== isEnd)
        await claim(keyOf(id), alias, ttlSeconds);
      await records.save({
        ...toRecord(id, { ...payload, params: paramsOf(params) }, ttlSeconds),
        key: keyOf(id),
        alias: isAnswer ? undefined : alias,
      });
    },

    async find(id) {
      if (id.startsWith(HANDLE) && Provider.ctx?.oidc.route === 'token') return undefined;
      const record = await records.find(KIND, keyOf(id));
      // A second use is a poll that was in flight, and no sign of theft, so it ends nothing.
      return record?.consumedAt === undefined ? payloadOf(record, id) : undefined;
    },

    async findByUserCode(userCode) {
      const takeBack = await takeTry();
      if (!SPELLED.test(typedIn(Provider.ctx))) return undefined;
      const record = await records.findByAlias(KIND, aliasOf(userCode));
      const payload = record?.payload === ANSWERED ? undefined : payloadOf(record);
      if (payload === undefined) return undefined;
      takeBack();
      return { ...payload, jti: `${HANDLE}${record?.key}`, userCode };
    },

    async consume(id) {
      await records.use(KIND, keyOf(id), async () => {
        throw new errors.InvalidGrant('device code already used');
      });
    },
  };
}
