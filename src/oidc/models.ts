// The only list of the models that have an adapter in the engine, with their traits.
import type { KoaContextWithOIDC, RefreshToken } from 'oidc-provider';
import type { Model, Trait } from '../config/model-rows.ts';
import { fold } from '../features/index.ts';
import { SIGN_IN_MEMBERS } from './seam/session-sign-in.ts';

const TOKEN = ['scoped', 'grantable', 'sessionBound'] satisfies readonly Trait[];
const MODELS = {
  AccessToken: { traits: TOKEN },
  AuthorizationCode: { traits: [...TOKEN, 'usedOnce'] },
  ...fold('models'),
  RefreshToken: { traits: [...TOKEN, 'usedOnce', 'awaited'] },
  // The adapter learns from oldId which session a new one follows.
  Session: { traits: [], members: ['oldId', ...SIGN_IN_MEMBERS], needs: 'uid accountId loginTs' },
  Grant: { traits: [], members: ['generation', 'consent'], needs: 'clientId accountId' },
  Interaction: { traits: [], members: ['browser', 'askedScope'], needs: 'returnTo params prompt' },
  Client: { traits: [] },
} satisfies Readonly<Record<string, Model>>;

export const modelNames = Object.keys(MODELS) as readonly (keyof typeof MODELS)[];

/** Throws a TypeError for a model that isn't in the table. */
export function modelOf(name: string): Model {
  const known = modelNames.find((one) => one === name);
  if (known === undefined) throw new TypeError(`${name} is not in the table of models`);
  return MODELS[known];
}

const USED_ONCE = modelNames.filter((name) => modelOf(name).traits.includes('usedOnce'));

/** The code or refresh token that is exchanged. Codes come first, because their exchange may issue a refresh token. */
export function sourceOf(ctx: KoaContextWithOIDC | undefined): RefreshToken | undefined {
  if (ctx?.oidc?.route !== 'token') return undefined;
  const { entities } = ctx.oidc;
  return USED_ONCE.map((name) => entities[name] as RefreshToken | undefined).find(Boolean);
}
