// Email through real servers: Debian's Postfix with STARTTLS, which delivers to a mailbox, and aiosmtpd with a password.
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { askFor } from '../features/mail/people.ts';
import { makeCertificate } from '../world/certificate.ts';
import { until } from '../world/clock.ts';
import { runCli, runProgram, startProcess, startUntil } from '../world/process.ts';
import { freePort } from '../world/servers.ts';
import { seedStore, writeWorldConfig } from '../world/world.ts';
import { debianVersion } from './apache.ts';
import { check, version } from './report.ts';

const [name = ''] = process.argv.slice(2);
const folder = await mkdtemp(path.join(tmpdir(), 'postern-mail-'));
// Postfix delivers as another user.
await chmod(folder, 0o755);
const mailbox = path.join(folder, 'mail');
await mkdir(mailbox);
await chown(mailbox, 65_534, 65_534);
const certificate = await makeCertificate(folder, 'localhost');
const port = await freePort();
const place = { env: { PORT: String(port), FOLDER: folder } };

const MAIN = `compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = /dev/stdout
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = localhost
mydestination =
mynetworks =
virtual_mailbox_domains = acme.example
virtual_mailbox_base = ${mailbox}
virtual_mailbox_maps = inline:{ zoe@acme.example=zoe/ }
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_tls_security_level = encrypt
smtpd_tls_cert_file = ${certificate}
smtpd_tls_key_file = ${folder}/tls.key
`;

async function startPostfix() {
  for (const own of ['queue', 'data']) await mkdir(path.join(folder, own));
  const [, postfix = ''] = /^postfix:[^:]*:(\d+)/m.exec(await readFile('/etc/passwd', 'utf8')) ?? [];
  await chown(path.join(folder, 'data'), Number(postfix), 0);
  await writeFile(path.join(folder, 'main.cf'), MAIN);
  const services = (await readFile('/usr/share/postfix/master.cf.dist', 'utf8'))
    .replace(/^smtp +inet/m, `127.0.0.1:${port} inet`)
    // No service runs in a chroot: the folder has no libraries.
    .replaceAll(/^(\S+ +\S+ +\S+ +\S+ +)y/gm, '$1n');
  await writeFile(path.join(folder, 'master.cf'), services);
  // Postfix can't open a socket as its /dev/stdout.
  const command = `/usr/sbin/postfix -c ${folder} start-fg | cat`;
  return startUntil('daemon started', ['sh', '-c', command], place);
}

const server = await (name === 'postfix'
  ? startPostfix()
  : startUntil('ready', ['/usr/bin/python3', path.join(import.meta.dirname, 'smtp_server.py')], place));
version(await debianVersion(name === 'postfix' ? 'postfix' : 'python3-aiosmtpd'));
const account = name === 'postfix' ? {} : { username: 'postern', password: 'fixture-password-of-smtp' };
const mail = {
  from: 'no-reply@acme.example',
  server: `smtp://localhost:${port}`,
  ca: `file:${certificate}`,
  ...account,
};
const world = await writeWorldConfig(folder, { config: { mail } });
await seedStore(world.configFile);
const postern = (...args: readonly string[]) =>
  runCli([...args, '--config', world.configFile], 'seven wet umbrellas\n');
const service = await startProcess(world.configFile);
const letters = () =>
  readdirSync(mailbox, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !one.parentPath.endsWith('tmp'))
    .map((one) => readFileSync(path.join(one.parentPath, one.name), 'utf8'));
try {
  await postern('user', 'add', 'zoe', '--claim', 'email=zoe@acme.example');
  await askFor(world, 'zoe');
  await until(() => check(letters().length === 1, 'a reset email over STARTTLS', service.stderr()));
  check(/\/interaction\/link\//.test(letters().join()), 'its link is in the mailbox');
  const fails = async (to: string, reason: string, what: string) => {
    const { stderr } = await postern('mail', 'test', to);
    check(stderr.includes(`(${reason})`), what, stderr);
  };
  if (name === 'postfix') {
    await fails('nobody@acme.example', 'refused', 'refuses an unknown mailbox');
    // Postfix answers 454 4.7.1, like a server that is busy.
    await fails('anna@other.example', 'busy', 'email to elsewhere waits while the relay is denied');
  } else {
    const right = await readFile(world.configFile, 'utf8');
    await writeFile(world.configFile, right.replace('-of-smtp', '-of-another'));
    await fails('zoe@acme.example', 'auth', 'refuses a wrong password');
  }
} finally {
  await service.end();
  if (name === 'postfix') await runProgram(['/usr/sbin/postfix', '-c', folder, 'stop'], place);
  await server.end();
  await rm(folder, { recursive: true, force: true });
}
