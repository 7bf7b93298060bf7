// Everything that `postern doctor` can find wrong, with what to do about it. Users know the names
// (docs/troubleshooting.md), so names never change.

const problem = (advice: string) => ({ level: 'problem', advice }) as const;
const warning = (advice: string) => ({ level: 'warning', advice }) as const;

export const FAULTS = {
  'store-unreachable': problem('Check that it is running and that this machine can reach it.'),
  'store-settings': problem('See docs/redis.md.'),
  'encryption-keys': problem('Add the old key at the end of encryption_keys. See docs/keys.md.'),

  'no-answer': problem('Check the host name, and that the proxy is running and responds within 10 s.'),
  'bad-gateway': problem(
    'Check that Postern is running and that the proxy forwards requests to its listen address.',
  ),
  'not-postern': problem('Check where the proxy forwards this host and path.'),
  'discovery-redirected': problem('Clients do not follow redirects here: set issuer to the target URL.'),
  'path-altered': problem('Forward the path unchanged (in nginx: proxy_pass without a path).'),
  'well-known-missing': warning(
    'Forward this path to Postern, too: OAuth clients request it (RFC 8414 §3.1).',
  ),
  'issuer-mismatch': problem('Set issuer to the URL that users open.'),
  'urls-rewritten': problem('Turn off rewriting of response bodies in the proxy.'),

  'tls-failed': problem('Check the log of the proxy.'),
  'plain-http': problem('Run Postern behind a TLS proxy, and set issuer to its https URL.'),
  'certificate-refused': problem(
    'Use a certificate with all names of the service and its full chain. For a private CA, run this command with NODE_EXTRA_CA_CERTS=FILE.',
  ),
  'certificate-expires': warning('Renew it, and check why automatic renewal failed.'),

  'sign-in-refused': problem("Check Postern's /readyz and log, and how the proxy handles this path."),
  'redirect-rewritten': problem(
    'Turn off rewriting of Location in the proxy (in nginx: proxy_redirect off).',
  ),
  'cookies-altered': problem('Turn off rewriting of Set-Cookie in the proxy (in nginx: no proxy_cookie_…).'),
  'cookies-lost': problem('Configure the proxy to forward Cookie and to keep the paths in Set-Cookie.'),

  'trusted-proxies-wrong': problem(
    'Set trusted_proxies to the addresses from which the proxy connects to Postern. See docs/reverse-proxy.md.',
  ),
} as const;

export type FaultName = keyof typeof FAULTS;
