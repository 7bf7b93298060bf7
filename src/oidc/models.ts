// The models that the engine asks its adapter for, and their traits: the only list of them.
import { SIGN_IN_MEMBERS } from './seam/session-sign-in.ts';

type Trait =
  /** Has a scope. Each read removes what its client may no longer ask for (policies/narrowed-scope.ts). */
  | 'scoped'
  /** Belongs to a grant and is revoked with it (adapter.ts). */
  | 'grantable'
  /** Expires with its session, unless it has offline access (seam/bindings.ts). */
  | 'sessionBound'
  /** Can be used once. A limit counts the use (seam/provider.ts). */
  | 'usedOnce'
  /** Replicas have it before the request goes on. */
  | 'awaited';

export type Model = Readonly<{
  /** The adapter in options.ts. */
  adapter: 'records' | 'sessions' | 'grants' | 'deviceCodes' | 'clients';
  traits: readonly Trait[];
  /** Our members of a model that is saved again (seam/stored-members.ts). */
  members?: readonly string[];
}>;

const TOKEN = ['scoped', 'grantable', 'sessionBound'] satisfies readonly Trait[];
const MODELS = {
  AccessToken: { adapter: 'records', traits: TOKEN },
  AuthorizationCode: { adapter: 'records', traits: [...TOKEN, 'usedOnce'] },
  RefreshToken: { adapter: 'records', traits: [...TOKEN, 'usedOnce', 'awaited'] },
  DeviceCode: { adapter: 'deviceCodes', traits: [...TOKEN, 'usedOnce', 'awaited'] },
  // The adapter learns from oldId which session a new one follows.
  Session: { adapter: 'sessions', traits: [], members: ['oldId', ...SIGN_IN_MEMBERS] },
  Grant: { adapter: 'grants', traits: [], members: ['generation', 'consent'] },
  Interaction: { adapter: 'records', traits: [], members: ['browser', 'askedScope'] },
  Client: { adapter: 'clients', traits: [] },
} satisfies Readonly<Record<string, Model>>;

export const modelNames = Object.keys(MODELS) as readonly (keyof typeof MODELS)[];

/** Throws a TypeError for a model that isn't in the table. */
export function modelOf(name: string): Model {
  const known = modelNames.find((one) => one === name);
  if (known === undefined) throw new TypeError(`${name} is not in the table of models`);
  return MODELS[known];
}
