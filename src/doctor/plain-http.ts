// What answers at the plain http port beside a public https address: nothing, or a redirect to https.
import { ENDPOINTS } from '../config/endpoints.ts';
import { Unanswered, type Ask } from './ask.ts';
import type { Examination } from './examination.ts';
import { ok, problem, type Finding } from './finding.ts';

/** Only where the port is the usual one is it known which port is its plain neighbour. */
export async function checkPlainHttp({ at, ask }: Examination): Promise<readonly Finding[]> {
  const { protocol, port, host, pathname } = new URL(at);
  if (protocol !== 'https:' || port !== '') return [];
  return judgePlainHttp(`http://${host}${pathname.replace(/\/$/, '')}`, ask);
}

export async function judgePlainHttp(plain: string, ask: Ask): Promise<readonly Finding[]> {
  try {
    const answer = await ask(`${plain}${ENDPOINTS.discovery}`);
    if (answer.json?.['issuer'] !== undefined)
      return [
        problem(
          'plain-http-open',
          `${plain} serves Postern without TLS: who types the address without https is overheard`,
          'Redirect everything at port 80 to https (in nginx: return 301 https://$host$request_uri;).',
        ),
      ];
    return [ok('plain-http', `${plain} serves nothing without TLS`)];
  } catch (error) {
    if (error instanceof Unanswered) return [ok('plain-http', `${plain} does not answer`)];
    throw error;
  }
}
