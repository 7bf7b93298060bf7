import { describe, expect, it } from 'vitest';
import { isListedDocument } from '../../../src/features/client-documents/feature.ts';
import {
  client,
  clientProblems,
  load,
  loadClient,
  PUBLIC,
  problemsOf,
  RESOURCES,
} from '../../unit/config/config-files.ts';

const URL_ID = 'https://docs.example/client.json';
const pinned = (keys: Record<string, string | undefined> = {}) =>
  client({
    client_id: URL_ID,
    client_secret: undefined,
    token_endpoint_auth_method: 'none',
    ...keys,
  });

const DOCUMENTS = (keys: string) => `${PUBLIC}${RESOURCES}client_documents: { ${keys} }\n`;

async function listed(hosts: string): Promise<(clientId: string) => boolean> {
  const { clientDocuments } = await load(DOCUMENTS(`hosts: [${hosts}], scope: openid reports.read`));
  return (clientId) => isListedDocument(clientId, clientDocuments?.hosts ?? []);
}

describe('client_documents', () => {
  it('is off unless it is given, and trusts no name with private addresses', async () => {
    const config = await load(PUBLIC);
    expect(config.clientDocuments).toBeUndefined();
    expect(config.outgoing).toEqual({ internalHosts: [] });
  });

  it('has hosts and a scope', async () => {
    const { clientDocuments, outgoing } = await load(
      `${DOCUMENTS('hosts: [docs.example], scope: openid offline_access  reports.read')}outgoing: { internal_hosts: [docs.example] }\n`,
    );
    expect(clientDocuments).toEqual({
      hosts: ['docs.example'],
      scope: ['openid', 'offline_access', 'reports.read'],
    });
    expect(outgoing).toEqual({ internalHosts: ['docs.example'] });
  });

  it.each([
    ['hosts: [], scope: openid', 'client_documents.hosts', 'at least one host'],
    ['hosts: [docs.example]', 'client_documents.scope', 'is required'],
    ['scope: openid', 'client_documents.hosts', 'is required'],
    ['hosts: [docs.example], scope: ""', 'client_documents.scope', 'at least one scope'],
    ['hosts: [docs.example], scope: openid admin', 'client_documents.scope', 'has unknown scopes: "admin"'],
    ...[
      'https://docs.example',
      '"*.example"',
      'docs.example:8443',
      'Docs.example',
      'docs.example.',
      '10.0.0.5',
      '0x7f.1',
      '"[::1]"',
      'docs.example/',
      'docs.example/a/../b',
      'docs.example/a#b',
    ].map((host) => [`hosts: [${host}], scope: openid`, 'client_documents.hosts[0]', 'must be a host']),
  ])('is refused with { %s }', async (keys, place, words) => {
    const [problem, ...others] = await problemsOf(DOCUMENTS(keys ?? ''));
    expect(problem).toContain(`${place}: `);
    expect(problem).toContain(words);
    expect(others).toEqual([]);
  });

  it.each(['10.0.0.5', 'https://docs.example', 'docs.example:443', '*'])(
    'refuses %s as a name of outgoing.internal_hosts',
    async (name) => {
      const problems = await problemsOf(`${PUBLIC}outgoing: { internal_hosts: ["${name}"] }\n`);
      expect(problems).toEqual([expect.stringContaining('must be a host name in lower case')]);
    },
  );
});

describe('MC-07: a client_id that is no Client Identifier URL', () => {
  const WRONG = [
    'http://docs.example/c',
    'https://user:pw@docs.example/c',
    'https://user@docs.example/c',
    'https://docs.example/c#x',
    'https://docs.example/c#',
    'https://docs.example/c?v=2',
    'https://docs.example/c?',
    'https://docs.example/a/../c',
    'https://docs.example/%2e%2e/c',
    'https://docs.example/a/%2E/c',
    'https://docs.example/a/./c',
    'https://docs.example/..',
    String.raw`https://docs.example\c`,
    'https://docs.example/a\tc',
    'https://docs.example/a\0c',
    'https:///c',
    'https:docs.example/c',
    'https://docs.example',
    'https://docs.example/',
    'https://docs.example:443/c',
    'https://DOCS.example/c',
    'HTTPS://docs.example/c',
    'https://3232235777/c',
    ' https://docs.example/c',
    `https://docs.example/${'c'.repeat(200)}`,
  ];

  it('is not looked up, and refused in the file', async () => {
    const isListed = await listed('docs.example');
    for (const clientId of WRONG) {
      if (clientId.length < 200) expect(isListed(clientId), clientId).toBe(false);
      const problems = await clientProblems(pinned({ client_id: JSON.stringify(clientId) }));
      expect(problems, clientId).toEqual([expect.stringMatching(/client_id: must /)]);
    }
  });
});

describe('a client whose client_id is a URL', () => {
  it('may be written into the file where it has no secret', async () => {
    const { clientId, applicationType } = await loadClient(pinned());
    expect({ clientId, applicationType }).toEqual({ clientId: URL_ID, applicationType: 'web' });
    expect(await clientProblems(client({ client_id: URL_ID }))).toEqual([
      expect.stringContaining('client_id: only a public client can have a URL'),
    ]);
  });

  it('AC-32: is never implicit, and always has PKCE', async () => {
    expect(await clientProblems(pinned({ consent: 'implicit' }))).toEqual([
      expect.stringContaining('implicit requires a client with a secret'),
    ]);
    expect(await clientProblems(pinned({ require_pkce: 'false' }))).toEqual([
      expect.stringContaining('must be true for a public client'),
    ]);
  });

  it('may have refresh_token without offline_access', async () => {
    const grants = { grant_types: '[authorization_code, refresh_token]' };
    expect(await clientProblems(pinned(grants))).toEqual([]);
    expect(await clientProblems(pinned({ ...grants, client_id: 'spa' }))).toEqual([
      expect.stringContaining('refresh_token requires offline_access'),
    ]);
  });

  it('may differ from another in the case of its path', async () => {
    expect(
      await clientProblems(pinned() + pinned({ client_id: 'https://docs.example/Client.json' })),
    ).toEqual([]);
    expect(await clientProblems(pinned() + pinned())).toEqual([expect.stringContaining('is already used')]);
  });
});
