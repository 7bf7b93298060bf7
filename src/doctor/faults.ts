// Everything that `postern doctor` can find wrong, with what to do about it. Users know the names
// (docs/troubleshooting.md), so names never change.

const problem = (advice: string) => ({ level: 'problem', advice }) as const;
const warning = (advice: string) => ({ level: 'warning', advice }) as const;

const SEE = 'See docs/reverse-proxy.md.';
const LEAVE_PATHS = 'Pass the path on as it came (in nginx: proxy_pass without a path).';
const LEAVE_CORS =
  "Take CORS out of the proxy, and list origins in Postern's cors.allowed_origins or a client's allowed_cors_origins.";
const LIST_PROXIES = `List the addresses of the proxy, as Postern sees them, in trusted_proxies. ${SEE}`;
const SYNCHRONIZE = 'Let both machines follow a time server (chrony, systemd-timesyncd).';

export const FAULTS = {
  'configuration-broken': problem('Repair it; postern check says the same.'),
  'store-unreachable': problem('Is it running, and may this machine reach it?'),
  'store-settings': problem('See docs/redis.md.'),
  'keys-refused': problem('See docs/keys.md.'),
  'group-undefined': warning(
    'Define it in groups, or take it from them: postern user set NAME --remove-group.',
  ),
  'no-way-in': warning('Print a link for each of them: postern user enrol NAME.'),
  'views-broken': problem('Repair it: users see the built-in pages. See postern views check.'),
  'client-document-differs': problem(
    'Review what is published, then: postern client pin URL --out FILE --yes.',
  ),
  'client-document-unreachable': warning(
    'The service goes on without it. To compare it from elsewhere: postern client pin --check.',
  ),

  'no-answer': problem('Is the name right, is the proxy running, and does it answer within 10 s?'),
  'bad-gateway': problem('Is Postern running, and does the proxy send requests to its listen address?'),
  'not-postern': problem('See where the proxy sends this host and path.'),
  'discovery-redirected': problem('Clients do not follow that: give the address it leads to as issuer.'),
  'path-stripped': problem(LEAVE_PATHS),
  'path-doubled': problem(LEAVE_PATHS),
  'path-altered': problem(LEAVE_PATHS),
  'well-known-missing': warning('Send it to Postern as well: OAuth clients look there (RFC 8414 §3.1).'),
  'issuer-mismatch': problem('Make issuer in the configuration the address that people use.'),
  'urls-rewritten': problem('Let the proxy rewrite no body.'),

  'tls-failed': problem('Look at the log of the proxy.'),
  'tls-old': problem('Allow TLS 1.2 and 1.3 only (in nginx: ssl_protocols TLSv1.2 TLSv1.3;).'),
  'plain-http': problem('Put a proxy with TLS in front, and give its https address as issuer.'),
  'plain-http-open': problem('Redirect to https (in nginx: return 301 https://$host$request_uri;).'),
  'certificate-expired': problem('Renew it, and reload the proxy.'),
  'certificate-expires': warning('Renew it, and find out why that did not happen by itself.'),
  'certificate-not-yet-valid': problem('Compare the clocks, or wait.'),
  'certificate-name': problem('Get one whose subjectAltName has that name.'),
  'certificate-untrusted': problem(
    'Send the whole chain; with an authority of your own, run this with NODE_EXTRA_CA_CERTS=FILE.',
  ),

  'not-ready': problem('It is not the proxy: see what /readyz and the log say. See docs/troubleshooting.md.'),
  'sign-in-refused': problem("Read Postern's log, and see what the proxy does with GET /oauth/authorize."),
  'redirect-rewritten': problem('Let the proxy leave Location alone (in nginx: proxy_redirect off).'),
  'page-refused': problem('See what the proxy does with paths below /interaction/.'),
  'cookies-stripped': problem('Let the proxy pass Set-Cookie on (in nginx: no proxy_hide_header for it).'),
  'cookies-renamed': problem('Let the proxy leave Set-Cookie alone: the prefixes keep neighbours out.'),
  'cookies-altered': problem('Let the proxy leave Set-Cookie alone (in nginx: no proxy_cookie_…).'),
  'cookies-lost': problem('Let the proxy pass Cookie on, and leave the paths in Set-Cookie alone.'),

  'cors-added': problem(LEAVE_CORS),
  'cors-stripped': problem(LEAVE_CORS),
  'cors-doubled': problem(LEAVE_CORS),
  'cors-altered': problem(LEAVE_CORS),
  'preflight-blocked': problem('Let the proxy pass OPTIONS on to Postern.'),
  'preflight-altered': problem(LEAVE_CORS),

  'trusted-proxies-empty': problem(LIST_PROXIES),
  'trusted-proxies-wrong': problem(LIST_PROXIES),
  'client-address-lost': problem(`Let the proxy send X-Forwarded-For, and trust it alone. ${SEE}`),
  'forwarded-for-forged': problem(
    `Let the proxy append the address that it sees (in nginx: $proxy_add_x_forwarded_for). ${SEE}`,
  ),
  'limit-without-effect': problem(`Does the proxy make up X-Forwarded-For? ${SEE}`),

  'clock-off': warning(SYNCHRONIZE),
  'clock-wrong': problem(SYNCHRONIZE),
} as const;

export type FaultName = keyof typeof FAULTS;
