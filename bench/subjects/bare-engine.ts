// B: the engine alone, with its own JWT access tokens and its client in Redis; no limits, no logs, no host. With
// resource=urn:example:opaque the token is an opaque one, which is all that the engine by itself introspects.
import { Redis } from 'ioredis';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import { exportJWK, generateKeyPair } from 'jose';

const [url = '', port = '0', secret = ''] = process.argv.slice(2);
const redis = new Redis(url);
const issuer = `http://127.0.0.1:${port}`;
const client = {
  client_id: 'bench',
  client_secret: secret,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
};
await redis.set('Client:bench', JSON.stringify(client));
const { privateKey } = await generateKeyPair('RS256', { extractable: true });

const adapter = (model: string): Adapter => ({
  async upsert(id, payload, expiresIn) {
    await redis.set(`${model}:${id}`, JSON.stringify(payload), 'EX', expiresIn ?? 60);
  },
  async find(id) {
    const found = await redis.get(`${model}:${id}`);
    return found === null ? undefined : (JSON.parse(found) as AdapterPayload);
  },
  findByUid: () => Promise.resolve(undefined),
  findByUserCode: () => Promise.resolve(undefined),
  consume: () => Promise.resolve(),
  destroy: () => Promise.resolve(),
  revokeByGrantId: () => Promise.resolve(),
});

const provider = new Provider(issuer, {
  adapter,
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:example:api',
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'reports.read',
        accessTokenFormat: resource === 'urn:example:opaque' ? ('opaque' as const) : ('jwt' as const),
      }),
    },
  },
  ttl: { ClientCredentials: 600 },
});
provider.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
