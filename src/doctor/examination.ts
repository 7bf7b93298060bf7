// What every check of the doctor may know and use.
import type { Config } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { Answer, Ask, Question } from './ask.ts';
import type { Finding } from './finding.ts';

export type Examination = {
  /** What the service must call itself. */
  readonly issuer: string;
  /** Where it is asked; the issuer, unless the doctor was told otherwise. */
  readonly at: string;
  /** The listener behind the proxy, with the issuer's path, where it can be asked from this machine. */
  readonly direct: string | undefined;
  /** Undefined without a file, and when it can't be read; then only what is seen from outside is judged. */
  readonly config: Config | undefined;
  readonly ask: Ask;
  /** Epoch milliseconds. */
  readonly now: () => number;
};

export type Check = (examination: Examination) => Promise<readonly Finding[]>;

/** One endpoint, through the public address. */
export function askEndpoint(
  { at, ask }: Examination,
  endpoint: keyof typeof ENDPOINTS,
  question?: Question,
): Promise<Answer> {
  return ask(`${at}${ENDPOINTS[endpoint]}`, question);
}

/** The same, past the proxy; undefined where that isn't possible. */
export async function askDirectly(
  { direct, ask }: Examination,
  endpoint: keyof typeof ENDPOINTS,
  question?: Question,
): Promise<Answer | undefined> {
  return direct === undefined ? undefined : ask(`${direct}${ENDPOINTS[endpoint]}`, question);
}

/** Whether people's browsers and programs reach the service by TLS. */
export function isSecure({ issuer }: Pick<Examination, 'issuer'>): boolean {
  return issuer.startsWith('https:');
}

/** Our pages and errors all carry this policy; what a proxy puts in their place doesn't. */
export function isOwnAnswer(answer: Answer): boolean {
  return answer.all('content-security-policy').some((policy) => policy.includes("frame-ancestors 'none'"));
}

/** One of our errors for programs. */
export function isOwnError({ json }: Answer): boolean {
  return typeof json?.['error'] === 'string';
}
