// A certificate of one host on this machine, for servers that a test starts.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { requireServer } from './servers.ts';

/** Writes tls.key and tls.crt for `host`; resolves the path of tls.crt. */
export async function makeCertificate(folder: string, host: string): Promise<string> {
  const [key, crt] = [path.join(folder, 'tls.key'), path.join(folder, 'tls.crt')];
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const kind = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', crt];
  await promisify(execFile)(requireServer('openssl'), [...kind, ...names]);
  return crt;
}

/** Gives the certificate of `makeCertificate` an end that has passed. */
export async function expireCertificate(folder: string): Promise<void> {
  const [key, crt] = [path.join(folder, 'tls.key'), path.join(folder, 'tls.crt')];
  const days = ['x509', '-in', crt, '-signkey', key, '-days', '0', '-out', crt];
  await promisify(execFile)(requireServer('openssl'), days);
}
