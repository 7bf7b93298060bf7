// go-oidc with one key set through three rotations of three algorithms, against a separate service whose clock is moved.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { decodeProtectedHeader } from 'jose';
import { publishedKids } from '../keys/nodes.ts';
import { startProcesses } from '../keys/processes.ts';
import { signIn } from '../world/app.ts';
import { refresh } from '../world/token-endpoint.ts';
import { worldClients } from '../world/world.ts';
import { check, version } from './report.ts';

const APPS = [
  ['web', 'RS256'],
  ['web2', 'ES256'],
  ['post', 'EdDSA'],
] as const;
const HOUR = 3600;
const PATIENCE_MS = 30_000;

const service = await startProcesses(1, {
  pollMs: 100,
  config: {
    signing_keys: { algorithms: APPS.map(([, alg]) => alg), rotate_every: '8h', publish_ahead: '2h' },
    clients: worldClients(
      Object.fromEntries(APPS.map(([client, alg]) => [client, { id_token_signed_response_alg: alg }])),
    ),
  },
});
const [node] = service.nodes;
if (node === undefined) throw new Error('no node');

const goOidc = spawn('sh', ['run.sh', 'verify'], {
  cwd: path.join(import.meta.dirname, 'go-oidc'),
  env: { ...process.env, ISSUER: node.issuer },
  stdio: ['pipe', 'pipe', 'inherit'],
});
const said = createInterface({ input: goOidc.stdout })[Symbol.asyncIterator]();
const hear = async () => String((await said.next()).value);

/** The result of go-oidc for an ID token. */
async function verify(idToken: string): Promise<string> {
  goOidc.stdin.write(`${idToken}\n`);
  return hear();
}

const refreshTokens = new Map<string, string | undefined>();
/** A new ID token; undefined while the service has yet to read its keys after its clock was moved. */
async function fresh(client: (typeof APPS)[number][0]): Promise<string | undefined> {
  if (node === undefined) throw new Error('no node');
  const { status, body } = await refresh(node, refreshTokens.get(client), {}, client);
  if (status === 503) return undefined;
  refreshTokens.set(client, String(body['refresh_token']));
  return String(body['id_token']);
}

async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline;) {
    const found = await find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited in vain: ${what}`);
}

/** ID tokens of every app, once their keys differ from `before`. */
const freshAfter = (before: readonly string[]) =>
  until('other keys', async () => {
    const tokens: string[] = [];
    for (const [client] of APPS) tokens.push((await fresh(client)) ?? '');
    const isNew = (token: string) =>
      token !== '' && !before.includes(String(decodeProtectedHeader(token).kid));
    return tokens.every(isNew) ? tokens : undefined;
  });

try {
  version((await hear()).replace('version ', ''));
  for (const [client] of APPS)
    refreshTokens.set(client, (await signIn(node, { client })).tokens.refresh_token);
  const seen: string[] = [];
  for (let rotation = 0; rotation <= 3; rotation += 1) {
    if (rotation > 0) {
      await service.setClock((8 * rotation - 1.5) * HOUR);
      // Three keys of each algorithm: the active one, the next one, which then has its appointment, and the one after it.
      await until('appointments', async () => {
        const kids = await publishedKids(node);
        return (kids.length === 9 && kids.filter((kid) => seen.includes(kid)).length === 3) || undefined;
      });
      await service.setClock((8 * rotation + 0.1) * HOUR);
    }
    const verdicts: string[] = [];
    for (const token of await freshAfter(seen)) {
      seen.push(String(decodeProtectedHeader(token).kid));
      verdicts.push(await verify(token));
    }
    const algorithms = APPS.map(([, alg]) => alg).join(', ');
    const what = rotation === 0 ? `ID tokens of ${algorithms}` : `rotation ${rotation}`;
    check(
      verdicts.every((one) => one === 'verified <nil>'),
      what,
      verdicts,
    );
  }
  const forged = (await fresh('web2'))?.replace(/.{8}$/, 'AAAAAAAA') ?? '';
  const verdict = await verify(forged);
  check(verdict.includes('failed to verify'), 'refuses a forged one', verdict);
} finally {
  goOidc.stdin.end();
  await service.stop();
}
