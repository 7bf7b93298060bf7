// A peer: @node-oauth/oauth2-server on node:http, its client in memory, signing RS256 JWTs with jose. No limits, no log.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { generateKeyPair, SignJWT } from 'jose';
import { RESOURCE, SECRET } from '../names.ts';

type Answer = { readonly status: number; readonly headers: Record<string, string>; readonly body: object };
type Library = {
  new (options: { readonly model: object; readonly accessTokenLifetime: number }): {
    token(request: object, response: object): Promise<unknown>;
  };
  readonly Request: new (options: object) => object;
  readonly Response: new (options: object) => Answer;
};

// Installed separately, not with the service.
const require = createRequire(new URL('../peers/package.json', import.meta.url));
const OAuth2Server = require('@node-oauth/oauth2-server') as Library;

const [port = '0'] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await generateKeyPair('RS256');
const client = { id: 'bench', grants: ['client_credentials'] };

const server = new OAuth2Server({
  accessTokenLifetime: 600,
  model: {
    getClient: (id: string, given: string) => (id === client.id && given === SECRET ? client : undefined),
    getUserFromClient: () => ({ id: client.id }),
    validateScope: (_user: object, _client: object, scope: string[]) => scope,
    saveToken: (token: object, to: object, user: object) => ({ ...token, client: to, user }),
    generateAccessToken: (_client: object, _user: object, scope: string[] | undefined) =>
      new SignJWT({
        client_id: client.id,
        scope: scope?.join(' '),
        jti: randomBytes(32).toString('base64url'),
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setSubject(client.id)
        .setAudience(RESOURCE)
        .setIssuedAt()
        .setExpirationTime('10m')
        .sign(privateKey),
  },
});

createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => void answer(text));

  async function answer(form: string): Promise<void> {
    const { method, headers } = request;
    const body = Object.fromEntries(new URLSearchParams(form));
    const result = new OAuth2Server.Response({});
    await server
      .token(new OAuth2Server.Request({ method, headers, query: {}, body }), result)
      .catch(() => undefined);
    response.writeHead(result.status, { ...result.headers, 'content-type': 'application/json' });
    response.end(JSON.stringify(result.body));
  }
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
