import { describe, expect, it } from 'vitest';
import { NO_PKCE } from '../world/authorization-request.ts';
import { ask, complete, redirectOf } from '../world/person.ts';
import { redeem } from '../world/token-endpoint.ts';
import { worldClients } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

describe('require_pkce: false', () => {
  const world = useWorld({ config: { clients: worldClients({ web: { require_pkce: false } }) } });
  const WITHOUT = { code_verifier: undefined };

  it('lets off the confidential client that says require_pkce: false', async () => {
    const answer = await redeem(world(), await complete(world(), 'alice', NO_PKCE), WITHOUT);
    expect(answer.status).toBe(200);
  });

  it('checks the verifier all the same where a challenge was sent', async () => {
    const answer = await redeem(world(), await complete(world()), WITHOUT);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('lets off no other', async () => {
    for (const [client, uri] of [
      ['spa', 'https://spa.example/cb'],
      ['web2', 'https://app2.example/cb'],
    ] as const) {
      const { target, query } = redirectOf(await ask(world(), { ...NO_PKCE, client_id: client }));
      expect([target, query['error']]).toEqual([uri, 'invalid_request']);
    }
  });
});
