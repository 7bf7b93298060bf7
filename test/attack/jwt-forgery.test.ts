// Forged, confused and respelled tokens: a token that our active keys didn't sign for this purpose is rejected, and a signed
// token has one spelling.
import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { CompactEncrypt, decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PublicJwk } from '../../src/keys/ring.ts';
import { startRedis } from '../world/servers.ts';
import { machineToken, takeCode } from '../world/app.ts';
import { introspect, introspection, revoke, userinfo } from '../world/presented-tokens.ts';
import { get, post, textOf } from '../world/requests.ts';
import { keyStoreOf, withStore } from '../world/stored.ts';
import { redeem } from '../world/token-endpoint.ts';
import { API, GENEROUS, type OpenWorld, startWorld, WORLD_ENV } from '../world/world.ts';

let world: OpenWorld;
/** A listener that a forged header names; the service must never call it. */
let lure: Server;
let calls = 0;
let lureUrl = '';
let accessToken = '';
let machine = '';
let idToken = '';
let published: PublicJwk;
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

beforeAll(async () => {
  world = await startWorld({ config: GENEROUS });
  lure = createServer((_request, response) => {
    calls += 1;
    response.end(
      JSON.stringify({ keys: [{ ...stranger.publicKey.export({ format: 'jwk' }), kid: 'lure' }] }),
    );
  });
  lure.on('connection', () => (calls += 1));
  await new Promise<void>((resolve) => lure.listen(0, '127.0.0.1', resolve));
  lureUrl = `http://127.0.0.1:${(lure.address() as AddressInfo).port}/keys`;

  const answer = await redeem(world, await takeCode(world));
  accessToken = textOf(answer, 'access_token');
  idToken = textOf(answer, 'id_token');
  machine = await machineToken(world, 'reports.read');
  const { keys } = (await get(world, '/oauth/jwks.json')).body as { keys: PublicJwk[] };
  const { kid } = decodeProtectedHeader(accessToken);
  const key = keys.find((one) => one.kid === kid);
  if (key === undefined) throw new Error('the signing key is not published');
  published = key;
});
afterAll(async () => {
  await new Promise((resolve) => lure.close(resolve));
  await world.stop();
});

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

type Header = Readonly<Record<string, unknown>>;

function header(changes: Header = {}): Header {
  return { alg: 'RS256', typ: 'at+jwt', kid: published.kid, ...changes };
}

/** Creates a token with valid claims and the signature of `signer`. */
function forgeToken(
  protectedHeader: Header,
  signer: (input: string) => Buffer | string,
  payload: object = decodeJwt(accessToken),
): string {
  const input = `${encode(protectedHeader)}.${encode(payload)}`;
  const signature = signer(input);
  return `${input}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`;
}

const rs256 = (key: KeyObject) => (input: string) => sign('sha256', Buffer.from(input), key);
const hs256 = (key: string | Buffer) => (input: string) => createHmac('sha256', key).update(input).digest();

/** Expects that no endpoint accepts the token, or fails because of it. */
async function expectWorthless(token: string, what: string): Promise<void> {
  for (const caller of ['rs1', 'web'] as const) {
    const answer = await introspection(world, token, caller);
    expect([answer.status, answer.text], `${what}: introspection as ${caller}`).toEqual([
      200,
      '{"active":false}',
    ]);
  }
  const body = await post(world, '/oauth/userinfo', { access_token: token });
  expect([body.status, body.body['error']], `${what}: userinfo`).toEqual([401, 'invalid_token']);
  if (!/[^\x21-\x7e]/.test(token) && token.length < 8000) {
    const bearer = await userinfo(world, token);
    expect([bearer.status, bearer.body['error']], `${what}: userinfo`).toEqual([401, 'invalid_token']);
  }
  for (const client of ['web', 'svc'] as const) {
    expect((await revoke(world, token, client)).status, `${what}: revocation`).toBe(200);
  }
}

async function expectUntouched(): Promise<void> {
  expect((await introspect(world, accessToken))['active']).toBe(true);
  expect((await introspect(world, machine))['active']).toBe(true);
  expect((await userinfo(world, accessToken)).status).toBe(200);
  expect(calls).toBe(0);
}

const HOSTILE_KIDS: readonly unknown[] = [
  '../../etc/passwd',
  '/dev/null',
  "' OR 1=1--",
  '__proto__',
  'constructor',
  'toString',
  'k'.repeat(10_240),
  'a\r\nFLUSHALL\r\n',
  '\n',
  '\0',
  '*',
  '',
  0,
  null,
  {},
  true,
];

const modulusOf = (jwk: PublicJwk) => ('n' in jwk ? jwk.n : '');

describe('forged signatures', () => {
  it('the forging tools work: the same token with the service’s own key is taken', async () => {
    const { active } = await withStore(world, async (store) => {
      const keyStore = keyStoreOf(store);
      return keyStore.toKeySet(await keyStore.load());
    });
    const own = createPrivateKey({ key: { ...active.privateJwk }, format: 'jwk' });
    expect((await introspect(world, forgeToken(header(), rs256(own))))['active']).toBe(true);
    // With the same key, every other type, algorithm or critical header is rejected.
    for (const changes of [
      { typ: 'JWT' },
      { typ: undefined },
      { typ: 'logout+jwt' },
      { typ: 'dpop+jwt' },
      { crit: ['b64'], b64: false },
      { crit: ['exp'] },
      { crit: ['http://example.com/x'], 'http://example.com/x': true },
      { crit: [] },
      { alg: 'PS256' },
      { alg: 'RS384' },
      { alg: 'rs256' },
    ]) {
      await expectWorthless(forgeToken(header(changes), rs256(own)), `own key, ${JSON.stringify(changes)}`);
    }
    const pss = (input: string) =>
      sign('sha256', Buffer.from(input), {
        key: own,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: 32,
      });
    await expectWorthless(forgeToken(header({ alg: 'PS256' }), pss), 'own key, PS256');
    const claims = decodeJwt(accessToken);
    for (const changes of [
      { iss: 'https://evil.example' },
      { iss: `${world.issuer}/` },
      { iss: undefined },
      { exp: 1 },
      { exp: undefined },
      { exp: 'never' },
      { iat: undefined },
      { nbf: Math.floor(Date.now() / 1000) + 3600 },
      { jti: undefined },
      { jti: 'x' },
      { aud: undefined },
      { sub: undefined },
      { client_id: undefined },
      { sub: 'usr_bob0000000000000002' },
      { client_id: 'web2' },
      { sub: 'svc', client_id: 'svc2' },
      { exp: (claims.exp ?? 0) + 1 },
      { aud: [world.issuer, 'https://unknown.example'] },
      { aud: [world.issuer, 7] },
      { scope: ['openid', 'email'] },
    ]) {
      await expectWorthless(
        forgeToken(header(), rs256(own), { ...claims, ...changes }),
        `own key, ${JSON.stringify(changes)}`,
      );
    }
    const ofMachine = decodeJwt(machine);
    expect((await introspect(world, forgeToken(header(), rs256(own), ofMachine)))['active']).toBe(true);
    for (const changes of [
      { exp: (ofMachine.exp ?? 0) + 1 },
      { aud: [API, 'https://unknown.example'] },
      { aud: [] },
      { scope: ['reports.read'] },
      { jti: 7 },
    ]) {
      await expectWorthless(
        forgeToken(header(), rs256(own), { ...ofMachine, ...changes }),
        `own key, of a machine, ${JSON.stringify(changes)}`,
      );
    }
    await expectUntouched();
  });

  it('IS-11: alg none, in every spelling, with and without a signature', async () => {
    const [, , signature = ''] = accessToken.split('.');
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, undefined, 0, ['RS256']]) {
      for (const ending of ['', signature, 'AA']) {
        await expectWorthless(
          forgeToken(header({ alg }), () => ending),
          `alg ${String(alg)} ${ending.slice(0, 4)}`,
        );
      }
    }
    await expectUntouched();
  });

  it('IS-11: HS256 with what everybody knows of the public key, and with nothing', async () => {
    const key = createPublicKey({ key: { ...published }, format: 'jwk' });
    const modulus = Buffer.from(modulusOf(published), 'base64url');
    const secrets: Readonly<Record<string, string | Buffer>> = {
      'SPKI PEM': key.export({ type: 'spki', format: 'pem' }),
      'SPKI PEM without its last newline': key.export({ type: 'spki', format: 'pem' }).toString().trim(),
      'PKCS#1 PEM': key.export({ type: 'pkcs1', format: 'pem' }),
      'SPKI DER': key.export({ type: 'spki', format: 'der' }),
      'PKCS#1 DER': key.export({ type: 'pkcs1', format: 'der' }),
      'the modulus': modulus,
      'the modulus as text': modulusOf(published),
      'the JWK': JSON.stringify(published),
      'the kid': published.kid,
      'an empty key': '',
      'a NUL': '\0',
      'the client secret placeholder': 'kept-elsewhere',
      'the cookie key': WORLD_ENV.TEST_COOKIE_KEY,
    };
    for (const [name, secret] of Object.entries(secrets)) {
      await expectWorthless(forgeToken(header({ alg: 'HS256' }), hs256(secret)), `HS256 with ${name}`);
      await expectWorthless(
        forgeToken(header({ alg: 'HS256', kid: undefined }), hs256(secret)),
        `HS256 with ${name}`,
      );
    }
    await expectUntouched();
  });

  it('IS-11: the right algorithm by the wrong key, and a changed payload under the right signature', async () => {
    await expectWorthless(forgeToken(header(), rs256(stranger.privateKey)), 'another key under our kid');
    await expectWorthless(forgeToken(header({ kid: undefined }), rs256(stranger.privateKey)), 'another key');
    const [head = '', body = '', signature = ''] = accessToken.split('.');
    const other = encode({ ...decodeJwt(accessToken), scope: 'openid admin' });
    await expectWorthless(`${head}.${other}.${signature}`, 'changed payload');
    await expectWorthless(`${encode(header({ x: 1 }))}.${body}.${signature}`, 'changed header');
    await expectWorthless(`${head}.${body}.${'A'.repeat(signature.length)}`, 'zero signature');
    await expectWorthless(`${head}.${body}.`, 'no signature');
    await expectWorthless(`${head}.${machine.split('.')[1]}.${signature}`, 'payload of another token');
  });

  it('IS-12: keys that the header brings or points to are not read, and nobody is called', async () => {
    const jwk = stranger.publicKey.export({ format: 'jwk' });
    const certificate = stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    for (const changes of [
      { jwk },
      { jwk: { ...jwk, kid: published.kid } },
      { jku: lureUrl },
      { jku: lureUrl, kid: 'lure' },
      { x5u: lureUrl },
      { x5c: [certificate] },
      { x5t: 'AAAA', x5c: [certificate], 'x5t#S256': 'AAAA' },
      { kid: lureUrl, jku: lureUrl, x5u: lureUrl },
      { iss: lureUrl },
    ]) {
      await expectWorthless(
        forgeToken(header(changes), rs256(stranger.privateKey)),
        Object.keys(changes).join(),
      );
      const { kid: _kid, ...without } = header(changes);
      await expectWorthless(
        forgeToken(without, rs256(stranger.privateKey)),
        `${Object.keys(changes).join()} without kid`,
      );
    }
    const elsewhere = { ...decodeJwt(accessToken), iss: lureUrl.replace('/keys', '') };
    await expectWorthless(
      forgeToken(header(), rs256(stranger.privateKey), elsewhere),
      'an issuer of their own',
    );
    await expectUntouched();
  });

  it('IS-13: a kid is compared and nothing else: no file, no log line as long as the caller likes', async () => {
    const [bait, control] = [path.join(world.folder, 'bait.pem'), path.join(world.folder, 'control.pem')];
    for (const file of [bait, control]) {
      await writeFile(file, 'x');
      await utimes(file, 1, Date.now() / 1000); // last read long before it was written: the next read updates atime
    }
    const before = world.recorded.log.length + world.recorded.auditLines.length;
    for (const kid of [
      ...HOSTILE_KIDS,
      `${published.kid}\0`,
      [published.kid],
      bait,
      `../${path.basename(bait)}`,
      pathToFileURL(bait).href,
    ]) {
      const what = `kid ${JSON.stringify(kid).slice(0, 30)}`;
      await expectWorthless(forgeToken(header({ kid }), rs256(stranger.privateKey)), what);
      await expectWorthless(forgeToken(header({ kid, alg: 'HS256' }), hs256('')), what);
    }
    await expectUntouched();
    await readFile(control);
    // Skipped on a file system that doesn't record access times.
    if ((await stat(control)).atimeMs > 1000) expect((await stat(bait)).atimeMs).toBe(1000);

    const lines = [...world.recorded.log, ...world.recorded.auditLines];
    expect(lines.length).toBeGreaterThan(before);
    for (const line of lines) {
      expect(line.length).toBeLessThan(2000);
      expect(line.trimEnd()).not.toMatch(/\p{Cc}/u);
      expect(JSON.parse(line)).toBeTypeOf('object');
      expect(line).not.toContain('FLUSHALL');
      expect(line).not.toContain('/etc/passwd');
    }
  });

  it('IS-13: a kid reaches no key and no command of Redis', async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    // Before there are commands: one that comes while this begins would be read as its answer.
    const monitor = await client.monitor();
    const onRedis = await startWorld({ store: redis.url, config: GENEROUS });
    const sent: string[] = [];
    try {
      const good = await machineToken(onRedis, 'reports.read');
      monitor.on('monitor', (_time: string, words: string[]) => sent.push(words.join(' ')));
      for (const kid of HOSTILE_KIDS) {
        const token = forgeToken(header({ kid }), rs256(stranger.privateKey), decodeJwt(good));
        const asked = await introspection(onRedis, token);
        expect([asked.status, asked.text]).toEqual([200, '{"active":false}']);
        const revoked = await revoke(onRedis, token, 'svc');
        expect(revoked.status).toBe(200);
        expect((await post(onRedis, '/oauth/userinfo', { access_token: token })).status).toBe(401);
      }
      expect(await introspect(onRedis, good)).toMatchObject({ active: true });
      // The monitor must also see this command, which shows that it listens.
      await client.get('end of the test');
      await expect.poll(() => sent.at(-1)).toContain('end of the test');
      monitor.disconnect();
      expect(sent.length).toBeGreaterThan(HOSTILE_KIDS.length);
      const texts = HOSTILE_KIDS.filter((kid) => typeof kid === 'string' && kid.length > 5);
      for (const command of sent)
        for (const kid of texts) expect(command).not.toContain(String(kid).slice(0, 100));
    } finally {
      client.disconnect();
      await onRedis.stop();
      await redis.stop();
    }
  });

  it('IS-14: encrypted, nested and unencoded tokens are refused', async () => {
    const recipient = createPublicKey({ key: { ...published }, format: 'jwk' });
    for (const content of [accessToken, JSON.stringify(decodeJwt(accessToken))]) {
      for (const alg of ['RSA-OAEP-256', 'RSA-OAEP']) {
        const jwe = await new CompactEncrypt(Buffer.from(content))
          .setProtectedHeader({ alg, enc: 'A256GCM', cty: 'JWT', typ: 'at+jwt', kid: published.kid })
          .encrypt(recipient);
        await expectWorthless(jwe, `JWE ${alg}`);
      }
    }
    const [head = '', body = '', signature = ''] = accessToken.split('.');
    await expectWorthless(
      `${head}.${Buffer.from(body, 'base64url').toString()}.${signature}`,
      'unencoded payload',
    );
    const flattened = JSON.stringify({ protected: head, payload: body, signature });
    const general = JSON.stringify({ payload: body, signatures: [{ protected: head, signature }] });
    for (const text of [flattened, general]) {
      const answer = await introspection(world, text);
      expect([answer.status, answer.text]).toEqual([200, '{"active":false}']);
    }
    await expectUntouched();
  });

  it('IS-15: an ID token is no access token, and a machine has no userinfo', async () => {
    await expectWorthless(idToken, 'ID token');
    for (const token of [machine, await machineToken(world)]) {
      const answer = await userinfo(world, token);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
    }
    await expectUntouched();
  });
});

/** Changes the unused low bits of the last character: for some lengths, base64url allows several spellings of it. */
function respelled(part: string): string | undefined {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  if (part.length % 4 === 0) return undefined;
  const last = alphabet.indexOf(part.slice(-1));
  return `${part.slice(0, -1)}${alphabet.charAt(last + 1)}`;
}

const alphabetOf = (part: string) => part.replaceAll('-', '+').replaceAll('_', '/');

describe('other spellings of a good token', () => {
  it.each(['person', 'machine'])('IS-21: the token of a %s has one spelling', async (whose) => {
    const token = whose === 'person' ? accessToken : machine;
    const caller = whose === 'person' ? 'web' : 'svc';
    const parts = token.split('.');
    const [head = '', body = '', signature = ''] = parts;
    const spellings = [
      `${token}=`,
      `${token}==`,
      `${token}.`,
      `.${token}`,
      `${token}..`,
      `${token}.${signature}`,
      `${head}=.${body}.${signature}`,
      `${head}==.${body}==.${signature}==`,
      `${head}.${body}=.${signature}`,
      ` ${token}`,
      `${token} `,
      `${token}\n`,
      `\t${token}`,
      `${token}\0`,
      `${token}%00`,
      `${head} .${body}.${signature}`,
      `${head}.${body}\n.${signature}`,
      `${head}.${body}. ${signature}`,
      `${head.slice(0, 10)}\n${head.slice(10)}.${body}.${signature}`,
      `~${token}`,
      `Bearer ${token}`,
      `"${token}"`,
      `${token}#`,
      `${token}?`,
      `${head}.${body}.${alphabetOf(signature)}`,
      `${alphabetOf(head)}.${alphabetOf(body)}.${alphabetOf(signature)}`,
      ...[0, 1, 2].map((index) => parts.map((part, at) => (at === index ? respelled(part) : part)).join('.')),
    ].filter((spelling) => spelling !== token && !spelling.includes('undefined'));
    const found: string[] = [];
    for (const spelling of spellings) {
      const seen = await introspection(world, spelling, caller);
      if (seen.text !== '{"active":false}')
        found.push(`introspection: ${spelling.slice(0, 12)}…${spelling.slice(-12)}`);
      if (whose === 'machine') continue;
      const body2 = await post(world, '/oauth/userinfo', { access_token: spelling });
      if (body2.status === 200) found.push(`userinfo: ${spelling.slice(0, 12)}…${spelling.slice(-12)}`);
    }
    expect(found).toEqual([]);
    await expectUntouched();
  });

  it('IS-21: a revoked machine token does not come back under another spelling', async () => {
    const token = await machineToken(world, 'reports.read');
    await revoke(world, token, 'svc');
    const parts = token.split('.');
    for (const spelling of [
      token,
      `${token}=`,
      `${token}==`,
      ` ${token}`,
      parts.map((part) => `${part}==`).join('.'),
      ...[0, 1, 2].map((index) =>
        parts.map((part, at) => (at === index ? (respelled(part) ?? part) : part)).join('.'),
      ),
    ]) {
      expect(await introspect(world, spelling), spelling.slice(-12)).toEqual({ active: false });
    }
  });
});
