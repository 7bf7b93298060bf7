// What a feature that is on does in one application: hooks, each called at one place of the core.
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { Adapter, Configuration, interactionPolicy } from 'oidc-provider';
import type { ClientMetadataOf, ClientSource } from '../oidc/clients.ts';
import type { Guard, Narrowing } from '../oidc/guard.ts';
import type { Job } from '../oidc/job.ts';
import type { HearOfUser } from '../users/user-events.ts';
import type { PosternProvider } from '../oidc/seam/provider.ts';

export type Parts = Readonly<{
  /** Says whether the fast path may answer, and whether what a user was given may still be used. */
  guard: Guard;
  /** Finds clients that the file doesn't have. */
  clients?: ClientSource;
  /** Options of the engine, besides the core's. */
  engine?: Pick<Configuration, 'features' | 'ttl'>;
  /** Device flow only: where the records of a model are that it declares, if not with the others. */
  adapter?: (model: string) => Adapter | undefined;
  /** Middleware in front of the engine, in the order of the list. */
  around?: (provider: Provider) => Middleware;
  /** RFC 7591 metadata of a client, besides the core's. */
  clientMetadata?: ClientMetadataOf;
  /** RFC 8414 metadata, besides the core's or instead of it. */
  discovery?: Readonly<Record<string, unknown>>;
  /** Adds prompts between the sign-in and the consent. */
  prompts?: (policy: interactionPolicy.DefaultPolicy) => void;
  /** Access only: what users may not have of what is asked for. */
  narrowing?: Narrowing;
  /** Try-out only: middleware of the management listener, behind the operators' paths. */
  management?: Middleware;
  /** Changes classes of the engine before the instance serves. */
  seam?: (provider: PosternProvider) => void;
  /** Hears of what has happened to users, as the lists of their sessions do. It may hear of one thing twice. */
  hearOfUser?: HearOfUser;
  /** Works besides requests while the application serves. */
  job?: (provider: Provider) => Job;
}>;
