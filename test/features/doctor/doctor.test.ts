// `postern doctor` against a running service behind a real nginx: a correct configuration, and one for each mistake. The
// doctor finds each fault by its name.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { WORLD_ENV, writeWorldConfig } from '../../world/world.ts';
import { startProcess } from '../../world/process.ts';
import { makeFront, type Front, type FrontConfiguration } from './front.ts';

type Finding = { readonly level: string; readonly name: string; readonly message: string };
type Diagnosis = { readonly code: number; readonly findings: readonly Finding[] };

type Running = Awaited<ReturnType<typeof writeWorldConfig>> & {
  readonly folder: string;
  stop(): Promise<void>;
};

let front: Front;
let world: Running;
let withPath: Running;
const trusted = getCACertificates('default');

useEnvironment(() => WORLD_ENV);
beforeAll(async () => {
  front = await makeFront();
  setDefaultCACertificates([...trusted, front.certificate]);
  [world, withPath] = await Promise.all([startBehind({}), startBehind({}, '/auth')]);
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await front.stop();
  await world.stop();
  await withPath.stop();
});

/** Starts a separate process, because only that knows which file it runs. */
async function startBehind(config: Readonly<Record<string, unknown>>, issuerPath = ''): Promise<Running> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-doctor-'));
  const issuer = `https://localhost:${front.port}${issuerPath}`;
  const audit = `file:${path.join(folder, 'audit.jsonl')}`;
  const trusting = { trusted_proxies: ['127.0.0.1'], audit, ...config };
  const written = await writeWorldConfig(folder, { issuer, config: trusting });
  const service = await startProcess(written.configFile);
  return {
    ...written,
    async stop() {
      await service.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function diagnose(...args: readonly string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await postern(['doctor', '--json', ...args]);
  expect(stderr).toBe('');
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings };
}

/** Returns the names of the findings behind a front with this configuration. */
async function behind(configuration: Partial<FrontConfiguration>, to = world): Promise<readonly string[]> {
  await front.serve({ upstream: new URL(to.base).host, ...configuration });
  const { code, findings } = await diagnose('--config', to.configFile);
  const problems = findings.filter(({ level }) => level === 'problem').map(({ name }) => name);
  const warnings = findings.filter(({ level }) => level === 'warning').map(({ name }) => name);
  expect(code).toBe(problems.length > 0 ? 1 : 0);
  return [...problems, ...warnings];
}

describe('a proxy that is right', () => {
  it('has no problem and no warning, and everything was looked at', async () => {
    await front.serve({ upstream: new URL(world.base).host });
    const { code, findings } = await diagnose('--config', world.configFile);
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(findings.map(({ name }) => name).join(' ')).toBe('tls reach discovery sign-in client-address');
    expect(code).toBe(0);
  });

  it('has no problem with an issuer that has a path', async () => {
    expect(await behind({}, withPath)).toEqual([]);
  });

  it('says in lines what it says in JSON, and needs no configuration for what is seen from outside', async () => {
    await front.serve({ upstream: new URL(world.base).host });
    const { code, stdout } = await postern(['doctor', '--url', `${world.issuer}/`]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {7}discovery: the issuer is https:\/\/localhost/m);
    expect(stdout).toMatch(/^skipped {2}sign-in: /m);
    expect(stdout).toMatch(/\n0 problems, 0 warnings\n$/);
  });
});

describe('a proxy that is wrong about paths and addresses', () => {
  it('strips the path of the issuer', async () => {
    expect(
      await behind({ pass: 'rewrite ^/auth(/.*)$ $1 break; proxy_pass http://postern;' }, withPath),
    ).toEqual(['path-altered']);
  });

  it('does not send the well-known address in front of the path', async () => {
    expect(await behind({ server: 'location /.well-known/ { return 404; }' }, withPath)).toEqual([
      'well-known-missing',
    ]);
  });

  it('rewrites redirects, because the Host was not passed on', async () => {
    expect(
      await behind({
        forwarding: 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
        location: `proxy_redirect https://localhost:${front.port}/ https://inner.example/;`,
      }),
    ).toEqual(['redirect-rewritten']);
  });

  it('leads to the service of another issuer', async () => {
    await front.serve({
      upstream: new URL(withPath.base).host,
      pass: 'rewrite ^(.*)$ /auth$1 break; proxy_pass http://postern;',
    });
    const { findings } = await diagnose('--url', world.issuer);
    const found = findings.find(({ name }) => name === 'issuer-mismatch');
    expect(found?.message).toBe(`the issuer in discovery is ${withPath.issuer}, not ${world.issuer}`);
  });

  it('reaches nothing', async () => {
    expect(await behind({ pass: 'proxy_pass http://127.0.0.1:9;' })).toEqual(['bad-gateway']);
  });
});

describe('a proxy that changes answers', () => {
  it.each([
    ['does not pass cookies on', { location: 'proxy_set_header Cookie "";' }, ['cookies-lost']],
    ['refuses a step', { server: 'location = /oauth/authorize { return 403; }' }, ['sign-in-refused']],
    ['refuses a page', { server: 'location /interaction/ { return 403; }' }, ['sign-in-refused']],
    ['strips cookies', { location: 'proxy_hide_header Set-Cookie;' }, ['cookies-altered']],
    [
      // A __Host- cookie must have the path /: a browser rejects any other.
      'changes the attributes of cookies',
      { location: 'proxy_cookie_path / /elsewhere/;' },
      ['cookies-altered', 'cookies-lost'],
    ],
  ])('%s', async (_what, configuration, faults) => {
    expect(await behind(configuration)).toEqual(faults);
  });

  it('rewrites bodies', async () => {
    // nginx-light has no sub_filter; replacing the whole document looks the same to a client.
    const document = JSON.stringify({
      issuer: world.issuer,
      token_endpoint: 'http://inner:3000/oauth/token',
    });
    const other = `location = /.well-known/openid-configuration { default_type application/json; return 200 '${document}'; }`;
    expect(await behind({ server: other })).toEqual(expect.arrayContaining(['urls-rewritten']));
  });
});

it.each([[], ['10.0.0.0/8']].map((proxies) => [proxies]))(
  'HT-06: a proxy that is not among %j is found in the configuration',
  async (trusted_proxies) => {
    const own = await startBehind({ trusted_proxies });
    expect(await behind({}, own)).toEqual(['trusted-proxies-wrong']);
    await own.stop();
  },
);

it('names what is wrong with a certificate', async () => {
  await front.makeCertificate('other', { names: 'DNS:elsewhere.example' });
  expect(await behind({ certificate: 'other' })).toEqual(['certificate-refused']);
  await front.makeCertificate('ended', { days: -1 });
  expect(await behind({ certificate: 'ended' })).toEqual(['certificate-refused', 'certificate-expires']);
  const { findings } = await diagnose('--config', world.configFile);
  expect(findings[1]?.message).toMatch(/^the certificate expired at 20\d\d-.*Z$/);
});

describe('the file', () => {
  async function diagnoseWith(changes: object): Promise<Diagnosis> {
    const file = path.join(world.folder, 'elsewhere.json');
    const content = JSON.parse(await readFile(world.configFile, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...content, ...changes }));
    await front.serve({ upstream: new URL(world.base).host });
    return diagnose('--config', file);
  }

  it("leads to secrets that can't be read here, and the rest is looked at", async () => {
    const { code, findings } = await diagnoseWith({ cookie_keys: ['env:POSTERN_NOBODY_SETS_THIS'] });
    expect([code, findings[0]]).toMatchObject([0, { level: 'skipped', name: 'store' }]);
    expect(findings.map(({ name }) => name)).toContain('sign-in');
  });

  it('has another encryption key than the store', async () => {
    const fresh = randomBytes(32).toString('base64url');
    await writeFile(path.join(world.folder, 'fresh.key'), fresh, { mode: 0o600 });
    const { findings } = await diagnoseWith({ encryption_keys: ['file:fresh.key'] });
    expect(findings.find(({ name }) => name === 'encryption-keys')).toMatchObject({
      level: 'problem',
      message: expect.stringContaining('the next start would fail'),
    });
  });
});
