// The order of files in a whole run: the longest start first, so that no worker ends the run alone with one of them. A fresh clone
// lacks Vitest's own record of earlier runs.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of ten seconds and more on a free machine; failovers of Redis stand apart from each other, because they wait in real time. */
const LONGEST = [
  'features/removal',
  'features/view-tools/browser',
  'features/mail/processes',
  'features/import/users',
  'attack/guessing',
  'features/init/package',
  'features/workers/workers',
  'features/mail/sign-up',
  'features/recipe',
  'reload/reload',
  'browser/journeys',
  'fault/redis-failover',
  'pages/one-time-links',
  'unit/config/watch',
  'edge/slow',
  'attack/refresh-tokens',
  'features/mail/address',
  'flow/acts',
  'features/doctor/doctor',
  'fault/outage',
  'features/second-factors/browser',
  'store/redis-promotion',
  'deploy/start',
  'features/client-documents/outgoing',
  'attack/outgoing',
  'pages/people',
  'features/fast-path/refresh',
  'features/back-channel-logout/http',
  'fault/redis-tls',
  'pages/same-second',
  'flow/signing-algorithms',
  'features/back-channel-logout/receivers',
  'features/back-channel-logout/races',
  'fault/redis-rolling',
  'keys/rotation',
  'fault/proofs',
  'features/view-tools/commands',
  'edge/limits-over-processes',
  'keys/kill',
  'keys/sealed',
  'fault/damaged-records',
  'unit/config/load',
  'fault/store-disk',
  'fault/redis-clocks',
  'features/account/attack',
  'features/account/browser',
  'unit/store/outbox',
  'features/second-factors/attack',
  'features/second-factors/second-step',
  'store/redis-old-master',
  'flow/rate-limits',
  'keys/processes',
  'reload/pending',
  'features/second-factors/browser-second-step',
  'attack/resources',
  'features/mail/notices',
  'features/view-tools/preview',
  'features/fast-path/user-tokens',
  'unit/users/username-index',
  'observability/audit-file',
  'features/client-documents/http',
  'store/redis-groups',
  'docs/readme',
  'keys/cli',
  'attack/sign-in',
  'fault/redis-stall',
  'features/second-factors/never-without-one',
  'keys/lost-keys',
  'fault/start',
  'flow/authorization-code',
  'features/access/races',
  'features/form-post/browser',
  'features/second-factors/races',
  'flow/tabs',
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
