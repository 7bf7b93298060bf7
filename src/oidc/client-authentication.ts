// Client authentication. An attempt with a secret is counted first, then every live hash is compared in constant time. The client's own
// request is counted afterwards, so that no guess is free and only the client itself can use up its limit.
//
// Anyone can send an app or an API made-up codes and tokens, which it passes on. So only real ones count against the client's own limit
// (docs/decisions/limits.md). All others count against a second limit, which also stops a client that guesses tokens (RFC 7662 §4).
import { timingSafeEqual } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Client, ClientSecret } from '../config/config.ts';
import { clientLimitsOf } from '../config/endpoints.ts';
import { digestOf } from '../config/secret-strength.ts';
import type { ClientPlace, Limits } from '../limits/limits.ts';
import { clientAddressOf } from '../observability/audit.ts';
import type { Clock } from '../store/store.ts';
import type { Clients } from './clients.ts';

/** The endpoint and the address of a client authentication. */
export const clientPlaceOf = (ctx: KoaContextWithOIDC): ClientPlace => ({
  endpoint: clientLimitsOf(ctx.oidc.route)[0],
  address: clientAddressOf(ctx),
});

type CountedRequest = ClientPlace & { readonly client: Client; isCounted: boolean };
type State = { clientRequest?: CountedRequest };

/** Whether a client has authenticated, or is a public one that named itself and was counted by its address. */
export const hasClient = ({ state }: Pick<Context, 'state'>) => (state as State).clientRequest !== undefined;

type ClientAuthenticationParts = Readonly<{
  clients: Clients;
  limits: Limits;
  now: Clock;
  /** Receives the matching secret. Delays the request, so it must only take a note. */
  onSecretUsed: (client: Client, secret: ClientSecret) => void;
}>;

export function createClientAuthentication({
  clients,
  limits,
  now,
  onSecretUsed,
}: ClientAuthenticationParts) {
  async function take(request: CountedRequest): Promise<void> {
    request.isCounted = true;
    await limits.takeClient(request, request.client);
  }

  /** Admits a client that has authenticated, or a public one that named itself. */
  async function admitClient(ctx: KoaContextWithOIDC, client: Client): Promise<void> {
    const { oidc } = ctx;
    const request = { client, ...clientPlaceOf(ctx), isCounted: false };
    const { endpoint, address } = request;
    (ctx.state as State).clientRequest = request;
    // Anyone can name a public client, so it is counted before any look-up, and by address as well. At introspection, a token that
    // isn't its own counts as a wrong secret.
    if (isPublic(client)) await limits.takeAddress(clientLimitsOf(oidc.route)[1], address);
    const isMachine = oidc.params?.['grant_type'] === 'client_credentials';
    if (isMachine || (isPublic(client) && endpoint !== 'introspection')) await take(request);
  }

  return {
    admitClient,

    /** Counts the attempt, compares in constant time, and admits the client on a match. Throws what the host answers (429, 503). */
    compareSecret: async (ctx: KoaContextWithOIDC, clientId: string, secret: string): Promise<boolean> => {
      const client = await clients.load(clientId);
      if (client === undefined) return false;
      const isRight = await limits.attemptSecret(clientPlaceOf(ctx), clientId, () => {
        const match = findSecret(client.secrets, digestOf(secret), now() / 1000);
        if (match !== undefined) onSecretUsed(client, match);
        return match !== undefined;
      });
      if (isRight) await admitClient(ctx, client);
      return isRight;
    },

    /** Counts the request before it uses up a real code or token. A refusal leaves the code or token unused. */
    takeBeforeUse: async (ctx: Pick<Context, 'state'> | undefined): Promise<void> => {
      const request = (ctx?.state as State | undefined)?.clientRequest;
      if (request?.isCounted === false) await take(request);
    },

    /** Counts, by their answer, the requests that weren't counted before. */
    countAnswers: async (ctx: Context, next: Next): Promise<void> => {
      // An outage throws and isn't counted: 503 says nothing about the token.
      await next();
      const request = (ctx.state as State).clientRequest;
      if (request === undefined || request.isCounted) return;
      const { client } = request;
      if (isActive(ctx.body)) await take(request);
      else if (isPublic(client)) await limits.attemptSecret(request, client.clientId, () => false);
      else await limits.takeClient(request, client, 'unknown');
    },
  };
}

const isPublic = ({ tokenEndpointAuthMethod }: Client) => tokenEndpointAuthMethod === 'none';

const isActive = (body: unknown) =>
  typeof body === 'object' && body !== null && 'active' in body && body.active === true;

/** Finds the live secret with this digest; `at` in epoch seconds. Compares with every live secret, even after a match. */
export function findSecret(
  secrets: readonly ClientSecret[],
  digest: Buffer,
  at: number,
): ClientSecret | undefined {
  let match: ClientSecret | undefined;
  for (const candidate of secrets) {
    if (isLive(candidate, at) && timingSafeEqual(candidate.digest, digest)) match = candidate;
  }
  return match;
}

const isLive = ({ notBefore, expiresAt }: ClientSecret, at: number) =>
  (notBefore === undefined || notBefore <= at) && (expiresAt === undefined || at < expiresAt);
