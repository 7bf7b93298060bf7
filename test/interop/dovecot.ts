// Debian's Dovecot as a separate process: IMAP with access tokens, which it introspects.
import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { settings } from './report.ts';

const READY_MS = 15_000;

export type Dovecot = { stop(): Promise<void> };

/** Starts Dovecot. Needs root, because Dovecot changes to its own users. */
export async function startDovecot(port: number): Promise<Dovecot> {
  // Not in the run's own folder, which Dovecot's users may not read.
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-dovecot-'));
  await chmod(folder, 0o755);
  await mkdir(path.join(folder, 'home'));
  await chmod(path.join(folder, 'home'), 0o777);
  await copyFile(path.join(settings.folder, 'tls.crt'), path.join(folder, 'tls.crt'));
  const { host } = new URL(settings.issuer);
  await writeFile(
    path.join(folder, 'oauth2.conf'),
    `introspection_mode = post
introspection_url = https://dovecot:${settings.clientSecret}@${host}/oauth/introspect
active_attribute = active
active_value = true
username_attribute = preferred_username
tls_ca_cert_file = ${folder}/tls.crt
`,
  );
  await writeFile(
    path.join(folder, 'dovecot.conf'),
    `protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
base_dir = ${folder}/run
state_dir = ${folder}/run
log_path = /dev/stderr
mail_location = maildir:~/mail
first_valid_uid = 1
auth_mechanisms = xoauth2 oauthbearer
passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = ${folder}/oauth2.conf
}
userdb {
  driver = static
  args = uid=mail gid=mail home=${folder}/home/%u
}
service imap-login {
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
service stats {
  unix_listener stats-writer {
    mode = 0666
  }
}
`,
  );
  const child = spawn('/usr/sbin/dovecot', ['-F', '-c', path.join(folder, 'dovecot.conf')], {
    stdio: ['ignore', 2, 2],
  });
  process.once('exit', () => child.kill('SIGTERM'));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = Date.now() + READY_MS;
  while (!(await answers(port))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error('Dovecot did not start');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { stop };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false)).once('data', () => socket.destroy());
  });
}
