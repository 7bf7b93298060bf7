import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const issuer = process.env.ISSUER; // https://id.example.com
const resource = process.env.RESOURCE; // https://mcp.example.com/mcp
const metadataPath = '/.well-known/oauth-protected-resource/mcp';

const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks.json`));
const rules = { issuer, audience: resource, typ: 'at+jwt', algorithms: ['RS256'] };

const verifier = {
  async verifyAccessToken(token) {
    try {
      const { payload } = await jwtVerify(token, keys, rules);
      const scopes = payload.scope.split(' ');
      return {
        token,
        clientId: payload.client_id,
        scopes,
        expiresAt: payload.exp,
        extra: { sub: payload.sub },
      };
    } catch (error) {
      // Keys that can't be fetched are no reason to sign in again.
      if (/^ERR_(JWT|JWS|JOSE_ALG)_|NO_MATCHING_KEY/.test(error.code))
        throw new InvalidTokenError('bad token');
      throw error;
    }
  },
};

function createMcp() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Who is signed in' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: authInfo.extra.sub }],
  }));
  return server;
}

const app = express();
app.get(metadataPath, (_request, response) => {
  // RFC 9728: https://mcp.example.com/.well-known/oauth-protected-resource/mcp
  response.set('Access-Control-Allow-Origin', '*').json({
    resource,
    authorization_servers: [issuer],
    scopes_supported: ['mcp.tools', 'mcp.admin'],
    bearer_methods_supported: ['header'],
  });
});
const guard = requireBearerAuth({
  verifier,
  requiredScopes: ['mcp.tools'],
  resourceMetadataUrl: new URL(metadataPath, resource).href,
});
app.all('/mcp', guard, express.json(), (request, response, next) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  createMcp()
    .connect(transport)
    .then(() => transport.handleRequest(request, response, request.body))
    .catch(next);
});
app.listen(Number(process.env.PORT), '127.0.0.1');
