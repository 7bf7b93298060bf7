// `postern doctor` against a running service behind a real nginx: one that is set up rightly, and one for each way to get it
// wrong. Every fault is found by its name.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postern } from '../unit/cli/terminal.ts';
import { freePort } from '../servers.ts';
import { startProcess } from '../world/process.ts';
import { SPA_ORIGIN, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { makeFront, type Front, type FrontConfiguration } from './front.ts';

type Finding = { readonly level: string; readonly name: string; readonly message: string };
type Diagnosis = { readonly code: number; readonly findings: readonly Finding[] };

type Running = Awaited<ReturnType<typeof writeWorldConfig>> & {
  readonly folder: string;
  readonly management: string;
  stop(): Promise<void>;
};

let front: Front;
let world: Running;
let withPath: Running;

beforeAll(async () => {
  Object.assign(process.env, WORLD_ENV);
  front = await makeFront();
  setDefaultCACertificates([...getCACertificates('default'), front.certificate]);
  [world, withPath] = await Promise.all([startBehind({}), startBehind({}, '/auth')]);
});
afterAll(async () => {
  await front.stop();
  await world.stop();
  await withPath.stop();
});

/** A process of its own, because only that knows which file it runs. */
async function startBehind(config: Readonly<Record<string, unknown>>, issuerPath = ''): Promise<Running> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-doctor-'));
  const ports = [await freePort(), await freePort()] as const;
  const issuer = `https://localhost:${front.port}${issuerPath}`;
  const trusting = { trusted_proxies: ['127.0.0.1'], ...config };
  const written = await writeWorldConfig(folder, { issuer, config: trusting }, ports);
  const service = await startProcess(written.configFile);
  return {
    ...written,
    folder,
    management: `http://127.0.0.1:${ports[1]}`,
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

/** Names of what is not in order, behind a front with this configuration. */
async function behind(configuration: Partial<FrontConfiguration>, to = world): Promise<readonly string[]> {
  await front.serve({ upstream: new URL(to.base).host, ...configuration });
  // What is counted would be counted in the next case, too: those that are about it have a service of their own.
  const { code, findings } = await diagnose(
    '--config',
    to.configFile,
    ...(to === world || to === withPath ? ['--no-guesses'] : []),
  );
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
    expect(findings.map(({ name }) => name).join(' ')).toBe(
      'running files secrets tls reach discovery caching errors headers token-caching cors sign-in sizes exposure clock client-address',
    );
    expect(code).toBe(0);
  });

  it('has no problem with an issuer that has a path', async () => {
    expect(await behind({}, withPath)).toEqual([]);
  });

  it('may compress', async () => {
    expect(await behind({ location: 'gzip on; gzip_types application/json;' })).toEqual([]);
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
    ).toEqual(['path-stripped']);
  });

  it('doubles the path of the issuer', async () => {
    expect(
      await behind({ pass: 'rewrite ^(.*)$ /auth$1 break; proxy_pass http://postern;' }, withPath),
    ).toEqual(['path-doubled']);
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
    expect(found?.message).toMatch(/another path$/);
  });

  it('reaches nothing', async () => {
    expect(await behind({ pass: 'proxy_pass http://127.0.0.1:9;' })).toEqual(['bad-gateway']);
  });

  it('leads the public to the management listener', async () => {
    const management = new URL(world.management).host;
    expect(await behind({ server: `location = /readyz { proxy_pass http://${management}; }` })).toEqual([
      'management-exposed',
    ]);
  });
});

describe('a proxy that changes answers', () => {
  it('strips cookies', async () => {
    expect(await behind({ location: 'proxy_hide_header Set-Cookie;' })).toEqual(['cookies-stripped']);
  });

  it('changes the attributes of cookies', async () => {
    expect(await behind({ location: 'proxy_cookie_flags ~ nosecure;' })).toEqual(['cookies-altered']);
    // A __Host- cookie may have no other path than /: a browser refuses it.
    expect(await behind({ location: 'proxy_cookie_path / /elsewhere/;' })).toEqual([
      'cookies-altered',
      'cookies-lost',
    ]);
  });

  it('does not pass cookies on', async () => {
    expect(await behind({ location: 'proxy_set_header Cookie "";' })).toEqual(['cookies-lost']);
  });

  it('refuses a step of the sign-in', async () => {
    expect(await behind({ server: 'location = /oauth/authorize { return 403; }' })).toEqual(
      expect.arrayContaining(['method-blocked', 'sign-in-refused']),
    );
    expect(await behind({ server: 'location /interaction/ { return 403; }' })).toEqual(['page-refused']);
  });

  it('sends no assets', async () => {
    expect(await behind({ server: 'location /assets/ { return 404; }' })).toEqual(['assets-blocked']);
  });

  it('adds CORS headers of its own', async () => {
    expect(await behind({ location: 'add_header Access-Control-Allow-Origin * always;' })).toEqual([
      'cors-added',
      'cors-doubled',
      'preflight-altered',
    ]);
    const same = `set $o ''; if ($http_origin = '${SPA_ORIGIN}') { set $o $http_origin; } add_header Access-Control-Allow-Origin $o always;`;
    expect(await behind({ server: same })).toEqual(['cors-doubled', 'preflight-altered']);
  });

  it('strips CORS headers', async () => {
    expect(await behind({ location: 'proxy_hide_header Access-Control-Allow-Origin;' })).toEqual([
      'cors-stripped',
      'preflight-altered',
    ]);
  });

  it('keeps discovery and the key set for a day', async () => {
    const http = 'proxy_cache_path tmp/cache keys_zone=c:1m;';
    const cache = 'proxy_cache c; proxy_cache_valid 200 1d; proxy_ignore_headers Cache-Control Vary;';
    expect(await behind({ http, location: cache })).toEqual([
      'discovery-cached',
      'jwks-cached',
      'cors-stripped',
    ]);
    expect(await behind({ location: 'expires 1d;' })).toEqual([
      'discovery-cache-control',
      'jwks-cache-control',
    ]);
    expect(await behind({ location: 'proxy_hide_header Cache-Control;' })).toEqual([
      'discovery-cache-control',
      'jwks-cache-control',
      'no-store-stripped',
    ]);
  });

  it('answers with an old key set', async () => {
    const old = `location = /oauth/jwks.json { default_type application/json; return 200 '{"keys":[]}'; }`;
    expect(await behind({ server: old })).toEqual(
      expect.arrayContaining(['jwks-stale', 'jwks-cache-control', 'jwks-request-id-stripped', 'etag-broken']),
    );
  });

  it('keeps what the token endpoint says', async () => {
    const http = 'proxy_cache_path tmp/cache keys_zone=c:1m;';
    const cache =
      'proxy_cache c; proxy_cache_methods POST; proxy_cache_valid any 1m; proxy_ignore_headers Cache-Control Vary; ';
    const token = `location = /oauth/token { proxy_pass http://postern; ${cache} }`;
    expect(await behind({ http, server: token })).toEqual(expect.arrayContaining(['token-cached']));
  });

  it('puts its own pages in the place of errors', async () => {
    expect(
      await behind({
        location: 'proxy_intercept_errors on; error_page 400 401 404 /sorry;',
        server: 'location = /sorry { internal; return 404; }',
      }),
    ).toEqual(expect.arrayContaining(['error-page-replaced']));
  });

  it('rewrites bodies', async () => {
    // nginx-light has no sub_filter; a whole other document is the same thing to see.
    const document = JSON.stringify({
      issuer: world.issuer,
      token_endpoint: 'http://inner:3000/oauth/token',
    });
    const other = `location = /.well-known/openid-configuration { default_type application/json; return 200 '${document}'; }`;
    expect(await behind({ server: other })).toEqual(
      expect.arrayContaining(['urls-rewritten', 'discovery-altered']),
    );
  });

  it('strips or doubles security headers', async () => {
    expect(await behind({ location: 'proxy_hide_header Strict-Transport-Security;' })).toEqual([
      'security-headers-stripped',
    ]);
    expect(await behind({ location: 'add_header X-Frame-Options SAMEORIGIN always;' })).toEqual([
      'security-headers-doubled',
    ]);
    expect(await behind({ location: 'proxy_hide_header WWW-Authenticate;' })).toEqual([
      'www-authenticate-stripped',
    ]);
  });
});

describe('a proxy that lets too little through', () => {
  it('has small buffers for requests', async () => {
    expect(
      await behind({
        buffers: 'large_client_header_buffers 4 4k; proxy_buffer_size 16k; proxy_buffers 8 16k;',
      }),
    ).toEqual(['long-url-refused', 'long-header-refused']);
  });

  it('takes no long forms', async () => {
    expect(await behind({ location: 'client_max_body_size 8k;' })).toEqual(['long-form-refused']);
  });

  it('has small buffers for answers', async () => {
    expect(
      await behind({
        location: 'proxy_buffer_size 4k; proxy_buffers 8 4k; proxy_busy_buffers_size 8k;',
        buffers: 'large_client_header_buffers 4 16k; client_max_body_size 64k;',
      }),
    ).toEqual(['long-redirect-refused']);
  });

  it('lets no POST and no OPTIONS through', async () => {
    const found = await behind({ location: 'limit_except GET { deny all; }' });
    expect(found).toEqual(expect.arrayContaining(['method-blocked', 'preflight-blocked']));
  });
});

describe('a proxy that says who the client is', () => {
  /** In a service that has counted nothing yet. */
  async function alone(configuration: Partial<FrontConfiguration>, config = {}): Promise<readonly string[]> {
    const own = await startBehind(config);
    try {
      return await behind(configuration, own);
    } finally {
      await own.stop();
    }
  }

  it('HT-06: passes on what the client wrote', async () => {
    expect(await alone({ forwarding: 'proxy_set_header X-Forwarded-For $http_x_forwarded_for;' })).toEqual([
      'forwarded-for-forged',
      'client-address-lost',
    ]);
  });

  it('HT-06: says nothing', async () => {
    expect(await alone({ forwarding: 'proxy_set_header X-Forwarded-For "";' })).toEqual([
      'client-address-lost',
    ]);
  });

  it('does not say how long to wait', async () => {
    expect(await alone({ location: 'proxy_hide_header Retry-After;' })).toEqual(['retry-after-stripped']);
  });

  it('HT-06: says another address each time', async () => {
    expect(await alone({ forwarding: 'proxy_set_header X-Forwarded-For 198.51.100.$connection;' })).toEqual([
      'limit-without-effect',
    ]);
  });

  it('HT-06: appends, and Postern trusts more than the proxy', async () => {
    // Whoever is asked here is trusted itself, so nothing can be learned from this machine.
    const own = await startBehind({ trusted_proxies: ['127.0.0.0/8'] });
    await front.serve({ upstream: new URL(own.base).host });
    const { findings } = await diagnose('--config', own.configFile);
    await own.stop();
    expect(findings.find(({ name }) => name === 'forwarded-for')?.message).toMatch(
      /run the doctor from another/,
    );
  });

  it('HT-06: is not trusted by the configuration', async () => {
    expect(await alone({}, { trusted_proxies: [] })).toEqual([
      'trusted-proxies-empty',
      'client-address-lost',
    ]);
    expect(await alone({}, { trusted_proxies: ['10.0.0.0/8'] })).toEqual([
      'trusted-proxies-wrong',
      'client-address-lost',
    ]);
  });

  it('HT-06: was asked a moment ago', async () => {
    const own = await startBehind({ trusted_proxies: [] });
    await behind({}, own);
    const { findings } = await diagnose('--config', own.configFile);
    await own.stop();
    expect(findings.find(({ name }) => name === 'client-address')?.message).toMatch(/ask again in \d+ s/);
  });

  it('is not asked with --no-guesses', async () => {
    await front.serve({ upstream: new URL(world.base).host });
    const { findings } = await diagnose('--config', world.configFile, '--no-guesses');
    expect(findings.map(({ name }) => name)).not.toContain('client-address');
  });
});

describe('TLS', () => {
  it('names what is wrong with a certificate', async () => {
    await front.makeCertificate('other', { names: 'DNS:elsewhere.example' });
    expect(await behind({ certificate: 'other' })).toEqual(['certificate-name', 'certificate-untrusted']);
    await front.makeCertificate('short', { days: 3 });
    expect(await behind({ certificate: 'short' })).toEqual(['certificate-untrusted', 'certificate-expires']);
    await front.makeCertificate('ended', { days: -1 });
    expect(await behind({ certificate: 'ended' })).toEqual(expect.arrayContaining(['certificate-expired']));
  });

  it('finds versions that are too old', async () => {
    expect(await behind({ protocols: 'TLSv1.1 TLSv1.2' })).toEqual(['tls-old']);
  });
});

describe('the files and the service behind', () => {
  it('finds secrets, data and views that others can get at', async () => {
    const folder = path.join(world.folder, 'open');
    await mkdir(path.join(folder, 'views'), { recursive: true });
    await mkdir(path.join(folder, 'data'));
    await writeFile(path.join(folder, 'key'), `${WORLD_ENV.TEST_ENCRYPTION_KEY}\n`, { mode: 0o644 });
    const file = path.join(folder, 'postern.json');
    const content = {
      issuer: world.issuer,
      listen: { port: 1 },
      management: { port: 2 },
      store: 'lmdb:data',
      views: 'views',
      trusted_proxies: ['127.0.0.1'],
      encryption_keys: ['file:key'],
      cookie_keys: ['env:TEST_COOKIE_KEY'],
      clients: [
        {
          client_id: 'late',
          client_secrets: [{ value: 'env:TEST_SVC', name: 'old', expires_at: '2020-01-01' }],
          grant_types: ['client_credentials'],
          scope: 'x',
        },
      ],
      resources: [{ resource: 'urn:x', scopes: ['x'] }],
    };
    await writeFile(file, JSON.stringify(content), { mode: 0o640 });
    await chmod(path.join(folder, 'key'), 0o644);
    await chmod(path.join(folder, 'views'), 0o777);
    await chmod(path.join(folder, 'data'), 0o755);
    await front.serve({ upstream: new URL(world.base).host });
    const { findings } = await diagnose('--config', file, '--no-guesses');
    const problems = findings.filter(({ level }) => level === 'problem').map(({ name }) => name);
    expect(problems).toEqual(
      expect.arrayContaining(['secret-readable', 'views-writable', 'data-readable', 'secret-expired']),
    );
    await chmod(file, 0o666);
    const again = await diagnose('--config', file, '--no-guesses');
    expect(again.findings.map(({ name }) => name)).toContain('file-writable');
  });

  it('tells a broken file, and goes on with the address in it', async () => {
    const file = path.join(world.folder, 'broken.json');
    await writeFile(
      file,
      JSON.stringify({ issuer: world.issuer, management: portOf(world.management), lifetimes: 5 }),
    );
    await front.serve({ upstream: new URL(world.base).host });
    const { code, findings } = await diagnose('--config', file);
    expect(code).toBe(1);
    const names = findings.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['configuration-broken', 'running', 'discovery']));
  });

  it('tells that the service runs another configuration', async () => {
    const file = path.join(world.folder, 'changed.json');
    const content = JSON.parse(await readFile(world.configFile, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify({ ...content, branding: { name: 'Another' } }));
    await front.serve({ upstream: new URL(world.base).host });
    const { findings } = await diagnose('--config', file, '--no-guesses');
    expect(findings.map(({ name }) => name)).toContain('configuration-differs');
  });
});

function portOf(url: string) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
