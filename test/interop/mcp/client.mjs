// @modelcontextprotocol/sdk 1.x or @modelcontextprotocol/client 2.x, as a desktop app would use it, against a server of this folder.
import { Person } from '../person.ts';
import { check, settings, version, versionOf } from '../report.ts';
import { CLIENT_IDS, EXPIRED_MS, SERVERS, startServer } from './server.ts';

const [name, server] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
  name === '@modelcontextprotocol/client'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
        ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
      };
version(versionOf(name));

const resource = new URL(`${settings.app}/mcp`);
const redirectUrl = 'http://127.0.0.1:51004/callback';
const stop = await startServer(SERVERS[server], { issuer: settings.issuer, resource: resource.href });

for (const [kind, clientId] of Object.entries(CLIENT_IDS)) {
  const kept = {};
  const person = new Person();
  let callback;
  let visits = 0;
  const isRegistered = kind === 'registered';
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Desktop',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
    clientMetadataUrl: isRegistered ? undefined : clientId,
    state: () => 'the-state-of-this-client',
    clientInformation: () => (isRegistered ? { client_id: clientId, issuer: settings.issuer } : kept.client),
    saveClientInformation: (information) => void (kept.client = information),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    discoveryState: () => kept.discovery,
    async redirectToAuthorization(url) {
      visits += 1;
      callback = new URL((await person.open(url.href, redirectUrl)).url).searchParams;
    },
  };

  /** A start of the app, with what an earlier one kept. */
  async function start() {
    const open = async () => {
      const client = new Client({ name: 'desktop', version: '1.0.0' });
      const transport = new StreamableHTTPClientTransport(resource, { authProvider: provider });
      return { client, transport, connected: client.connect(transport) };
    };
    const first = await open();
    try {
      await first.connected;
      return first.client;
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await first.transport.finishAuth(
        name === '@modelcontextprotocol/client' ? callback : callback.get('code'),
      );
      const second = await open();
      await second.connected;
      return second.client;
    }
  }
  const whoami = async (client) => (await client.callTool({ name: 'whoami', arguments: {} })).content[0].text;

  const client = await start();
  check((await whoami(client)) === 'usr_fixture_person_ida', `${kind}: sign-in, consent, a tool call`);
  check(visits === 1, `${kind}: one page`, visits);
  if (!isRegistered) check(kept.client.client_id === clientId, `${kind}: client_id is the URL`, kept.client);

  if (kind === 'registered' && name === '@modelcontextprotocol/sdk') {
    // It asks for the scopes that the server names, and so not for offline_access.
    check(kept.tokens.refresh_token === undefined, `${kind}: no refresh token`);
    await client.close();
    continue;
  }

  const { access_token: before } = kept.tokens;
  await new Promise((resolve) => setTimeout(resolve, EXPIRED_MS));
  check((await whoami(client)) === 'usr_fixture_person_ida', `${kind}: a tool call after the token expired`);
  check(kept.tokens.access_token !== before && visits === 1, `${kind}: refreshed, without a page`, visits);
  await client.close();

  const again = await start();
  check(
    (await whoami(again)) === 'usr_fixture_person_ida' && visits === 1,
    `${kind}: a second start`,
    visits,
  );
  await again.close();
}
stop();
