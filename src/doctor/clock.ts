// Whether the clocks agree: verifiers refuse tokens of a service whose clock is off (RFC 7519 §4.1.4).
import { askDirectly, askEndpoint, type Examination } from './examination.ts';
import type { Answer } from './ask.ts';
import { ok, problem, skipped, warning, type Finding } from './finding.ts';

const WARN_SECONDS = 5;
const WRONG_SECONDS = 60;

/** The service's own Date where it can be asked, else the proxy's. */
export async function checkClock(examination: Examination): Promise<readonly Finding[]> {
  const before = examination.now();
  const direct = await askDirectly(examination, 'jwks');
  const answer: Answer = direct ?? (await askEndpoint(examination, 'token', { body: 'grant_type=none' }));
  const after = examination.now();
  const date = Date.parse(answer.header('date'));
  if (Number.isNaN(date)) return [skipped('clock', 'the answer has no Date')];
  // Date has no fractions, and may have been written at any time in between.
  const seconds = Math.max(0, (before - date) / 1000 - 1, (date - after) / 1000);
  const off = Math.round(seconds);
  const whose = direct === undefined ? "the other end's clock" : "Postern's clock";
  const message = `${whose} and the one here differ by ${off} s`;
  const advice = 'Let both machines follow a time server (chrony, systemd-timesyncd).';
  if (seconds > WRONG_SECONDS) return [problem('clock-wrong', message, advice)];
  if (seconds > WARN_SECONDS) return [warning('clock-off', message, advice)];
  return [ok('clock', `${whose} and the one here agree`)];
}
