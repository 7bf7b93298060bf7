// Sign-ins during operations on all users of the store: a list, an export, and a rebuild of the index of usernames.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { openFolder } from '../../src/store/lmdb/lmdb-store.ts';
import { paced } from '../load.ts';
import { figure, type Subject } from '../measure.ts';
import { SECRET } from '../names.ts';
import { User } from '../people.ts';
import { type Section } from '../section.ts';
import { seedPeople } from '../seed.ts';
import { LMDB } from '../service.ts';

/** Sign-ins a second. */
const RATE = 20;
/** The service checks the index every 5 s. */
const SECONDS = 8;

const COMPUTES = `os.setPriority(10); for (const end = Date.now() + 300; Date.now() < end;);`;

export const lists: Section = async (stage) => {
  const [people, seconds] = stage.isQuick ? [5000, 1] : [100_000, SECONDS];
  const configured = await stage.configure({ name: LMDB, store: 'lmdb', people: 0 });
  await seedPeople(configured.file, people);
  const service = await stage.run(configured);
  let next = 0;
  async function signIns() {
    const pages = await Promise.all(
      Array.from({ length: RATE * seconds }, () => new User(service, (next += 1) % people).openLogin()),
    );
    const send = async () => {
      const status = await pages.pop()?.();
      if (status !== 303) throw new Error(`a sign-in was answered with ${status}`);
    };
    return paced(send, RATE, seconds);
  }

  /** Runs the command repeatedly while sign-ins are measured. */
  const beside = (name: string, command: readonly string[]): Subject => ({
    name: `${LMDB}, ${name}`,
    async slice() {
      let isOver = false;
      const listing = (async () => {
        while (!isOver) {
          const env = { ...process.env, BENCH_SECRET: SECRET };
          const stdio = ['ignore', 'ignore', 'inherit'] as const;
          await once(spawn(process.execPath, command, { env, stdio: [...stdio] }), 'exit');
        }
      })();
      const figures = await signIns();
      isOver = true;
      await listing;
      return figures;
    },
  });
  const list = (...args: readonly string[]) => [
    'dist/main.js',
    'user',
    'list',
    ...args,
    '--config',
    configured.file,
  ];
  const alone = { name: `${LMDB}, sign-ins alone`, slice: signIns };
  const subjects: readonly Subject[] = [
    alone,
    beside(`sign-ins beside a list of 50 of ${people} users`, list('--limit', '50')),
    beside(`sign-ins beside an export of ${people} users`, list('-o', 'csv')),
    // The cost of any process that occupies one core, behind requests and beside the threads of passwords.
    beside('sign-ins beside a process that only computes', ['-e', COMPUTES]),
    {
      name: `${LMDB}, sign-ins beside the index of ${people} users`,
      async slice() {
        const tables = await openFolder(path.join(path.dirname(configured.file), 'data'));
        await tables.index.clearAsync();
        await tables.documents.remove(['index-marks', 'usernames']);
        await tables.close();
        return signIns();
      },
    },
  ];
  return {
    subjects,
    targets: subjects.slice(1).map(({ name }) => ({
      what: `${name.replace(`${LMDB}, `, '')}: p99 / alone`,
      goal: 3,
      stretch: 2,
      of: (round) => figure(name, 'p99')(round) / figure(alone.name, 'p99')(round),
    })),
  };
};
