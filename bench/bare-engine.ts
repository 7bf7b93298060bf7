// B: the engine alone, with its own JWT access tokens and its client in Redis; no limits, no logs, no host.
import { Redis } from 'ioredis';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import { exportJWK, generateKeyPair } from 'jose';

const [url = '', port = '0'] = process.argv.slice(2);
const redis = new Redis(url);
const issuer = `http://127.0.0.1:${port}`;
const client = {
  client_id: 'bench',
  client_secret: 'bench-secret-Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9St',
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
      getResourceServerInfo: () => ({ scope: 'reports.read', accessTokenFormat: 'jwt' as const }),
    },
  },
  ttl: { ClientCredentials: 600 },
});
provider.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
