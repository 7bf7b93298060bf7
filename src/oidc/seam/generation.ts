// A session and a grant keep the generation that their person (accounts.ts) had at the sign-in that they came of.
import type { KoaContextWithOIDC } from 'oidc-provider';

type OfGeneration = { generation?: unknown };
export type SessionClass = {
  readonly prototype: { loginAccount: (this: OfGeneration, details: object) => void };
};

/** A grant gets it where it is made. */
export function keepGeneration(
  { prototype }: SessionClass,
  current: () => KoaContextWithOIDC | undefined,
): void {
  const { loginAccount } = prototype;
  prototype.loginAccount = function login(details) {
    loginAccount.call(this, details);
    this.generation = current()?.oidc.entities.Interaction?.result?.login?.['generation'];
  };
}

/** Undefined of what an earlier version made. */
export function generationOf(model: object): string | undefined {
  const { generation } = model as OfGeneration;
  return typeof generation === 'string' ? generation : undefined;
}
