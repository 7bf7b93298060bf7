// Which access tokens of people are active, for the fast path of introspection: asked of the engine's own models.
// policies/token-policies.ts decides which caller may know.
import type Provider from 'oidc-provider';
import type { UnitOfWork } from '../store/unit-of-work.ts';

type Token = InstanceType<Provider['AccessToken']>;
type Grant = InstanceType<Provider['Grant']>;

export type PersonToken = { readonly token: Token; readonly grant: Grant };

/** Runs `work` with the token, when it is a person's and lives; else resolves undefined. Throws StoreUnavailable. */
export type WithPersonToken = <T>(
  jwt: string,
  work: (found: PersonToken) => Promise<T>,
) => Promise<T | undefined>;

export function createPersonTokens(provider: Provider, { run }: Pick<UnitOfWork, 'run'>): WithPersonToken {
  async function find(jwt: string): Promise<PersonToken | undefined> {
    const token = await provider.AccessToken.find(jwt);
    const grant = token && (await provider.Grant.find(token.grantId));
    const isItsOwn = grant?.clientId === token?.clientId && grant?.accountId === token?.accountId;
    return token && grant && isItsOwn ? { token, grant } : undefined;
  }

  return async function withPersonToken(jwt, work) {
    let result;
    await run(async () => {
      const found = await find(jwt);
      if (found !== undefined) result = await work(found);
    });
    return result;
  };
}
