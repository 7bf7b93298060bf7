// Members of a stored session, grant or interaction that a newer version added: this version keeps them when it writes the
// record again. The engine's models drop what they don't know, so it travels through them under one name.
import type { Adapter, AdapterPayload } from 'oidc-provider';

const CARRIED = 'newerMembers';

/** What of a model class matters here; the engine makes one adapter for each class. */
export type RewrittenModel = { readonly IN_PAYLOAD: readonly string[]; readonly adapter: Adapter };

type Carrying = AdapterPayload & { readonly [CARRIED]?: Readonly<Record<string, unknown>> };

/** Before the first use of `model`: the engine looks at its members once. */
export function keepNewerMembers(model: RewrittenModel): void {
  const { adapter } = model;
  const names = new Set(model.IN_PAYLOAD);
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...names, CARRIED] });

  function carry(payload: AdapterPayload | undefined | void): AdapterPayload | undefined {
    if (!payload) return undefined;
    const unknown = Object.entries(payload).filter(([name]) => !names.has(name));
    return unknown.length === 0 ? payload : { ...payload, [CARRIED]: Object.fromEntries(unknown) };
  }

  const own = { ...adapter };
  Object.assign(adapter, {
    find: async (id) => carry(await own.find(id)),
    findByUid: async (uid) => carry(await own.findByUid(uid)),
    upsert(id, payload: Carrying, expiresIn) {
      const { [CARRIED]: carried, ...known } = payload;
      return own.upsert(id, { ...carried, ...known }, expiresIn);
    },
  } satisfies Partial<Adapter>);
}
