// Whether scripts of allowed origins, and of no others, may read answers: CORS is Postern's business, and a proxy that
// does it too breaks it.
import { askEndpoint, type Examination } from './examination.ts';
import type { Answer } from './ask.ts';
import { orOk, problem, type Finding } from './finding.ts';

/** RFC 2606: nobody's. */
const STRANGER = 'https://postern-doctor.invalid';
const ALLOW = 'access-control-allow-origin';
const LEAVE_IT =
  "Take CORS out of the proxy, and list origins in Postern's cors.allowed_origins or a client's allowed_cors_origins.";

export async function checkCors(examination: Examination): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const stranger = await askEndpoint(examination, 'discovery', { headers: { origin: STRANGER } });
  if (stranger.all(ALLOW).length > 0)
    findings.push(
      problem(
        'cors-added',
        `an origin that nobody allowed may read answers: ${ALLOW}: ${stranger.all(ALLOW).join(', ')}`,
        LEAVE_IT,
      ),
    );
  const origin = allowedOrigin(examination);
  if (origin !== undefined) {
    findings.push(
      ...judgeAllowed(origin, await askEndpoint(examination, 'discovery', { headers: { origin } })),
    );
    findings.push(...judgePreflight(origin, await preflight(examination, origin)));
  } else findings.push(...judgeMethod(await preflight(examination, STRANGER)));
  return orOk(
    findings,
    'cors',
    origin === undefined ? 'no origin is let in' : `${origin} is let in, a stranger is not`,
  );
}

function allowedOrigin({ config }: Examination): string | undefined {
  return config?.cors.allowedOrigins[0] ?? config?.clients.flatMap((client) => client.allowedCorsOrigins)[0];
}

function preflight(examination: Examination, origin: string): Promise<Answer> {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  return askEndpoint(examination, 'token', { method: 'OPTIONS', headers });
}

function judgeAllowed(origin: string, answer: Answer): Finding[] {
  const values = answer.all(ALLOW).flatMap((value) => value.split(','));
  if (values.length === 1 && values[0] === origin) return [];
  if (values.length === 0)
    return [problem('cors-stripped', `${origin} is allowed, but the answer has no ${ALLOW}`, LEAVE_IT)];
  const seen = values.map((value) => value.trim()).join(', ');
  return values.length > 1
    ? [
        problem(
          'cors-doubled',
          `${ALLOW} is there ${values.length} times (${seen}): browsers refuse that`,
          LEAVE_IT,
        ),
      ]
    : [problem('cors-altered', `${ALLOW} is ${seen} instead of ${origin}`, LEAVE_IT)];
}

function judgeMethod({ status }: Answer): Finding[] {
  if (status === 204) return [];
  const advice = 'Let the proxy pass OPTIONS on to Postern.';
  return [
    problem('preflight-blocked', `OPTIONS at the token endpoint is answered ${status}, not 204`, advice),
  ];
}

function judgePreflight(origin: string, answer: Answer): Finding[] {
  const blocked = judgeMethod(answer);
  if (blocked.length > 0) return blocked;
  const methods = answer.all('access-control-allow-methods').join(',');
  const headers = answer.all('access-control-allow-headers').join(',').toLowerCase();
  if (answer.all(ALLOW).length === 1 && methods.includes('POST') && headers.includes('authorization'))
    return [];
  return [
    problem('preflight-altered', `the answer to a preflight of ${origin} is not Postern's own`, LEAVE_IT),
  ];
}
