// TLS in front of the service: the certificate and the versions that are accepted. HSTS is in answers.ts.
import { isIP } from 'node:net';
import { checkServerIdentity, connect, type PeerCertificate, type SecureVersion } from 'node:tls';
import { isLoopbackUrl } from '../config/uri.ts';
import type { Examination } from './examination.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

const TIMEOUT_MS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const WARN_AHEAD_DAYS = 14;

type Handshake = {
  readonly certificate: PeerCertificate;
  /** Why the certificate isn't trusted, as OpenSSL names it. */
  readonly distrust: string | undefined;
  readonly protocol: string | null;
};

/** `at` is https, or plain http on this machine alone. */
export async function checkTls({ at, now }: Examination): Promise<readonly Finding[]> {
  const url = new URL(at);
  if (url.protocol !== 'https:') return plainHttp(at);
  const handshake = await shakeHands(url);
  if (typeof handshake === 'string')
    return [
      problem(
        'tls-failed',
        `no TLS connection to ${url.host}: ${handshake}`,
        'Look at the log of the proxy.',
      ),
    ];
  const findings = [
    ...judgeCertificate(handshake, url.hostname, now()),
    ...((await acceptsOldTls(url))
      ? [
          problem(
            'tls-old',
            'TLS 1.1 or older is accepted',
            'Allow TLS 1.2 and 1.3 only (RFC 8996); in nginx: ssl_protocols TLSv1.2 TLSv1.3;',
          ),
        ]
      : []),
  ];
  const until = new Date(handshake.certificate.valid_to).toISOString().slice(0, 10);
  return findings.length > 0
    ? findings
    : [ok('tls', `${handshake.protocol}, the certificate is good until ${until}`)];
}

function plainHttp(at: string): readonly Finding[] {
  if (isLoopbackUrl(at)) return [ok('tls', 'not needed on this machine')];
  const advice = 'Put a proxy with TLS in front, and give its https address as issuer.';
  return [problem('plain-http', `${at} is plain http: passwords and tokens can be read on the way`, advice)];
}

function judgeCertificate({ certificate, distrust }: Handshake, host: string, now: number): Finding[] {
  const findings: Finding[] = [];
  const [from, until] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  const day = new Date(until).toISOString().slice(0, 10);
  const days = Math.floor((until - now) / DAY_MS);
  if (until <= now)
    findings.push(
      problem('certificate-expired', `the certificate expired on ${day}`, 'Renew it, and reload the proxy.'),
    );
  else if (from > now)
    findings.push(
      problem(
        'certificate-not-yet-valid',
        'the certificate is not valid yet',
        'Compare the clocks, or wait.',
      ),
    );
  else if (days < WARN_AHEAD_DAYS)
    findings.push(
      warning(
        'certificate-expires',
        `the certificate expires in ${days} days, on ${day}`,
        'Renew it; see why that did not happen by itself.',
      ),
    );
  // An address has no name to be compared by SNI, but the certificate must hold it all the same.
  if (checkServerIdentity(host.replace(/^\[|\]$/g, ''), certificate) !== undefined)
    findings.push(
      problem(
        'certificate-name',
        `the certificate is not for ${host}`,
        `Get one whose subjectAltName has ${host}.`,
      ),
    );
  const known = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);
  if (distrust !== undefined && !known.has(distrust))
    findings.push(
      problem(
        'certificate-untrusted',
        `the certificate is not trusted here: ${distrust}`,
        'Send the whole chain; with an authority of your own, run this with NODE_EXTRA_CA_CERTS=FILE.',
      ),
    );
  return findings;
}

type Limits = {
  readonly minVersion?: SecureVersion;
  readonly maxVersion?: SecureVersion;
  readonly ciphers?: string;
};

function shakeHands(url: URL, limits: Limits = {}): Promise<Handshake | string> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || '443'),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
      ...limits,
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('secureConnect', () => {
      const { authorized, authorizationError } = socket;
      resolve({
        certificate: socket.getPeerCertificate(),
        distrust: authorized ? undefined : codeOf(authorizationError),
        protocol: socket.getProtocol(),
      });
      socket.destroy();
    });
  });
}

/** Typed as an Error, and a string in fact. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

async function acceptsOldTls(url: URL): Promise<boolean> {
  // Without the lower security level our own side would refuse first, and nothing would be learned.
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
  return typeof (await shakeHands(url, old)) !== 'string';
}
