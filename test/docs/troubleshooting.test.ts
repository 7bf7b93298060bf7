// docs/troubleshooting.md quotes real messages: each one is in the code, each finding of the doctor is on the page, and the
// answers to callers are requested over HTTP.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { postern } from '../world/terminal.ts';
import { post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { API, CALLBACK, OTHER_API, SECRETS } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';
import { tempFolder } from '../world/temp-folder.ts';

const PAGE = readFileSync('docs/troubleshooting.md', 'utf8');
const DOCTOR_HEADING = '### `postern doctor`';
const [MESSAGES = ''] = PAGE.split(DOCTOR_HEADING);

type Row = { readonly message: string; readonly error: string | undefined };

/** The code in the first two columns of each row of each table. */
function rowsOf(text: string): readonly Row[] {
  return [...text.matchAll(/^\| `([^`]+)` +\|(?: `(\w+)` +\|)?/gm)].map(([, message = '', error]) => ({
    message,
    error,
  }));
}

/** Error codes of other software, which our source doesn't contain. */
const WORDS = /## Error codes of Redis and the system\n[^]*?(?=\n## )/.exec(MESSAGES)?.[0] ?? '';

const ROWS = rowsOf(MESSAGES.replace(WORDS, '')).filter(
  ({ message }) => !/^(error_description|detail|problems|msg)$/.test(message),
);
const partsOf = (message: string): readonly string[] =>
  message.split('…').filter((part) => part.trim() !== '');

function filesIn(folder: string, name: RegExp): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** Returns the text as it is printed, not as the source spells it. */
const unescape = (source: string): string => source.replaceAll("\\'", "'").replaceAll('\\"', '"');

const SOURCES = [
  ...filesIn('src', /\.ts$/),
  ...filesIn('views', /\.json$/),
  ...filesIn('node_modules/oidc-provider/lib', /\.js$/),
].map((file) => unescape(readFileSync(file, 'utf8')));

/** Messages that no administrator can cause, or that the page words differently. */
const MISTAKES_OF_OURS = new Set([
  'the store is closed',
  'the keys have not been opened',
  'the rotation job has not started',
  'not a sealed value',
  'worker ${number} was stopped before it served',
]);

describe('docs/troubleshooting.md', () => {
  it('has messages at all', () => {
    expect(ROWS.length).toBeGreaterThan(100);
  });

  it.each(ROWS.map(({ message }) => message))('quotes what the code says: %s', (message) => {
    const parts = partsOf(message);
    expect(SOURCES.some((source) => parts.every((part) => source.includes(part)))).toBe(true);
  });

  it('has every text of the log that calls for somebody', () => {
    const calls =
      /\b(?:l|processL)og\.(?:warn|error)\((?:(?!log\.)[^;])*?(['"])((?:(?!\1)[^[\]])+ (?:(?!\1)[^[\]])+)\1,?\s*\)/g;
    const said = SOURCES.flatMap((source) => [...source.matchAll(calls)].map(([, , text = '']) => text));
    expect(said).toContain('request failed');
    expect(said).toContain("the audit trail can't be written: records are buffered in memory");
    const missing = said.filter((text) => !MESSAGES.includes(text.split(': ')[0] ?? text));
    expect(missing).toEqual([]);
  });

  it('has every error that ends a command or a start, and every risk at Redis', () => {
    const errors =
      /(?:new (?:Store\w+|StartError|CommandError|KeyStoreError|Error)\(\s*(?:'\w+',\s*)?|'(?:warning|fault)',\s*'\w+',\s*)(['"`])((?:\\.|(?!\1).)+)\1/g;
    const said = ['store', 'keys', 'server', 'cli', 'features/store-tools', 'features/workers']
      .filter((folder) => existsSync(path.join('src', folder)))
      .flatMap((folder) => filesIn(path.join('src', folder), /\.ts$/))
      .flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(errors)].map(([, , text = '']) => unescape(text)),
      )
      // Skips messages of one word, or with nothing but another message.
      .filter((text) => / \w+ \w+/.test(text.replaceAll(/\$\{[^}]*\}/g, '')));
    expect(said.length).toBeGreaterThan(40);
    const isListed = (text: string) =>
      ROWS.some(
        ({ message }) => message.length > 10 && partsOf(message).every((part) => text.includes(part)),
      );
    expect(said.filter((text) => !isListed(text) && !MISTAKES_OF_OURS.has(text))).toEqual([]);
  });

  it('has the words of Redis and of the system', () => {
    const listed = [...WORDS.matchAll(/`([A-Z]+)`/g)].map(([, word = '']) => word);
    const ofRedis = [...readFileSync('docs/redis.md', 'utf8').matchAll(/`[^`]*\b([A-Z]{6,}|OOM) …`/g)].map(
      ([, word = '']) => word,
    );
    expect(ofRedis.filter((word) => !listed.includes(word))).toEqual([]);
    expect(ofRedis.length).toBeGreaterThan(4);
    const ofSystem = listed.filter((word) => word.startsWith('E') && word !== 'ENOTFOUND');
    expect(ofSystem.filter((word) => !(word in constants.errno))).toEqual([]);
    expect(ofSystem).toEqual(expect.arrayContaining(['EMFILE', 'ENOSPC']));
  });

  it('links to headings that exist', () => {
    const links = [...PAGE.matchAll(/\]\(([\w./-]+\.md)(?:#([\w-]+))?\)/g)];
    const broken = links.filter(([, file = '', anchor]) => {
      const text = readFileSync(path.join('docs', file), 'utf8');
      return anchor !== undefined && !headingsOf(text).includes(anchor);
    });
    expect(links.length).toBeGreaterThan(15);
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

/** Returns the anchors that GitHub creates for headings. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('what an operator reads at the start', () => {
  const FILE = `issuer: https://id.example.com
encryption_keys: [env:POSTERN_NOBODY_SETS_THIS]
cookie_keys: [plain-text-cookie-key-Qm3vT8xZ5kN1rB7yL9wC2sD6fH4]
users_from: nobody.yaml
trusted_proxies: [0.0.0.0/0]
clients:
  - client_id: demo
    client_secret: postern-demo-secret-4vXq7Lw2Rk9Tz6Nc8Hb
    redirect_uris: [https://app.example/cb]
    grant_types: [authorization_code, refresh_token]
    scope: openid nothing
  - client_id: both
    grant_types: [authorization_code, client_credentials]
    redirect_uris: [https://app.example/cb]
    scope: openid
`;
  const folder = tempFolder();

  it('has each problem of a file that is wrong in many ways', async () => {
    const file = path.join(folder, 'postern.yaml');
    const problems: string[] = [];
    for (const faults of ['', 'stor: lmdb:data\nsigning_keys: { rotate_every: 10 }\n']) {
      writeFileSync(file, faults + FILE);
      const { code, stderr } = await postern(['check', '--config', file]);
      expect(code).toBe(1);
      problems.push(...stderr.split('\n').filter((line) => line.startsWith(folder)));
    }
    expect(problems.length).toBeGreaterThan(10);
    const unknown = problems.filter(
      (line) =>
        !ROWS.some(
          ({ message }) => message.length > 10 && partsOf(message).every((part) => line.includes(part)),
        ),
    );
    // The rule for a client without a user has two messages: one for redirect URIs, one for the scope.
    expect(unknown.filter((line) => !line.includes('client has no user'))).toEqual([]);
  });
});

describe('what callers get', () => {
  const world = useWorld();
  const machine = { grant_type: 'client_credentials' };
  const svc = { authorization: basic('svc', SECRETS.svc) };
  const web = { authorization: basic('web', SECRETS.web) };
  /** Expects a row that a reader finds, with the error beside it. */
  function expectOnThePage(body: Readonly<Record<string, unknown>>): void {
    const described = String(body['error_description']);
    const row = ROWS.find(({ message }) => isSaid(message, described));
    expect([described, row?.error]).toEqual([described, body['error']]);
  }

  function isSaid(message: string, said: string): boolean {
    const literal = message.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    return new RegExp(`^${literal.join('.+')}$`).test(said);
  }

  it.each([
    ['nothing', { ...machine }, {}],
    ['a wrong secret', machine, { authorization: basic('svc', 'wrong') }],
    ['two mechanisms', { ...machine, client_secret: SECRETS.svc }, svc],
    ['two clients', { ...machine, client_id: 'web' }, svc],
    ['a Bearer', machine, { authorization: 'Bearer x' }],
    ['no grant type', {}, svc],
    ['a password grant', { grant_type: 'password' }, svc],
    ['a grant that it may not use', machine, web],
    ['a scope that it may not have', { ...machine, scope: 'openid' }, svc],
    ['a scope that nobody has', { ...machine, scope: 'nothing' }, svc],
    ['a scope of another API', { ...machine, scope: 'other.read', resource: API }, svc],
    ['an unknown API', { ...machine, resource: 'https://nobody.example' }, svc],
    ['scopes of two APIs', { ...machine, scope: 'reports.read other.read' }, svc],
    ['an API without a scope of it', { ...machine, resource: OTHER_API }, svc],
    ['an unknown code', { grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK }, web],
  ])('at the token endpoint, with %s', async (_case, form, headers) => {
    const { status, body } = await post(world(), '/oauth/token', form, headers);
    expect(status).toBeGreaterThanOrEqual(400);
    expectOnThePage(body);
  });

  const asked = {
    client_id: 'web',
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };

  it.each([
    ['no challenge', { code_challenge: '', code_challenge_method: '' }],
    ['the plain method', { code_challenge_method: 'plain' }],
    ['a short challenge', { code_challenge: 'short' }],
    ['another response type', { response_type: 'token' }],
    ['another response mode', { response_mode: 'fragment' }],
    ['a response mode of others', { response_mode: 'form_post' }],
    ['nobody signed in', { prompt: 'none' }],
    ['no response type', { response_type: '' }],
    ['an odd prompt', { prompt: 'odd' }],
    ['an odd resource', { resource: 'odd' }],
    ['a resource of which no scope is asked for', { resource: API }],
    ['no scope', { scope: '' }],
  ])('at the callback, with %s', async (_case, change) => {
    const query = Object.entries({ ...asked, ...change }).filter(([, value]) => value !== '');
    const answer = await fetch(`${world().base}/oauth/authorize?${new URLSearchParams(query).toString()}`, {
      redirect: 'manual',
    });
    const { searchParams } = new URL(answer.headers.get('location') ?? '');
    expectOnThePage(Object.fromEntries(searchParams));
  });
});
