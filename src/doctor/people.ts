// Whether people of the store are in groups that the file doesn't define, which give nothing.
import type { Config } from '../config/config.ts';
import { listedNames } from '../config/listed-names.ts';
import { listStoredPeople, type StoredPerson } from '../users/people.ts';
import { Skipped, type ReportFault } from './check.ts';

export async function checkPeople(
  { store, groups }: Pick<Config, 'store' | 'groups'>,
  report: ReportFault,
): Promise<undefined> {
  const people = await readPeople(store);
  const undefinedOnes = people.flatMap(({ username, groups: names }) =>
    names.filter((name) => !Object.hasOwn(groups, name)).map((name) => ({ name, username })),
  );
  for (const [name, members] of Map.groupBy(undefinedOnes, (one) => one.name)) {
    const list = listedNames(members.map(({ username }) => username));
    report('group-undefined', `people of the store are in ${name}, which gives nothing: ${list}`);
  }
  return undefined;
}

async function readPeople(store: Config['store']): Promise<readonly StoredPerson[]> {
  try {
    return await listStoredPeople(store);
  } catch (error) {
    throw new Skipped(
      `the groups of its people were not looked at: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
