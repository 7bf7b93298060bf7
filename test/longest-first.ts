// The order of files in a whole run: the longest begin, so that the last minute is not one of them on one worker. What Vitest
// remembers of earlier runs is not there in a fresh clone.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those of ten seconds and more, when the machine is free. */
const LONGEST = [
  'browser/pages',
  'fault/workers',
  'fault/redis-tls',
  'store/redis-promotion',
  'fault/redis-failover',
  'attack/guessing',
  'edge/slow',
  'reload/reload',
  'attack/refresh-tokens',
  'browser/journeys',
  'doctor/doctor',
  'unit/config/watch',
  'keys/kill',
  'fault/store-disk',
  'keys/sealed',
  'observability/audit-file',
  'reload/pending',
  'fault/outage-truth',
  'edge/limits',
  'attack/pkce-and-codes',
  'keys/lost-keys',
  'deploy/start',
  'flow/tabs',
  'fault/package',
  'flow/rate-limits',
  'flow/plain-client-credentials',
  'keys/load',
  'edge/limits-over-processes',
  'pages/people',
  'docs/readme',
  'pages/same-second',
  'fault/redis-rolling',
  'keys/processes',
  'fault/outage',
  'keys/issuers',
  'keys/cli',
  'fault/redis-clocks',
  'reload/redis-password',
  'store/redis-old-master',
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
