// Whether people of the store are in groups that the file doesn't define, which give nothing, and people of the file can sign in at all.
import type { Config, User } from '../config/config.ts';
import { listedNames } from '../config/listed-names.ts';
import { canReach, listStoredFactors, NO_FACTORS } from '../users/factors.ts';
import { listStoredPeople } from '../users/people.ts';
import { Skipped, type ReportFault } from './check.ts';

export async function checkPeople(
  config: Pick<Config, 'store' | 'groups' | 'users' | 'signIn'>,
  report: ReportFault,
): Promise<undefined> {
  const { store, groups } = config;
  const people = await reading(() => listStoredPeople(store));
  const undefinedOnes = people.flatMap(({ username, groups: names }) =>
    names.filter((name) => !Object.hasOwn(groups, name)).map((name) => ({ name, username })),
  );
  for (const [name, members] of Map.groupBy(undefinedOnes, (one) => one.name)) {
    const list = listedNames(members.map(({ username }) => username));
    report('group-undefined', `people of the store are in ${name}, which gives nothing: ${list}`);
  }
  const stuck = await withoutWayIn(config);
  if (stuck.length > 0) {
    report(
      'no-way-in',
      `people of the file have neither a password nor a passkey that verifies its user: ${listedNames(stuck)}`,
    );
  }
  return undefined;
}

async function withoutWayIn({
  store,
  users,
  signIn,
}: Pick<Config, 'store' | 'users' | 'signIn'>): Promise<readonly string[]> {
  const people = users.filter(({ passwordHash, disabled }) => passwordHash === undefined && !disabled);
  if (people.length === 0) return [];
  const factors = await reading(() => listStoredFactors(store));
  const hasWay = ({ id }: User) => canReach(signIn, factors.get(id) ?? NO_FACTORS, 'passkey');
  return people.filter((person) => !hasWay(person)).map(({ username }) => username);
}

async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Skipped(
      `its people were not looked at: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
