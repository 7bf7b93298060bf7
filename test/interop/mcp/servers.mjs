// What the servers of docs/mcp.md let in, and what they say to everybody else.
import { check, settings, version, versionOf } from '../report.ts';
import { SERVERS, startServer } from './server.ts';

version(`@modelcontextprotocol/sdk ${versionOf('@modelcontextprotocol/sdk')}, Python mcp 2.3.0`);
const resource = `${settings.app}/mcp`;

/** As a service. */
async function tokenFor(fields) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...fields });
  const authorization = `Basic ${btoa(`${settings.clientId}:${settings.clientSecret}`)}`;
  const answer = await fetch(`${settings.issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization },
    body,
  });
  return (await answer.json()).access_token;
}

const call = (token) =>
  fetch(resource, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'service', version: '1.0.0' },
      },
    }),
  });

for (const [name, program] of Object.entries(SERVERS)) {
  const stop = await startServer(program, { issuer: settings.issuer, resource });
  const refused = await call();
  const header = refused.headers.get('www-authenticate') ?? '';
  const [, place] = /resource_metadata="([^"]+)"/.exec(header) ?? [];
  check(refused.status === 401 && place !== undefined, `${name}: 401 that names its metadata`, header);
  const metadata = await (await fetch(place)).json();
  check(metadata.resource === resource, `${name}: metadata of the server`, metadata);
  check(metadata.authorization_servers[0] === settings.issuer, `${name}: and of its issuer`, metadata);

  const right = await tokenFor({ scope: 'mcp.tools' });
  check((await call(right)).status === 200, `${name}: lets a token in`);
  const forged = `${right.slice(0, -8)}${right.at(-8) === 'A' ? 'B' : 'A'}${right.slice(-7)}`;
  check((await call(forged)).status === 401, `${name}: refuses a forged one`);
  check(
    (await call(await tokenFor({ scope: 'reports.read' }))).status === 401,
    `${name}: refuses another audience`,
  );
  check(
    (await call(await tokenFor({ scope: 'mcp.admin' }))).status === 403,
    `${name}: 403 without the scope`,
  );
  stop();
}
