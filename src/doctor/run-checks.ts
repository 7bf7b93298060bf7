// Every check of the doctor, in the order in which they are told.
import { checkErrors, checkHeaders, checkTokenCaching } from './answers.ts';
import { Unanswered } from './ask.ts';
import { checkCaching } from './caching.ts';
import { checkClientAddress } from './client-address.ts';
import { checkClock } from './clock.ts';
import { checkCors } from './cors.ts';
import { checkDiscovery, checkReach } from './discovery.ts';
import type { Check, Examination } from './examination.ts';
import { checkExposure } from './exposure.ts';
import { problem, skipped, type Finding } from './finding.ts';
import { checkPlainHttp } from './plain-http.ts';
import { checkSignIn } from './sign-in.ts';
import { checkSizes } from './sizes.ts';
import { checkTls } from './tls.ts';

/** The last one makes requests that are limited, so it comes after all others. */
const CHECKS: readonly Check[] = [
  checkDiscovery,
  checkCaching,
  checkErrors,
  checkHeaders,
  checkTokenCaching,
  checkCors,
  checkSignIn,
  checkSizes,
  checkExposure,
  checkPlainHttp,
  checkClock,
  checkClientAddress,
];

export type PublicOptions = {
  /** Whether a limit may be used up, to learn whose address Postern sees. */
  readonly guesses: boolean;
};

/** What is seen from outside, through the public address. */
export async function examinePublic(
  examination: Examination,
  { guesses }: PublicOptions,
): Promise<readonly Finding[]> {
  const findings = [...(await run(checkTls, examination)), ...(await run(checkReach, examination))];
  if (findings.some(({ name }) => name === 'reach')) {
    for (const check of CHECKS) {
      if (check !== checkClientAddress || guesses) findings.push(...(await run(check, examination)));
    }
    return findings;
  }
  return [...findings, skipped('public', 'everything else of the public address: repair this first')];
}

async function run(check: Check, examination: Examination): Promise<readonly Finding[]> {
  try {
    return await check(examination);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const advice = 'Is the name right, is the proxy running, and does it answer within 10 s?';
    return [problem('no-answer', error.message, advice)];
  }
}
