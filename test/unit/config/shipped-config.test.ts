import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verify } from '@node-rs/argon2';
import { isMap, parseDocument } from 'yaml';
import * as demo from '../../../src/config/demo.ts';
import { toJsonSchema } from '../../../src/config/schema.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';

const FILE = 'config/postern.yaml';
const text = readFileSync(FILE, 'utf8');

describe('the shipped configuration', () => {
  it('loads without a problem', async () => {
    const config = await loadConfig(FILE, { env: {}, writeKeys: false });
    expect(config.issuer).toBe('http://localhost:3000');
    expect(config.store).toEqual({ engine: 'lmdb', folder: expect.stringMatching(/\/data$/) });
    // An administrator may add clients without breaking this test.
    expect(config.clients.map(({ clientId }) => clientId)).toEqual(
      expect.arrayContaining([demo.DEMO_CLIENT_ID, 'demo-service']),
    );
    expect(config.resources[0]?.resource).toBe('https://api.example.com/reports');
    for (const { secrets } of config.clients) {
      expect(secrets[0]).toMatchObject({ digest: digestOf(demo.DEMO_CLIENT_SECRET) });
    }
    const base = `http://localhost:${config.management.port}`;
    expect(config.clients[0]?.redirectUris).toEqual([`${base}${demo.DEMO_CALLBACK_PATH}`]);
    expect(config.clients[0]?.postLogoutRedirectUris).toEqual([`${base}${demo.DEMO_PATH}`]);
  });

  it('has the demo person with the demo password', async () => {
    const { users } = await loadConfig(FILE, { env: {}, writeKeys: false });
    expect(users.map(({ username }) => username)).toEqual(['demo']);
    expect(users[0]?.passwordHash).toBe(demo.DEMO_PASSWORD_HASH);
    await expect(verify(demo.DEMO_PASSWORD_HASH, demo.DEMO_PASSWORD)).resolves.toBe(true);
    expect(users[0]?.claims).toMatchObject({ email: 'demo@example.com', email_verified: true });
  });

  it('says every default as it is', async () => {
    const { contents } = parseDocument(text);
    if (!isMap(contents)) throw new Error('the shipped file is not a map');
    for (const key of ['resources', 'clients', 'users_from']) contents.delete(key);
    const shipped = contents.toJSON() as Record<string, unknown>;
    const schema = toJsonSchema() as unknown as SchemaNode;
    for (const [key, value] of Object.entries(shipped)) {
      if (key !== 'issuer') expect(value, key).toEqual(defaultOf(schema.properties?.[key]));
    }
  });

  it('names every key of the schema', () => {
    const schema = toJsonSchema() as unknown as SchemaNode;
    const names = new Set<string>();
    collectKeys(schema, names);
    names.delete('$schema');
    const missing = [...names].filter((name) => !new RegExp(`\\b${name}:`).test(text));
    expect(missing).toEqual([]);
  });

  it('begins with the hint that editors look for', () => {
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./postern.schema.json');
  });
});

describe('the JSON Schema', () => {
  it('describes every key', () => {
    const bare: string[] = [];
    collectBare(toJsonSchema(), '', bare);
    expect(bare).toEqual([]);
  });

  it('requires nothing but the issuer', () => {
    expect(toJsonSchema()['required']).toEqual(['issuer']);
  });
});

type SchemaNode = {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
};

/** The default of a key, including those of its nested keys. */
function defaultOf(node: SchemaNode | undefined): unknown {
  const inner = Object.entries(node?.properties ?? {}).map(
    ([key, child]) => [key, defaultOf(child)] as const,
  );
  return inner.length === 0
    ? node?.default
    : Object.fromEntries(inner.filter(([, value]) => value !== undefined));
}

function collectKeys(node: SchemaNode, names: Set<string>): void {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    names.add(key);
    collectKeys(child, names);
  }
  if (node.items) collectKeys(node.items, names);
}

function collectBare(node: SchemaNode, path: string, bare: string[]): void {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    if (!child.description) bare.push(`${path}.${key}`);
    collectBare(child, `${path}.${key}`, bare);
  }
  if (node.items) collectBare(node.items, `${path}[]`, bare);
}
