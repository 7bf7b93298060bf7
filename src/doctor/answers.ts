// Whether answers arrive as Postern gave them: errors, their status and headers, the security headers, and that what
// must not be kept isn't.
import { askEndpoint, isOwnAnswer, isOwnError, isSecure, type Examination } from './examination.ts';
import type { Answer } from './ask.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';

const SECURITY_HEADERS = [
  'content-security-policy',
  'x-frame-options',
  'x-content-type-options',
  'referrer-policy',
] as const;
const HSTS = 'strict-transport-security';

const KEEP_ERRORS =
  "Let the proxy pass Postern's errors through (in nginx: proxy_intercept_errors off): clients and people need what they say.";

/** Each of these has one right answer, which needs no credentials. */
export async function checkErrors(examination: Examination): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const token = await askEndpoint(examination, 'token', { body: 'grant_type=client_credentials' });
  if (isOwnError(token)) {
    if (token.status !== 401) findings.push(wrongStatus('the token endpoint', token.status, 401));
  } else findings.push(blockedOrReplaced('POST at the token endpoint', token));

  const userinfo = await askEndpoint(examination, 'userinfo');
  if (!isOwnError(userinfo)) findings.push(blockedOrReplaced('userinfo', userinfo));
  else if (!userinfo.header('www-authenticate').startsWith('Bearer'))
    findings.push(
      problem(
        'www-authenticate-stripped',
        'userinfo answers 401 without WWW-Authenticate',
        'Let the proxy pass WWW-Authenticate on (RFC 6750 §3): clients read there what is wrong with a token.',
      ),
    );

  const missing = await examination.ask(`${examination.at}/postern-doctor`);
  if (!isOwnError(missing)) findings.push(blockedOrReplaced('a path that does not exist', missing));

  const page = await askEndpoint(examination, 'authorization', { headers: { accept: 'text/html' } });
  if (!isOwnAnswer(page)) findings.push(blockedOrReplaced('the page of a faulty sign-in', page));
  else if (page.status !== 400) findings.push(wrongStatus('a faulty sign-in', page.status, 400));
  return orOk(onePerName(findings), 'errors', 'errors arrive as Postern gives them');
}

function blockedOrReplaced(what: string, { status }: Answer): Finding {
  if (status === 403 || status === 405 || status === 501)
    return problem(
      'method-blocked',
      `${what} is answered ${status} in front of Postern`,
      'Allow GET, HEAD, POST and OPTIONS; look for a firewall rule or limit_except.',
    );
  return problem('error-page-replaced', `${what}: the answer (${status}) is not Postern's own`, KEEP_ERRORS);
}

function wrongStatus(what: string, status: number, wanted: number): Finding {
  if (status === 429 || status === 503)
    return problem(
      'unavailable',
      `${what} answers ${status}: Postern says so itself`,
      status === 429
        ? 'Wait a minute, and ask again.'
        : 'Look at /readyz of the management listener, and at the log.',
    );
  return problem('status-changed', `${what} answers ${status} instead of ${wanted}`, KEEP_ERRORS);
}

function onePerName(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ name }, index) => findings.findIndex((other) => other.name === name) === index);
}

/** On a page, where they matter most. Without our own page there is nothing to judge; checkErrors says so. */
export async function checkHeaders(examination: Examination): Promise<readonly Finding[]> {
  const page = await askEndpoint(examination, 'authorization', { headers: { accept: 'text/html' } });
  if (page.status !== 400) return [];
  const wanted = isSecure(examination) ? [...SECURITY_HEADERS, HSTS] : SECURITY_HEADERS;
  const stripped = wanted.filter((name) => page.all(name).length === 0);
  const doubled = wanted.filter((name) => page.all(name).length > 1);
  const findings: Finding[] = [];
  if (stripped.length > 0)
    findings.push(
      problem(
        'security-headers-stripped',
        `the proxy removes ${stripped.join(', ')}`,
        'Let it pass them on (in nginx: no proxy_hide_header for them).',
      ),
    );
  if (doubled.length > 0)
    findings.push(
      warning(
        'security-headers-doubled',
        `the proxy adds a second ${doubled.join(', ')}`,
        'Take it out of the proxy: Postern sets these itself, and browsers do not agree on what two of them mean.',
      ),
    );
  return orOk(findings, 'headers', 'every security header is there once');
}

/** RFC 6749 §5.1: what the token endpoint says is never kept. */
export async function checkTokenCaching(examination: Examination): Promise<readonly Finding[]> {
  const question = { body: 'grant_type=client_credentials' };
  const first = await askEndpoint(examination, 'token', question);
  const second = await askEndpoint(examination, 'token', question);
  const id = second.header('x-request-id');
  const findings: Finding[] = [];
  if (id !== '' && id === first.header('x-request-id'))
    findings.push(
      problem(
        'token-cached',
        'the token endpoint is answered from a cache: one client would get the tokens of another',
        'Take the cache off everything but discovery and the key set, at once.',
      ),
    );
  const control = second.all('cache-control').join(', ');
  if (isOwnError(second) && !control.includes('no-store'))
    findings.push(
      problem(
        'no-store-stripped',
        `the token endpoint's Cache-Control is "${control}", without no-store`,
        'Let the proxy leave Cache-Control alone: others on the way would keep tokens.',
      ),
    );
  return orOk(findings, 'token-caching', 'nothing keeps what the token endpoint says');
}
