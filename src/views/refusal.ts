// A rejected request, with the details that its sender may see. http/errors.ts answers it, wherever it is thrown.
import type { ClientModel } from './shared-models.ts';

export class Refusal extends Error {
  /** HTTP status, 4xx. */
  readonly status: number;
  /** An OAuth error code, or `not_found`, `forbidden`, `expired`, `no_cookies`. */
  readonly error: string;
  /** One safe sentence. */
  readonly description: string | undefined;
  /** The app that a user came from and can go back to. */
  readonly client: ClientModel | undefined;

  constructor(status: number, error: string, description?: string, client?: ClientModel) {
    super(description ?? error);
    this.name = 'Refusal';
    this.status = status;
    this.error = error;
    this.description = description;
    this.client = client;
  }
}

/** A form that isn't from a page that Postern sent to this browser. */
export class FormRefusal extends Refusal {
  readonly reason: 'csrf' | 'origin';

  constructor(reason: 'csrf' | 'origin', description: string, client?: ClientModel) {
    super(403, 'forbidden', description, client);
    this.reason = reason;
  }
}
