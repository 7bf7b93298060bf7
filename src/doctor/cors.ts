// Whether scripts of allowed origins, and of no others, may read answers. Postern answers CORS itself; a proxy that adds
// its own headers breaks it.
import type { Answer } from './ask.ts';
import { askEndpoint, type ReportFault, type Target } from './check.ts';

/** RFC 2606: a name that never exists. */
const UNLISTED_ORIGIN = 'https://postern-doctor.invalid';
const ALLOW = 'access-control-allow-origin';

export async function checkCors(target: Target, report: ReportFault): Promise<string> {
  const allowedFor = async (origin: string) =>
    (await askEndpoint(target, 'discovery', { headers: { origin } })).all(ALLOW);
  const added = await allowedFor(UNLISTED_ORIGIN);
  if (added.length > 0)
    report('cors-added', `an origin that isn't allowed may read answers: ${ALLOW}: ${added.join(', ')}`);
  const { cors, clients = [] } = target.config ?? {};
  const origin = [
    ...(cors?.allowedOrigins ?? []),
    ...clients.flatMap((client) => client.allowedCorsOrigins),
  ][0];
  if (origin !== undefined) judgeAllowed(origin, await allowedFor(origin), report);
  const headers = {
    origin: origin ?? UNLISTED_ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  const preflight = await askEndpoint(target, 'token', { method: 'OPTIONS', headers });
  if (preflight.status !== 204)
    report('preflight-blocked', `OPTIONS at the token endpoint is answered ${preflight.status}, not 204`);
  else if (origin !== undefined && !isOwnPreflight(preflight))
    report('preflight-altered', `the answer to a preflight of ${origin} is not Postern's own`);
  return origin === undefined ? 'no origin is allowed' : `${origin} is allowed, others are not`;
}

function judgeAllowed(origin: string, found: readonly string[], report: ReportFault): void {
  const values = found.flatMap((value) => value.split(',')).map((value) => value.trim());
  const seen = values.join(', ');
  if (values.length === 0) report('cors-stripped', `${origin} is allowed, but the answer has no ${ALLOW}`);
  else if (values.length > 1)
    report('cors-doubled', `${ALLOW} is there ${values.length} times (${seen}): browsers refuse that`);
  else if (seen !== origin) report('cors-altered', `${ALLOW} is ${seen} instead of ${origin}`);
}

function isOwnPreflight({ all }: Answer): boolean {
  const methods = all('access-control-allow-methods').join(',');
  const headers = all('access-control-allow-headers').join(',').toLowerCase();
  return all(ALLOW).length === 1 && methods.includes('POST') && headers.includes('authorization');
}
