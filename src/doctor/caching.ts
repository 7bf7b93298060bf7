// What a cache in front does to the key set and the discovery document, and to what must never be kept. Every answer of
// Postern at these paths has an X-Request-Id of its own, so the same one twice comes from a cache.
import type { ENDPOINTS } from '../config/endpoints.ts';
import type { Answer } from './ask.ts';
import { askDirectly, askEndpoint, type Examination } from './examination.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';

const CACHEABLE = ['discovery', 'jwks'] as const;

export async function checkCaching(examination: Examination): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const endpoint of CACHEABLE) {
    const first = await askEndpoint(examination, endpoint);
    const second = await askEndpoint(examination, endpoint);
    findings.push(
      ...judgeAge(endpoint, first, second),
      ...(await judgeLifetime(examination, endpoint, second)),
    );
  }
  findings.push(...(await judgeKeys(examination)), ...(await judgeRevalidation(examination)));
  return orOk(findings, 'caching', 'discovery and the key set are as fresh as Postern wants them');
}

/** RFC 9111 §5.1: a cache says how old its answers are; otherwise everybody behind it keeps them too long. */
function judgeAge(endpoint: string, first: Answer, second: Answer): Finding[] {
  const id = second.header('x-request-id');
  if (id === '')
    return [
      warning(
        `${endpoint}-request-id-stripped`,
        `${endpoint} comes without X-Request-Id: whether it comes from a cache can not be told`,
        'Let the proxy pass X-Request-Id on; support requests name it too.',
      ),
    ];
  if (id !== first.header('x-request-id')) return [];
  const age = Number(second.header('age') || Number.NaN);
  const maxAge = maxAgeOf(second) ?? 0;
  if (age <= maxAge) return [];
  const why = Number.isNaN(age)
    ? 'does not say how old its answers are'
    : `keeps them for more than ${maxAge} s`;
  return [
    problem(
      `${endpoint}-cached`,
      `${endpoint} comes from a cache in front of Postern, which ${why}`,
      'A key that was compromised would go on being believed. Take the cache away from this path; Postern answers from memory.',
    ),
  ];
}

async function judgeLifetime(
  examination: Examination,
  endpoint: (typeof CACHEABLE)[number] & keyof typeof ENDPOINTS,
  answer: Answer,
): Promise<Finding[]> {
  const values = answer.all('cache-control');
  const maxAge = maxAgeOf(answer);
  const direct = await askDirectly(examination, endpoint);
  const allowed = direct === undefined ? examination.config?.signingKeys.jwksMaxAge : maxAgeOf(direct);
  const isSame = maxAge !== undefined && (allowed === undefined || maxAge <= allowed);
  if (values.length === 1 && isSame && answer.header('expires') === '') return [];
  const seen =
    [...values, ...answer.all('expires').map((value) => `Expires: ${value}`)].join(' | ') || 'nothing';
  return [
    problem(
      `${endpoint}-cache-control`,
      `the proxy changes how long ${endpoint} may be kept: ${seen}`,
      `Leave Cache-Control alone (in nginx: no expires, no add_header Cache-Control); ${allowed ?? 300} s is what key rotation counts on.`,
    ),
  ];
}

function maxAgeOf(answer: Answer): number | undefined {
  const found = /(?:^|[,\s])max-age=(\d+)/.exec(answer.all('cache-control').join(','))?.[1];
  return found === undefined ? undefined : Number(found);
}

async function judgeKeys(examination: Examination): Promise<Finding[]> {
  const direct = await askDirectly(examination, 'jwks');
  if (direct === undefined || direct.status !== 200) return [];
  const answer = await askEndpoint(examination, 'jwks');
  if (answer.body === direct.body) return [];
  return [
    problem(
      'jwks-stale',
      'the key set that the world sees is not the one that Postern publishes',
      'Empty the cache in front and take it away from this path: tokens will soon be signed with a key that nobody knows.',
    ),
  ];
}

/** RFC 9110 §13: with the ETag it got, a client is told 304. */
async function judgeRevalidation(examination: Examination): Promise<Finding[]> {
  const etag = (await askEndpoint(examination, 'jwks')).header('etag');
  if (etag !== '') {
    const again = await askEndpoint(examination, 'jwks', { headers: { 'if-none-match': etag } });
    if (again.status === 304) return [];
  }
  return [
    warning(
      'etag-broken',
      'the key set can not be revalidated: its ETag is missing or has no effect',
      'Let the proxy leave ETag and If-None-Match alone.',
    ),
  ];
}
