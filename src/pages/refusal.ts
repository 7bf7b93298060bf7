// A request that is not served, with what its sender may know of it. Thrown anywhere, answered in http/errors.ts.

export class Refusal extends Error {
  /** HTTP status, 4xx. */
  readonly status: number;
  /** An OAuth error code, or `not_found`, `forbidden`, `expired`. */
  readonly error: string;
  /** One safe sentence. */
  readonly description: string | undefined;

  constructor(status: number, error: string, description?: string) {
    super(description ?? error);
    this.name = 'Refusal';
    this.status = status;
    this.error = error;
    this.description = description;
  }
}
