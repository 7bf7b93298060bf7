// Whether scripts of allowed origins, and of no others, may read answers. Postern answers CORS itself; a proxy that adds
// its own headers breaks it.
import { askEndpoint, type ReportFault, type Target } from './check.ts';

/** RFC 2606: a name that never exists. */
const UNLISTED_ORIGIN = 'https://postern-doctor.invalid';
const ALLOW = 'access-control-allow-origin';

export async function checkCors(target: Target, report: ReportFault): Promise<string> {
  const allowedFor = async (origin: string) =>
    (await askEndpoint(target, 'discovery', { headers: { origin } })).all(ALLOW).join(', ');
  const added = await allowedFor(UNLISTED_ORIGIN);
  if (added !== '') report('cors-added', `an origin that isn't allowed may read answers: ${ALLOW}: ${added}`);
  const origin = target.config?.cors.allowedOrigins[0];
  const found = origin && (await allowedFor(origin));
  if (found !== origin)
    report('cors-altered', `${origin} is allowed, but the answer has ${ALLOW}: ${found || 'nothing'}`);
  const headers = { origin: origin ?? UNLISTED_ORIGIN, 'access-control-request-method': 'POST' };
  const { status } = await askEndpoint(target, 'token', { method: 'OPTIONS', headers });
  if (status !== 204)
    report('preflight-blocked', `OPTIONS at the token endpoint is answered ${status}, not 204`);
  return origin === undefined ? 'no origin is allowed' : `${origin} is allowed, others are not`;
}
