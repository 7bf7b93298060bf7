// A JWT that a caller presented at introspection or revocation, wrapped in an object: the engine refuses strings that
// look like a JWS there ("structured tokens"), and no request can forge an object.

export class PresentedJwt {
  /** Private, so that code that prints or logs parameters doesn't see the credential. */
  readonly #jwt: string;

  constructor(jwt: string) {
    this.#jwt = jwt;
  }

  /** The token itself; for the models only. */
  get jwt(): string {
    return this.#jwt;
  }
}

/** The JWT in what a model's `find` was given; undefined for opaque values, arrays and anything else. */
export function jwtOf(value: unknown): string | undefined {
  if (value instanceof PresentedJwt) return value.jwt;
  if (typeof value === 'string' && value.includes('.')) return value;
  return undefined;
}
