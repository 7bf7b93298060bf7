// Everything that `postern doctor` can find wrong, with what to do about it. Users know the names
// (docs/troubleshooting.md), so names never change.

const problem = (advice: string) => ({ level: 'problem', advice }) as const;
const warning = (advice: string) => ({ level: 'warning', advice }) as const;

const SEE = 'See docs/reverse-proxy.md.';

export const FAULTS = {
  'store-unreachable': problem('Is it running, and may this machine reach it?'),
  'store-settings': problem('See docs/redis.md.'),
  'encryption-keys': problem('Put the old key last in encryption_keys. See docs/keys.md.'),

  'no-answer': problem('Is the name right, is the proxy running, and does it answer within 10 s?'),
  'bad-gateway': problem('Is Postern running, and does the proxy send requests to its listen address?'),
  'not-postern': problem('See where the proxy sends this host and path.'),
  'discovery-redirected': problem('Clients do not follow that: give the address it leads to as issuer.'),
  'path-altered': problem('Pass the path on as it came (in nginx: proxy_pass without a path).'),
  'well-known-missing': warning('Send it to Postern as well: OAuth clients look there (RFC 8414 §3.1).'),
  'issuer-mismatch': problem('Set issuer to the URL that users open.'),
  'urls-rewritten': problem('Let the proxy rewrite no body.'),

  'tls-failed': problem('Look at the log of the proxy.'),
  'plain-http': problem('Put a proxy with TLS in front, and give its https address as issuer.'),
  'certificate-refused': problem(
    'Renew it with every name of the service, and send the whole chain; with an authority of your own, run this with NODE_EXTRA_CA_CERTS=FILE.',
  ),
  'certificate-expires': warning('Renew it, and find out why that did not happen by itself.'),

  'sign-in-refused': problem("See Postern's /readyz and log, and what the proxy does with this path."),
  'redirect-rewritten': problem('Let the proxy leave Location alone (in nginx: proxy_redirect off).'),
  'cookies-altered': problem('Let the proxy leave Set-Cookie alone (in nginx: no proxy_cookie_…).'),
  'cookies-lost': problem('Let the proxy pass Cookie on, and leave the paths in Set-Cookie alone.'),

  'trusted-proxies-wrong': problem(
    `List the addresses of the proxy, as Postern sees them, in trusted_proxies. ${SEE}`,
  ),
  'client-address-lost': problem(`Let the proxy send X-Forwarded-For, and trust it alone. ${SEE}`),
  'forwarded-for-forged': problem(
    `Let the proxy append the address that it sees (in nginx: $proxy_add_x_forwarded_for). ${SEE}`,
  ),
} as const;

export type FaultName = keyof typeof FAULTS;
