// IN-16: the service sends no requests. A built service on the embedded store; every socket that it opens is recorded while
// it is used, and while it gets all the requests by which providers of this protocol can be made to fetch something.
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { startRedis } from '../world/servers.ts';
import { machineToken, signIn } from '../world/app.ts';
import { authorizationPath } from '../world/authorization-request.ts';
import { silently, signOut } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { basic, refresh } from '../world/token-endpoint.ts';
import { type World, writeWorldConfig } from '../world/world.ts';
import { type ServiceProcess, startProcess } from '../world/process.ts';
import { testFolder } from '../world/temp-folder.ts';

let folder: string;
let service: ServiceProcess | undefined;
let bait: Server;
let visits: number;
beforeEach(async () => {
  folder = testFolder();
  visits = 0;
  bait = createServer((_request, response) => {
    visits += 1;
    response.end('{"keys":[]}');
  });
  await new Promise<void>((resolve) => bait.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await service?.end();
  bait.close();
});

/** Starts the service and records each socket that it opens, and each name that it looks up. */
async function startWithEar(store?: string): Promise<{ world: World; calls: () => Promise<string> }> {
  const file = path.join(folder, 'calls.txt');
  await writeFile(file, '');
  const code = `
    import { subscribe } from 'node:diagnostics_channel';
    import dns from 'node:dns';
    import { appendFileSync } from 'node:fs';
    const tell = (what) => appendFileSync(${JSON.stringify(file)}, what + '\\n');
    subscribe('net.client.socket', () => tell('socket'));
    const { lookup } = dns;
    dns.lookup = (name, ...rest) => (tell('lookup ' + name), lookup(name, ...rest));`;
  const world = await writeWorldConfig(folder, store === undefined ? {} : { store });
  const ear = ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
  service = await startProcess(world.configFile, [process.execPath, ...ear, path.resolve('dist/main.js')]);
  return { world, calls: () => readFile(file, 'utf8') };
}

/** A JWT whose header names a URL to fetch its key from. */
function jwtThatNames(url: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'RS256', typ: 'at+jwt', jku: url, x5u: url })}.${encode({ iss: url, sub: 'svc' })}.AAAA`;
}

it('IN-16: nothing is fetched and nobody is called, whatever a request names', async () => {
  const { world, calls } = await startWithEar();
  // It has only looked up the address that it listens on.
  const before = await calls();
  expect(before).not.toContain('socket');
  const { tokens, browser } = await signIn(world);
  expect((await userinfo(world, tokens.access_token)).status).toBe(200);
  expect((await refresh(world, String(tokens.refresh_token))).status).toBe(200);
  expect(await introspect(world, await machineToken(world, 'reports.read'))).toMatchObject({ active: true });

  expect((await signOut(world, browser)).status).toBe(200);
  expect(await silently(world, browser)).toBe('login_required');

  const url = `http://127.0.0.1:${(bait.address() as AddressInfo).port}/x`;
  const jwt = jwtThatNames(url);
  for (const named of [
    { request_uri: url },
    { request: jwt },
    { id_token_hint: jwt },
    { client_id: url },
    { client_metadata_uri: url, registration: JSON.stringify({ jwks_uri: url, logo_uri: url }) },
    { redirect_uri: url, resource: url },
  ]) {
    const asked = authorizationPath(named);
    expect((await get(world, asked)).status, asked).toBeLessThan(500);
  }
  const assertion = {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: jwt,
  };
  for (const [route, form] of [
    ['/oauth/token', { grant_type: 'client_credentials', ...assertion }],
    ['/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: jwt }],
    ['/oauth/introspect', { token: jwt }],
    ['/oauth/revoke', { token: jwt }],
    ['/oauth/logout', { id_token_hint: jwt, post_logout_redirect_uri: url, backchannel_logout_uri: url }],
  ] as const) {
    expect((await post(world, route, form, { authorization: basic('rs1') })).status, route).toBeLessThan(500);
  }
  expect((await userinfo(world, jwt)).status).toBe(401);
  expect((await get(world, '/oauth/jwks.json', { origin: url, referer: url })).status).toBe(200);

  expect([visits, await calls()]).toEqual([0, before]);
});

it('IN-16: and who calls is heard: a service on Redis does', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { calls } = await startWithEar(redis.url);
  expect(await calls()).toContain('socket');
  await service?.end();
});
