// A mass expiry: how requests slow down while everything that many users left is swept. There are two services, and the one that isn't
// measured is suspended, because a sweep would take CPU from the other.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFolder } from '../../src/store/lmdb/lmdb-store.ts';
import { figure, ratio, type Subject } from '../measure.ts';
import { User } from '../people.ts';
import type { Section } from '../section.ts';
import { seedGrants } from '../seed.ts';
import { type Configured, LMDB, type Service } from '../service.ts';
import * as subjects from '../subjects.ts';

const PEOPLE = 100;
/** Grants with four records each; they are swept only while the service is measured. */
const GRANTS = { quick: 20_000, usual: 200_000 };
/** Longer than the lifetime of any record. Milliseconds. */
const AGO_MS = 40 * 86_400_000;
/** How long a resumed service takes to read what it missed from the store; before that it signs nothing. Milliseconds. */
const AWAKE_MS = 1000;
const SIGN_INS = 40;

export const expiry: Section = async (stage) => {
  const [usual, beside] = [LMDB, `${LMDB}, beside a mass expiry`];
  const made: Subject[] = [];
  for (const name of [usual, beside]) {
    const configured = await stage.configure({ name, store: 'lmdb', people: PEOPLE });
    // The reference service has as many live grants: a larger tree alone makes a refresh cost more.
    const agoMs = name === beside ? AGO_MS : 0;
    await seedGrants(configured.file, stage.isQuick ? GRANTS.quick : GRANTS.usual, agoMs);
    const service = await stage.run(configured);
    process.kill(service.pid, 'SIGSTOP');
    // A suspended process couldn't receive the signal that ends it.
    stage.later(async () => void process.kill(service.pid, 'SIGCONT'));
    made.push(measured(configured, service));
  }
  return {
    subjects: made,
    targets: [
      {
        what: 'refresh: rate beside a mass expiry / without',
        goal: 0.85,
        isRate: true,
        of: ratio('rate', beside, usual),
      },
      { what: 'sign-in: p99 beside a mass expiry / without', goal: 2, of: ratio('p99', beside, usual) },
      {
        what: 'expired rows that are left, so that all rounds had some',
        goal: 1,
        isRate: true,
        by: 'least',
        of: figure(beside, 'expired'),
      },
    ],
  };
};

/** `rate` and `cpu` of refreshes, `p99` of sequential sign-ins, `expired` rows that are left. */
function measured({ file }: Configured, service: Service): Subject {
  const refresh = subjects.refresh(service, PEOPLE);
  const folder = path.join(path.dirname(file), 'data');
  let next = 0;
  async function signIn(): Promise<number> {
    const send = await new User(service, (next += 1) % PEOPLE).openLogin();
    const startedAt = performance.now();
    if ((await send()) !== 303) throw new Error('a sign-in was refused');
    return performance.now() - startedAt;
  }
  return {
    name: service.name,
    async slice(seconds) {
      process.kill(service.pid, 'SIGCONT');
      await sleep(AWAKE_MS);
      const figures = await refresh.slice(seconds);
      const times: number[] = [];
      while (times.length < SIGN_INS) times.push(await signIn());
      process.kill(service.pid, 'SIGSTOP');
      const p99 = times.toSorted((a, b) => a - b)[Math.floor((SIGN_INS - 1) * 0.99)];
      return { ...figures, p99: p99 ?? Number.NaN, expired: await countExpired(folder) };
    },
  };
}

async function countExpired(folder: string): Promise<number> {
  const tables = await openFolder(folder);
  try {
    return tables.read(() => tables.expiry.getCount({ end: [Date.now(), 'counter', ''] }));
  } finally {
    await tables.close();
  }
}
