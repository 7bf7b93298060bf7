// Whether limits can count by the client's address behind a proxy. What the proxy sends isn't checked: no response has the address.
import { isLoopbackHost } from '../../config/uri.ts';
import { createClientAddress } from '../../http/client-address.ts';
import { Skipped, type ReportFault, type Target } from './check.ts';

const LOOPBACK = '127.0.0.1';
/** RFC 5737: an address that no host has. */
const ANY = '192.0.2.66';

export async function checkClientAddress({ config, issuer }: Target, report: ReportFault): Promise<string> {
  if (!config) throw new Skipped('trusted_proxies can only be checked with the configuration');
  if (!issuer.startsWith('https:')) return 'not needed: the issuer is http, without a proxy';
  if (lacksProxy(config.trustedProxies, config.listen.host))
    report(
      'trusted-proxies-wrong',
      'trusted_proxies does not include the proxy, so all clients share its address and limits',
    );
  return 'trusted_proxies includes the proxy';
}

/** A proxy terminates TLS. It is on this machine if the service listens on loopback only. */
function lacksProxy(trustedProxies: readonly string[], host: string): boolean {
  if (!isLoopbackHost(host)) return trustedProxies.length === 0;
  return createClientAddress(trustedProxies)(host === 'localhost' ? LOOPBACK : host, ANY) !== ANY;
}
