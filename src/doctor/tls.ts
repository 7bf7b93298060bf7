// TLS in front of the service: the certificate, the versions that are accepted, and what answers without TLS beside it.
import { isIP } from 'node:net';
import { checkServerIdentity, connect, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import { ENDPOINTS } from '../config/endpoints.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { Unanswered } from './ask.ts';
import type { ReportFault, Target } from './check.ts';

const TIMEOUT_MS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const WARN_AHEAD_DAYS = 14;
/** OpenSSL's codes for wrong times or names, which are separate faults here. */
const REPORTED = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);
/** The lower security level is needed for this side to offer old versions at all. */
const OLD = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

type Handshake = {
  readonly certificate: PeerCertificate;
  /** Why the certificate isn't trusted, as OpenSSL names it. */
  readonly distrust: string | undefined;
  readonly protocol: string | null;
};

export async function checkTls(target: Target, report: ReportFault): Promise<string | undefined> {
  const { at } = target;
  const url = new URL(at);
  if (url.protocol === 'http:')
    return isLoopbackUrl(at)
      ? 'not needed on this machine'
      : report('plain-http', `${at} is plain http: passwords and tokens can be read on the way`);
  const handshake = await shakeHands(url);
  if (typeof handshake === 'string')
    return report('tls-failed', `no TLS connection to ${url.host}: ${handshake}`);
  const until = judgeCertificate(handshake, target, report);
  if (typeof (await shakeHands(url, OLD)) !== 'string') report('tls-old', 'TLS 1.1 or older is accepted');
  return `${handshake.protocol}, the certificate is good until ${until}`;
}

/** Returns the day on which it ends. */
function judgeCertificate({ certificate, distrust }: Handshake, target: Target, report: ReportFault): string {
  const [url, now] = [new URL(target.at), target.now()];
  const until = Date.parse(certificate.valid_to);
  const day = new Date(until).toISOString().slice(0, 10);
  const days = Math.floor((until - now) / DAY_MS);
  if (until <= now) report('certificate-expired', `the certificate expired on ${day}`);
  else if (Date.parse(certificate.valid_from) > now)
    report('certificate-not-yet-valid', 'the certificate is not valid yet');
  else if (days < WARN_AHEAD_DAYS)
    report('certificate-expires', `the certificate expires in ${days} days, on ${day}`);
  // An address has no name to be compared by SNI, but the certificate must hold it all the same.
  if (checkServerIdentity(hostOf(url), certificate) !== undefined)
    report('certificate-name', `the certificate is not for ${url.hostname}`);
  if (distrust !== undefined && !REPORTED.has(distrust))
    report('certificate-untrusted', `the certificate is not trusted here: ${distrust}`);
  return day;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Typed as an Error, but a string at run time. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** Or why there was none. */
function shakeHands(url: URL, limits: ConnectionOptions = {}): Promise<Handshake | string> {
  const host = hostOf(url);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || '443'),
      rejectUnauthorized: false,
      ...servername,
      ...limits,
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('secureConnect', () => {
      const distrust = socket.authorized ? undefined : codeOf(socket.authorizationError);
      resolve({ certificate: socket.getPeerCertificate(), distrust, protocol: socket.getProtocol() });
      socket.destroy();
    });
  });
}

/** Only for the default port is the plain HTTP port known. */
export async function checkPlainHttp({ at, ask }: Target, report: ReportFault): Promise<string | undefined> {
  const { protocol, port, host, pathname } = new URL(at);
  if (protocol !== 'https:' || port !== '') return undefined;
  const plain = `http://${host}${pathname.replace(/\/$/, '')}`;
  try {
    const { json } = await ask(`${plain}${ENDPOINTS.discovery}`);
    if (json?.['issuer'] === undefined) return `${plain} serves nothing without TLS`;
    return report('plain-http-open', `${plain} serves Postern without TLS: it can be read on the way`);
  } catch (error) {
    if (error instanceof Unanswered) return `${plain} does not answer`;
    throw error;
  }
}
