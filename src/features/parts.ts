// What one application has of a feature that is on: optional parts of a plain object, each folded at one place of the core.
import type Provider from 'oidc-provider';
import type { ClientMetadata } from 'oidc-provider';
import type { Client } from '../config/config.ts';
import type { SendAnswer } from '../oidc/send-page.ts';

export type Parts = Readonly<{
  /** RFC 7591 metadata of a client, besides the core's. */
  clientMetadata?: (client: Client) => Partial<ClientMetadata>;
  /** RFC 8414 metadata, besides the core's or instead of it. */
  discovery?: Readonly<Record<string, unknown>>;
  /** What of the engine's classes it changes, before the instance serves. */
  seam?: (provider: Provider & Seam) => void;
}>;

/** What our engine offers besides its own methods (oidc/seam/provider.ts). */
export type Seam = Readonly<{
  /** A further way to send the answer of an authorization request. */
  offerResponseMode: (name: string, send: SendAnswer) => void;
}>;
