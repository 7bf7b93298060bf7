// docs/apps: test/interop/manifest.json lists the programs of test/interop that run a guide. A block below a program's name is part
// of that program, and the service accepts each client.
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { CLIENTS } from '../interop/clients.ts';
import { blocksOf } from '../world/document.ts';
import { configFolder } from '../world/temp-folder.ts';

type Client = Readonly<Record<string, unknown>> & { readonly client_id: string };
type Document = { readonly clients?: readonly Client[]; readonly resources?: unknown };

const PROGRAMS = 'test/interop';
const MANIFEST = JSON.parse(readFileSync(`${PROGRAMS}/manifest.json`, 'utf8')) as Record<
  string,
  string[] | null
>;
const INDEX = readFileSync('docs/apps/README.md', 'utf8');
const GUIDES = Object.entries(MANIFEST).map(([name, programs]) => {
  const text = readFileSync(path.join('docs/apps', name), 'utf8');
  const printed = blocksOf(text, 'yaml').filter((block) => /^ *- client_id:/m.test(block));
  const clients = printed.flatMap((block) => (parse(block) as Document).clients ?? []);
  return { name, programs: programs ?? [], isRun: programs !== null, text, printed, clients };
});
const FIXTURES = (parse(readFileSync(`${PROGRAMS}/postern.yaml`, 'utf8')) as Required<Document>).clients;

/** Removes differences in line wrapping. */
const flat = (text: string) => text.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '');

/** Returns the lines of a block, except comments and lines with the reader's own address, file or secret. */
function sharedLines(block: string, clients: readonly Client[]): readonly string[] {
  const own = new RegExp(
    ['…', 'SECRET', 'example\\.com', 'process\\.env', '/etc/', ...clients.map(idOf)].join('|'),
  );
  return block
    .split('\n')
    .filter((line) => !own.test(line))
    .map((line) => flat(line.replace(/(^|\s)(\/\/|#)\s.*/, '')).replace(/[,;]$/, ''))
    .filter((line) => line !== '');
}

const idOf = ({ client_id: id }: Client) => String.raw`\b${id}\b`;

describe('docs/apps', () => {
  const config = configFolder();
  const check = (yaml: string) => {
    const issuer = /localhost:(8080|5173)/.test(yaml) ? 'http://localhost:3000' : 'https://id.example.com';
    const head = `issuer: ${issuer}\nencryption_keys: [env:NOT_SET]\ncookie_keys: [env:UNSET]\n`;
    const whole = (yaml.includes('issuer:') ? yaml : head + yaml).replaceAll(
      'sha256:…',
      `sha256:${'0123'.repeat(16)}`,
    );
    return loadConfig(config.file('postern.yaml', whole), { readSecrets: false, writeKeys: false });
  };

  it('has each guide in the manifest and in the index', () => {
    const files = globSync('docs/apps/*.md').map((file) => path.basename(file));
    const guides = files.filter((name) => !['README.md', 'results.md'].includes(name));
    expect(guides.toSorted()).toEqual(Object.keys(MANIFEST).toSorted());
    expect(guides.filter((name) => !INDEX.includes(`(${name}`))).toEqual([]);
  });

  it('has each client of interop in the results', () => {
    const rows = readFileSync('docs/apps/results.md', 'utf8').matchAll(/^\| (\w[\w-]*) +\| (?!Version)/gm);
    expect(new Set([...rows].map(([, name]) => name))).toEqual(new Set(CLIENTS.map(({ name }) => name)));
  });

  it.each(GUIDES)('$name says how it is run, and what to check', ({ text, programs, isRun }) => {
    const found = programs.map((name) => CLIENTS.find((client) => client.name === name) ?? expect.fail(name));
    const files = found.flatMap(({ command, folder = '' }) =>
      command
        .filter((word) => /\.(mjs|ts|py|rb|sh)$/.test(word))
        .map((word) => path.join(PROGRAMS, folder, word)),
    );
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    expect(text).toContain(isRun ? `npm run interop -- ${programs.join(' ')}` : 'From their documentation');
    expect(text).toContain("\n## When it doesn't work\n");
  });

  it.each(GUIDES)('$name prints what its programs run', ({ text, clients, programs }) => {
    const marked = [...text.matchAll(/^ *<!-- (test\/interop\/\S+) -->\n+ *```\w*\n([^]*?)^ *```$/gm)];
    for (const [, file = '', block = ''] of marked) {
      const program = flat(readFileSync(file, 'utf8'));
      const lines = sharedLines(block, clients);
      expect(lines.length).toBeGreaterThan(0);
      expect({ file, missing: lines.filter((line) => !program.includes(line)) }).toEqual({
        file,
        missing: [],
      });
    }
    for (const [, file = '', block] of text.matchAll(/<!-- (examples\/\S+) -->\n+```\w*\n([^]*?)^```$/gm)) {
      expect(block).toBe(readFileSync(file, 'utf8'));
    }
    const kinds = ['token_endpoint_auth_method', 'require_pkce', 'id_token_claims', 'application_type'];
    const kindOf = (client: Client) => kinds.map((key) => client[key]);
    const pathsOf = (client: Client) =>
      ((client['redirect_uris'] ?? []) as string[]).map((uri) => new URL(uri).pathname);
    for (const name of programs) {
      const id = CLIENTS.find((client) => client.name === name)?.clientId ?? name;
      const fixture = FIXTURES.find((client) => client.client_id === id);
      if (fixture === undefined || pathsOf(fixture).length === 0) continue;
      const same = clients.filter((client) =>
        pathsOf(fixture).every((one) => pathsOf(client).some((own) => own.endsWith(one))),
      );
      expect({ id, kinds: same.map(kindOf) }).toEqual({
        id,
        kinds: expect.arrayContaining([kindOf(fixture)]),
      });
    }
  });

  it('installs the versions that are run', () => {
    const texts = GUIDES.map(({ text }) => text).join('\n');
    const pinned = [...texts.matchAll(/^(?:npm|venv\/bin\/pip) install (.*\d)$/gm)].flatMap(([, list = '']) =>
      list.split(' '),
    );
    const run = ['examples/flask/requirements.txt', `${PROGRAMS}/web-python/requirements.txt`]
      .concat(`${PROGRAMS}/nextjs/package.json`, `${PROGRAMS}/react/package.json`)
      .map((file) => readFileSync(file, 'utf8').replaceAll(/"(.*)": "(.*)"/g, '$1@$2'))
      .join('\n');
    expect(pinned).toContain('next-auth@5.0.0-beta.32');
    expect(pinned.filter((one) => !run.includes(one))).toEqual([]);
  });

  it.each(GUIDES)('$name has clients that are valid', async ({ printed }) => {
    expect(printed).not.toEqual([]);
    // A later block of a page may use the APIs of the first.
    const first = parse(printed[0] ?? '') as Document;
    for (const block of printed) {
      const document = parse(block) as Document;
      const clients = [...(first.clients ?? []), ...(document.clients ?? [])];
      const isWhole = block.includes('resources:') || first.resources === undefined;
      await check(isWhole ? block : stringify({ ...first, ...document, clients }));
    }
  });

  it('others.md has rows that are valid clients', async () => {
    const { text = '' } = GUIDES.find(({ name }) => name === 'others.md') ?? {};
    const rows = [...text.matchAll(/^\| .*`https.*$/gm)].map(([row], index) => {
      const [, , uris = '', scope = '', method = '', pkce = ''] = row.split('|').map((cell) => cell.trim());
      const [, kind = ''] = /^`(\w+)`/.exec(method) ?? [];
      const secret = kind === 'none' ? '' : "client_secrets: [{ hash: 'sha256:…' }], ";
      const redirects = [...uris.matchAll(/`(https[^`]+)`/g)].map(([, uri]) => uri).join(', ');
      return `{ client_id: app-${index}, ${secret}token_endpoint_auth_method: ${kind}, require_pkce: ${pkce !== 'no'}, redirect_uris: [${redirects}], scope: ${scope.replaceAll('`', '')} }`;
    });
    expect(rows).toHaveLength(18);
    const { clients } = await check(`groups: { staff: Employees }\nclients:\n  - ${rows.join('\n  - ')}\n`);
    expect(clients).toHaveLength(rows.length);
  });
});
