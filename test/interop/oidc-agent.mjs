// oidc-agent, on a machine without a browser: the person lets it in elsewhere, and programs get their access tokens from it.
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import * as jose from 'jose';
import { debianVersion } from './apache.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, api, folder } = settings;
version(await debianVersion('oidc-agent-cli'));

const env = { ...process.env, HOME: folder, OIDC_CONFIG_DIR: folder, TMPDIR: folder };
const run = promisify(execFile);
const { stdout: started } = await run('oidc-agent', [], { env });
const [, socket, pid] = /OIDC_SOCK=([^;]+);[^]*OIDCD_PID=(\d+)/.exec(started);
env.OIDC_SOCK = socket;
try {
  // As docs/device-flow.md prints it, with the certificate of this run.
  const gen = spawn(
    'oidc-gen',
    [
      '--flow=device',
      `--issuer=${issuer}/`,
      `--client-id=${clientId}`,
      '--client-secret=',
      '--redirect-uri=',
      '--scope=openid profile offline_access reports.read',
      '--prompt=none',
      '--confirm-default',
      '--pw-cmd=echo fixture',
      `--cert-file=${process.env.NODE_EXTRA_CA_CERTS}`,
      '--no-url-call',
      'work',
    ],
    { env, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const [, code] = await find(gen.stderr, /enter the code: (\S+)/);
  const page = await new Person().open(`${issuer}/device?user_code=${code}`);
  check(page.text.includes('Device connected'), 'let in at another machine', page.text);
  const status = await new Promise((resolve) => gen.on('close', resolve));
  check(status === 0, 'signed in without a browser', status);

  const token = async () => {
    const { stdout } = await run('oidc-token', ['--force-new', 'work'], { env });
    return stdout.trim();
  };
  const [first, second] = [await token(), await token()];
  check(first !== second, 'refresh token');
  const keys = jose.createRemoteJWKSet(new URL(`${issuer}/oauth/jwks.json`));
  const { payload } = await jose.jwtVerify(second, keys, { issuer, audience: api });
  check(payload.sub !== undefined, 'access token for an API', payload);
} finally {
  process.kill(Number(pid));
}

/** The first match in what a program says. */
async function find(stream, pattern) {
  let said = '';
  for await (const line of createInterface({ input: stream })) {
    said += `${line}\n`;
    const found = pattern.exec(line);
    if (found !== null) return found;
  }
  throw new Error(`it didn't say ${pattern}: ${said}`);
}
