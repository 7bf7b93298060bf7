// Whether the clocks agree: verifiers refuse tokens of a service whose clock is off (RFC 7519 §4.1.4).
import { askEndpoint, Skipped, type ReportFault, type Target } from './check.ts';

const WRONG_SECONDS = 10;

/** Uses the Date of the proxy, where that sets its own. */
export async function checkClock(target: Target, report: ReportFault): Promise<string> {
  const before = target.now();
  // The answer to a POST isn't cached.
  const answer = await askEndpoint(target, 'token', { body: 'grant_type=none' });
  const after = target.now();
  const date = Date.parse(answer.header('date'));
  if (Number.isNaN(date)) throw new Skipped('the answer has no Date');
  // Date has no fractions, and may have been written at any time between request and answer.
  const seconds = Math.max(0, (before - date) / 1000 - 1, (date - after) / 1000);
  if (seconds > WRONG_SECONDS)
    report('clock-off', `the other end's clock and the one here differ by ${Math.round(seconds)} s`);
  return "the other end's clock and the one here agree";
}
