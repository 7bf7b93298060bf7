// One instance of the engine for one configuration and one key set, tested before anybody sees it. New keys or a new
// configuration make a new instance; nothing here changes afterwards.
import compose from 'koa-compose';
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { Client } from '../config/config.ts';
import type { ClientEndpoint, Limits } from '../limits/limits.ts';
import type { Log } from '../telemetry/log.ts';
import { type AccessTokens, createAccessTokens } from '../tokens/access-token.ts';
import { createAudienceRules } from '../tokens/audience.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import { adjustAnswers, rememberFaults } from './answers.ts';
import { createSecretComparison } from './client-authentication.ts';
import { type ConfigurationParts, createConfiguration } from './configuration.ts';
import { createOfflineAccessNotice } from './offline-access-notice.ts';
import { PosternProvider } from './seam/provider.ts';
import { assertSignsAndVerifies } from './self-test.ts';

export type EngineParts = Omit<ConfigurationParts, 'audiences'> & {
  readonly revoked: RevokedTokens;
  readonly limits: Limits;
  readonly log: Log;
};

export type Engine = {
  readonly provider: Provider;
  readonly tokens: AccessTokens;
  readonly keySetGeneration: number;
  readonly findClient: (clientId: string) => Client | undefined;
  /** Runs inside the host's own Koa context. */
  readonly handle: Middleware;
};

/** Throws when the new instance can't sign what it verifies or would publish a private key. */
export async function createEngine(parts: EngineParts): Promise<Engine> {
  const { config, keySet, now, limits, revoked } = parts;
  const audiences = createAudienceRules(config.issuer, config.resources, config.lifetimes.accessToken);
  const tokens = await createAccessTokens(config.issuer, keySet, now);
  await assertSignsAndVerifies(tokens, keySet, now);

  const clients = new Map(config.clients.map((client) => [client.clientId, client]));
  const findClient = (clientId: string) => clients.get(clientId);
  const compareSecret = createSecretComparison(findClient, limits, now);

  const provider = new PosternProvider(config.issuer, createConfiguration({ ...parts, audiences }), {
    tokens,
    audiences,
    revoked,
    compareClientSecret: (ctx, clientId, secret) =>
      compareSecret(
        {
          endpoint: (ctx?.oidc.route ?? 'token') as ClientEndpoint,
          address: String(ctx?.state['clientAddress'] ?? ''),
        },
        clientId,
        secret,
      ),
  });
  rememberFaults(provider);

  return {
    provider,
    tokens,
    keySetGeneration: keySet.generation,
    findClient,
    handle: compose([
      createOfflineAccessNotice(parts.log),
      adjustAnswers(config.issuer),
      ...(provider.middleware as Middleware[]),
    ]),
  };
}
