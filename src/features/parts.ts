// The hooks of a feature that is on, in one application. The core calls each hook in one place.
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { Adapter, Configuration, interactionPolicy } from 'oidc-provider';
import type { ClientMetadataOf, ClientSource } from '../oidc/clients.ts';
import type { Guard, Narrowing } from '../oidc/guard.ts';
import type { Job } from '../oidc/job.ts';
import type { OnUserEvent } from '../users/user-events.ts';
import type { PosternProvider } from '../oidc/seam/provider.ts';

export type Parts = Readonly<{
  /** Decides whether the fast path may answer, and whether a user's tokens may still be used. */
  guard: Guard;
  /** Client documents only: finds clients that aren't in the file. */
  clients?: ClientSource;
  /** Options of the engine, besides the core's. */
  engine?: Pick<Configuration, 'features' | 'ttl'>;
  /** Device flow only: the adapter of a model that isn't stored like the others. */
  adapter?: (model: string) => Adapter | undefined;
  /** Middleware before the engine, in the order of the list. */
  around?: (provider: Provider) => Middleware;
  /** RFC 7591 metadata of a client, besides the core's. */
  clientMetadata?: ClientMetadataOf;
  /** RFC 8414 metadata, besides the core's or instead of it. */
  discovery?: Readonly<Record<string, unknown>>;
  /** Adds prompts between the sign-in and the consent. */
  prompts?: (policy: interactionPolicy.DefaultPolicy) => void;
  /** Access only: removes what a user may not have from a request. */
  narrowing?: Narrowing;
  /** Try-out only: middleware of the management listener, after the paths for administrators. */
  management?: Middleware;
  /** Changes classes of the engine before the instance serves. */
  seam?: (provider: PosternProvider) => void;
  /** Email only: receives the events of users, some twice. */
  onUserEvent?: OnUserEvent;
  /** Background work while the application serves. */
  job?: (provider: Provider) => Job;
}>;
