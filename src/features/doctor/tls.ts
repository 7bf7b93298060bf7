// Checks the certificate of the public address.
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { isLoopbackUrl } from '../../config/uri.ts';
import type { ReportFault, Target } from './check.ts';

const TIMEOUT_MS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const WARN_AHEAD_DAYS = 14;

export async function checkTls({ at, now }: Target, report: ReportFault): Promise<string | undefined> {
  const url = new URL(at);
  if (url.protocol === 'http:')
    return isLoopbackUrl(at)
      ? 'not needed on localhost'
      : report('plain-http', `${at} uses plain http, so others can read passwords and tokens`);
  const found = await shakeHands(url);
  if ('failed' in found) return report('tls-failed', `TLS connection to ${url.host} failed: ${found.failed}`);
  if (found.refused !== undefined)
    report('certificate-refused', `clients reject the certificate of ${url.hostname}: ${found.refused}`);
  const days = Math.floor((found.until - now()) / DAY_MS);
  if (days < 0)
    return report('certificate-expires', `the certificate expired at ${new Date(found.until).toISOString()}`);
  if (days < WARN_AHEAD_DAYS) report('certificate-expires', `the certificate expires in ${days} days`);
  return `the certificate is valid for ${days} more days`;
}

/** `refused` and `failed` are codes of OpenSSL and of the system. */
type Handshake = Readonly<{ until: number; refused: string | undefined }> | { readonly failed: string };

function shakeHands({ hostname, port }: URL): Promise<Handshake> {
  const host = hostname.replace(/^\[|\]$/g, '');
  // SNI can't name an IP address, but the certificate must still have it.
  const name = isIP(host) === 0 && { servername: host };
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || '443'), rejectUnauthorized: false, ...name });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve({ failed: error.code ?? error.message }));
    socket.once('secureConnect', () => {
      // Typed as an Error, but a string at run time.
      const refused = socket.authorized ? undefined : String(socket.authorizationError);
      resolve({ until: Date.parse(socket.getPeerCertificate().valid_to), refused });
      socket.destroy();
    });
  });
}
