// A session and a grant keep the generation that their person (accounts.ts) had at the sign-in that they came of.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { RewrittenModel } from './newer-members.ts';

type OfGeneration = { generation?: unknown };
export type SessionClass = RewrittenModel & {
  readonly prototype: { loginAccount: (this: OfGeneration, details: object) => void };
};

/** Before the first use of either model: the engine looks at its members once. */
export function keepGeneration(
  session: SessionClass,
  grant: RewrittenModel,
  current: () => KoaContextWithOIDC | undefined,
): void {
  for (const model of [session, grant]) {
    Object.defineProperty(model, 'IN_PAYLOAD', { value: [...model.IN_PAYLOAD, 'generation'] });
  }
  const { loginAccount } = session.prototype;
  session.prototype.loginAccount = function login(details) {
    loginAccount.call(this, details);
    this.generation = current()?.oidc.entities.Interaction?.result?.login?.['generation'];
  };
}

/** Undefined of what an earlier version made. */
export function generationOf(model: object): string | undefined {
  const { generation } = model as OfGeneration;
  return typeof generation === 'string' ? generation : undefined;
}
