// Four resource servers that verify offline, each with the caching rule of a real one. Owns those rules; none of them
// knows anything of the service but the address of its key set.
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';

export type Verifier = {
  readonly name: string;
  readonly getKey: JWTVerifyGetKey;
};

const MINUTE = 60_000;

/** In the order: jose, five minutes, never expiring, one hour. `urls`: where each of them fetches, in turn. */
export function createVerifiers(urls: readonly string[]): readonly Verifier[] {
  const urlOf = (index: number) => urls[index % urls.length] ?? '';
  return [
    { name: 'jose', getKey: createRemoteJWKSet(new URL(urlOf(0))) },
    { name: 'five minutes', getKey: cached(urlOf(1), { maxAge: 5 * MINUTE, refetchesUnknown: true }) },
    { name: 'go-oidc', getKey: cached(urlOf(2), { maxAge: Infinity, refetchesUnknown: true }) },
    // The strictest: a gateway that doesn't look again for a kid it doesn't know.
    { name: 'one hour', getKey: cached(urlOf(3), { maxAge: 60 * MINUTE, refetchesUnknown: false }) },
  ];
}

type Rule = {
  readonly maxAge: number;
  /** An unknown kid makes it fetch once more. */
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
