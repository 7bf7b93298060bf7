// Whether people of the store are in groups that the file doesn't define, which give nothing.
import type { Config } from '../config/config.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { createPeople, type StoredPerson } from '../users/people.ts';
import { Skipped, type ReportFault } from './check.ts';

/** In one line. */
const MAX_NAMED = 10;

export async function checkPeople(
  { store, groups }: Pick<Config, 'store' | 'groups'>,
  report: ReportFault,
): Promise<undefined> {
  const people = await readPeople(store);
  const undefinedOnes = people.flatMap(({ username, groups: names }) =>
    names.filter((name) => !Object.hasOwn(groups, name)).map((name) => ({ name, username })),
  );
  for (const [name, members] of Map.groupBy(undefinedOnes, (one) => one.name)) {
    const named = members.slice(0, MAX_NAMED).map(({ username }) => username);
    const more = members.length - named.length;
    const list = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
    report('group-undefined', `people of the store are in ${name}, which gives nothing: ${list}`);
  }
  return undefined;
}

async function readPeople(store: Config['store']): Promise<readonly StoredPerson[]> {
  if (!(await isStoreMade(store))) return [];
  try {
    return await withStore(store, ({ documents }) => createPeople(documents).list());
  } catch (error) {
    throw new Skipped(
      `the groups of its people were not looked at: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
