// The checks of `postern doctor` of what the configuration names: the store, its keys and people, views and pinned documents.
import { checkPinned } from '../client-documents/pinned.ts';
import type { Config, User } from '../config/config.ts';
import { listedNames } from '../config/wording.ts';
import { judgeStoredKeys } from '../keys/open-keys.ts';
import { outgoingOf } from '../outgoing/guard.ts';
import { inspectServers } from '../store/open.ts';
import { canReach, listStoredFactors, NO_FACTORS } from '../users/factors.ts';
import { listStoredPeople } from '../users/people.ts';
import { checkViews } from '../views/view-check.ts';
import { type ReportFault, type Result, runCheck, Skipped } from './check.ts';

/** Without secrets the store can't be opened. */
export async function checkConfigured(config: Config, hasSecrets: boolean): Promise<readonly Result[]> {
  const stored = { store: checkStore, keys: checkKeys, people: checkPeople };
  const others = { views: checkOwnViews, 'client-documents': checkPinnedDocuments };
  const results: Result[] = [];
  for (const [name, check] of Object.entries({ ...(hasSecrets && stored), ...others }))
    results.push(...(await runCheck(name, (report) => check(config, report))));
  return results;
}

/** The settings of Redis; a folder of lmdb has none. */
export async function checkStore({ store }: Pick<Config, 'store'>, report: ReportFault) {
  if (store.engine === 'lmdb') return undefined;
  const servers = await inspectServers(store.url).catch(messageOf);
  if (typeof servers === 'string') return report('store-unreachable', servers);
  for (const { server, findings } of servers)
    for (const { severity, message } of findings)
      report('store-settings', `${server}: ${message}`, severity === 'fault' ? 'problem' : 'warning');
  return 'its settings are right';
}

/** Whether a start could read the keys in the store. */
async function checkKeys(config: Config, report: ReportFault): Promise<undefined> {
  const { fault, unknown } = await judgeStoredKeys(config);
  if (unknown !== undefined) throw new Skipped(`the keys in the store were not tried: ${unknown}`);
  return fault === undefined
    ? undefined
    : report('keys-refused', `the next start would be refused: ${fault}`);
}

/** Whether people of the store are in groups that the file doesn't define, which give nothing, and people of the file can sign in. */
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
  const hasWay = ({ id }: User) => canReach(signIn, factors.get(id) ?? NO_FACTORS, 'passkey', Infinity);
  return people.filter((person) => !hasWay(person)).map(({ username }) => username);
}

async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Skipped(`its people were not looked at: ${messageOf(error)}`);
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The result of `postern views check`. The service goes on with the built-in form of what is broken. */
async function checkOwnViews({ viewsFolder, branding }: Config, report: ReportFault) {
  if (viewsFolder === undefined) return undefined;
  for (const { file, line, message } of checkViews({ overrideFolder: viewsFolder, branding })) {
    const place = line === undefined ? file : `${file}:${line}`;
    report('views-broken', `${place}: ${message}`);
  }
  return `${viewsFolder} is in order`;
}

async function checkPinnedDocuments(config: Config, report: ReportFault) {
  const checks = await checkPinned(config.clients, outgoingOf(config));
  for (const { clientId, differences, failed } of checks) {
    for (const difference of differences) report('client-document-differs', `${clientId}: ${difference}`);
    if (failed !== undefined) report('client-document-unreachable', `${clientId}: ${failed}`);
  }
  return checks.length === 0 ? undefined : 'the pinned documents of clients are as published';
}
