// Device codes in the store (RFC 8628): by keyed hashes of the device code and of the user code, so that it holds neither. Who comes by
// the user code gets a handle in the place of the device code, which opens nothing at the token endpoint.
import Provider, { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Limits } from '../limits/limits.ts';
import { GRANT } from '../store/store.ts';
import { type AdapterParts, createAdapter } from './adapter.ts';
import { modelOf } from './models.ts';
import { recordKey } from './record-key.ts';
import { createRecordPayload } from './record-payload.ts';

const KIND = 'DeviceCode';
const HANDLE = 'key:';
/** Eight letters, whatever stands between them. Anything else is not made into what it may have been meant for. */
const SPELLED = /^[a-z\s-]{8,32}$/i;
/** So that a poll after the end learns that it came too late (RFC 8628 §3.5, expired_token). */
const KEPT_SECONDS = 600;

/** device-forms.ts keeps what stood in an address. */
const typedOf = (ctx: KoaContextWithOIDC | undefined) =>
  String(ctx?.oidc.params?.['user_code'] ?? ctx?.state['userCode'] ?? '');

export function createDeviceCodeAdapter(parts: AdapterParts, limits: Pick<Limits, 'takeUserCode'>): Adapter {
  const { records, hash } = parts;
  const { toText, payloadOf } = createRecordPayload(KIND, parts.clock, parts.onDamaged);
  const keyOf = (id: string) => (id.startsWith(HANDLE) ? id.slice(HANDLE.length) : recordKey(hash, KIND, id));
  const aliasOf = (userCode: string) => hash(`user-code:${userCode}`);

  /** Each try counts before anything is looked up; a right one is taken back. */
  async function takeTry(): Promise<() => void> {
    const { ctx } = Provider;
    return limits.takeUserCode(String(ctx?.state['clientAddress'] ?? ''));
  }

  return {
    ...createAdapter(KIND, parts),

    async upsert(id, { userCode, ...payload }: AdapterPayload, expiresIn) {
      await records.save({
        kind: KIND,
        key: keyOf(id),
        payload: toText(id, payload),
        ttlSeconds: (expiresIn ?? Number.NaN) + KEPT_SECONDS,
        grant: payload.grantId === undefined ? undefined : recordKey(hash, GRANT, payload.grantId),
        alias: userCode === undefined ? undefined : aliasOf(userCode),
        isAwaited: modelOf(KIND).traits.includes('awaited'),
      });
    },

    async find(id) {
      if (id.startsWith(HANDLE) && Provider.ctx?.oidc.route === 'token') return undefined;
      const record = await records.find(KIND, keyOf(id));
      // A second use is a poll that was on its way, and no sign of theft: it ends nothing.
      return record?.consumedAt === undefined && record !== undefined ? payloadOf(record, id) : undefined;
    },

    async findByUserCode(userCode) {
      const takeBack = await takeTry();
      if (!SPELLED.test(typedOf(Provider.ctx))) return undefined;
      const record = await records.findByAlias(KIND, aliasOf(userCode));
      if (record === undefined || record.consumedAt !== undefined) return undefined;
      takeBack();
      const payload = payloadOf(record, undefined);
      return payload && { ...payload, jti: `${HANDLE}${record.key}`, userCode };
    },

    async consume(id) {
      await records.use(KIND, keyOf(id), async () => {
        throw new errors.InvalidGrant('device code already used');
      });
    },
  };
}
