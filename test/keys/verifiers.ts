// Four resource servers that verify offline, each with the caching rule of a real one. They know
// only the address of the service's key set.
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';

export type Verifier = { readonly name: string; readonly getKey: JWTVerifyGetKey };

const MINUTE = 60_000;

/** In this order: jose, five minutes, never expiring, one hour. `urls`: the address that each of them fetches, in turn. */
export function createVerifiers(urls: readonly string[]): readonly Verifier[] {
  const urlOf = (index: number) => urls[index % urls.length] ?? '';
  return [
    { name: 'jose', getKey: createRemoteJWKSet(new URL(urlOf(0))) },
    { name: 'five minutes', getKey: cached(urlOf(1), { maxAge: 5 * MINUTE, refetchesUnknown: true }) },
    { name: 'go-oidc', getKey: cached(urlOf(2), { maxAge: Infinity, refetchesUnknown: true }) },
    // The strictest one: a gateway that doesn't fetch again for an unknown kid.
    { name: 'one hour', getKey: cached(urlOf(3), { maxAge: 60 * MINUTE, refetchesUnknown: false }) },
  ];
}

type Rule = {
  readonly maxAge: number;
  /** Whether an unknown kid makes it fetch again. */
  readonly refetchesUnknown: boolean;
};

function cached(url: string, { maxAge, refetchesUnknown }: Rule): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let fetchedAt = -Infinity;

  async function fetchKeys() {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    keys = createLocalJWKSet((await response.json()) as JSONWebKeySet);
    fetchedAt = Date.now();
    return keys;
  }

  return async (header, token) => {
    const isFresh = keys !== undefined && Date.now() - fetchedAt < maxAge;
    const known = isFresh && keys !== undefined ? keys : await fetchKeys();
    try {
      return await known(header, token);
    } catch (error) {
      if (!refetchesUnknown || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return (await fetchKeys())(header, token);
    }
  };
}

export const kidOf = (jwt: string): string => decodeProtectedHeader(jwt).kid ?? '';
