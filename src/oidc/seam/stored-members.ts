// Members of a stored session, grant or interaction that the engine's models would drop: ours, and those of a newer version of this
// service, which are carried under one name and kept when the record is written again.
import type { Adapter, AdapterPayload } from 'oidc-provider';

const CARRIED = 'newerMembers';

/** The parts of a model class that are used here; the engine creates one adapter for each class. */
export type RewrittenModel = Readonly<{ IN_PAYLOAD: readonly string[]; adapter: Adapter }>;

type Carrying = AdapterPayload & { readonly [CARRIED]?: Readonly<Record<string, unknown>> };

/** Call this before the first use of `model`: the engine reads its members once. `own`: those that this version adds. */
export function keepMembers(model: RewrittenModel, own: readonly string[]): void {
  const { adapter } = model;
  const names = new Set([...model.IN_PAYLOAD, ...own]);
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...names, CARRIED] });

  function carry(payload: AdapterPayload | undefined | void): AdapterPayload | undefined {
    if (!payload) return undefined;
    const unknown = Object.entries(payload).filter(([name]) => !names.has(name));
    return unknown.length === 0 ? payload : { ...payload, [CARRIED]: Object.fromEntries(unknown) };
  }

  const base = { ...adapter };
  Object.assign(adapter, {
    find: async (id) => carry(await base.find(id)),
    findByUid: async (uid) => carry(await base.findByUid(uid)),
    upsert(id, payload: Carrying, expiresIn) {
      const { [CARRIED]: carried, ...known } = payload;
      return base.upsert(id, { ...carried, ...known }, expiresIn);
    },
  } satisfies Partial<Adapter>);
}
