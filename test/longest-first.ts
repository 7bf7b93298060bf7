// The order of files in a whole run: the longest begin, so that the last minute is not one of them on one worker. What Vitest
// remembers of earlier runs is not there in a fresh clone.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those of ten seconds and more, when the machine is free; failovers of Redis apart from each other, because their times are real ones. */
const LONGEST = [
  'browser/pages',
  'attack/guessing',
  'fault/redis-tls',
  'fault/workers',
  'reload/reload',
  'attack/refresh-tokens',
  'store/redis-promotion',
  'browser/journeys',
  'doctor/doctor',
  'attack/outgoing',
  'keys/kill',
  'edge/slow',
  'fault/logout-receivers',
  'flow/form-post',
  'flow/back-channel-triggers',
  'flow/back-channel-logout',
  'fault/redis-failover',
  'fault/store-disk',
  'keys/sealed',
  'observability/audit-file',
  'unit/config/watch',
  'reload/pending',
  'fault/outage-truth',
  'deploy/start',
  'attack/code-race',
  'attack/second-factor',
  'flow/step-up',
  'pages/one-time-links',
  'flow/tabs',
  'fault/package',
  'fault/redis-rolling',
  'flow/rate-limits',
  'flow/fetched-clients',
  'flow/plain-client-credentials',
  'flow/plain-refresh',
  'edge/limits-over-processes',
  'pages/people',
  'docs/readme',
  'pages/same-second',
  'fault/redis-clocks',
  'keys/processes',
  'fault/outage',
  'reload/redis-password',
  'store/redis-old-master',
  'keys/lost-keys',
  'keys/load',
].map((name) => path.join(import.meta.dirname, `${name}.test.ts`));

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = LONGEST.find((file) => !existsSync(file));
    if (gone !== undefined) throw new Error(`test/longest-first.ts names a file that is not there: ${gone}`);
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the sequencer's, not an array's
    const ordered = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => LONGEST.indexOf(moduleId);
    const first = ordered.filter((file) => place(file) >= 0).toSorted((a, b) => place(a) - place(b));
    return [...first, ...ordered.filter((file) => place(file) < 0)];
  }
}
