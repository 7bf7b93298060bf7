// All effects of an act on a user: the answer, the audit trail, the user's activity, the cookies of the browser that acts, the apps that
// are notified, and which sessions and tokens still work. A side effect that a test does not name must not happen.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { sidOf, type SignedIn } from './app.ts';
import type { Browser } from './browser.ts';
import { until } from './clock.ts';
import { type LogoutReceiver, NOTIFIES } from './logout-receiver.ts';
import { silently } from './person.ts';
import { userinfo } from './presented-tokens.ts';
import type { AuditRecord } from './recorded-telemetry.ts';
import type { OpenWorld } from './world.ts';

export type ActsWorld = {
  readonly world: OpenWorld;
  readonly receiver: LogoutReceiver;
  /** All users who have signed in at an app: an app that isn't named in the expectation must not be notified. */
  readonly everybody: readonly SignedIn[];
};

/** A browser's session, or the tokens of an app. */
export type Living = { readonly session: Browser } | { readonly tokens: SignedIn };

export type Act = {
  /** The browser that acts, if the act uses one. */
  readonly browser?: Browser;
  readonly run: () => Promise<object>;
};

export type Outcome = {
  /** The expected result of the act. */
  readonly answer: object;
  /** All new records except those of sign-ins and tokens, without their time, address and request. */
  readonly audit: readonly object[];
  /** New entries of the user's activity besides sign-ins, with the app that each is about. */
  readonly activity?: readonly string[];
  /** Names of the cookies that change. */
  readonly cookies?: readonly string[];
  /** Sign-ins whose app is notified that the session has ended, if the source has that feature. */
  readonly apps?: readonly SignedIn[];
  readonly alive?: readonly Living[];
  readonly dead?: readonly Living[];
};

/** The audit file of `postern user`, in the folder of the world. */
export const AUDIT_FILE = 'audit.jsonl';
const NOT_OF_ACTS = ['sign_in', 'consent', 'token_issued', 'app_logout', 'service_started'];
/** Members of audit records that differ from run to run. */
const PASSING = ['time', 'address', 'request_id'];

export async function expectAct(
  { world, receiver, everybody }: ActsWorld,
  { browser, run }: Act,
  { answer, audit, activity = [], cookies = [], apps = [], alive = [], dead = [] }: Outcome,
): Promise<void> {
  for (const one of [...alive, ...dead]) expect(await isAlive(world, one)).toBe(true);
  const before = {
    audit: await auditOf(world),
    activity: await activityOf(world),
    cookies: cookiesOf(browser),
  };
  const heardBefore = everybody.map((app) => receiver.of(sidOf(app)).length);

  expect(await run()).toMatchObject(answer);

  await untilTold(world);
  const records = (await auditOf(world)).slice(before.audit.length);
  expect(records.map(withoutPassing)).toEqual(audit);
  const isByRequest = ({ by }: Loose) => by !== 'command_line';
  for (const record of records) {
    const from = [record['address'], record['request_id']].map((value) => typeof value);
    expect(from).toEqual(isByRequest(record) ? ['string', 'string'] : ['undefined', 'undefined']);
  }
  const known = (await activityOf(world)).filter(
    (event) => !before.activity.some(({ key }) => key === event.key),
  );
  expect(known.map(({ what }) => what)).toEqual(activity);
  for (const { hasPlace } of known) expect(hasPlace).toBe(records.some(isByRequest));
  const changed = [...cookiesOf(browser)].filter(([name, value]) => before.cookies.get(name) !== value);
  expect(changed.map(([name]) => name)).toEqual(cookies);
  const heard = everybody.filter((app, at) => receiver.of(sidOf(app)).length > (heardBefore[at] ?? 0));
  const sids = (of: readonly SignedIn[]) => of.map((app) => String(sidOf(app))).toSorted();
  expect(sids(heard)).toEqual(NOTIFIES ? sids(apps) : []);
  expect(await Promise.all(alive.map((one) => isAlive(world, one)))).toEqual(alive.map(() => true));
  expect(await Promise.all(dead.map((one) => isAlive(world, one)))).toEqual(dead.map(() => false));
}

/** Resolves when every app has received its notifications. */
export async function untilTold({ openedStore: { documents } }: OpenWorld): Promise<void> {
  for (const outbox of ['user-events', 'logouts'])
    await until(async () => expect(await documents.list(outbox)).toEqual([]));
}

const cookiesOf = (browser: Browser | undefined) =>
  new Map(browser?.cookies.map(({ name, path: below, value }) => [`${name} ${below}`, value]));

export async function isAlive(world: OpenWorld, one: Living): Promise<boolean> {
  if ('tokens' in one) {
    const { status } = await userinfo(world, one.tokens.tokens.access_token);
    expect([200, 401]).toContain(status);
    return status === 200;
  }
  return (await silently(world, one.session, { client_id: 'first-party' })) === 'signed in';
}

async function activityOf({ openedStore }: OpenWorld) {
  const lists = await openedStore.documents.list('person-sessions');
  return lists.flatMap(({ id, value }) => {
    const { events = [] } = JSON.parse(value) as {
      readonly events?: readonly { readonly what: string; readonly app?: string; readonly place?: object }[];
    };
    const others = events.filter(({ what }) => what !== 'signed_in');
    return others.map(({ what, app, place }, at) => ({
      hasPlace: place !== undefined,
      key: `${id} ${at}`,
      what: app === undefined ? what : `${what} ${app}`,
    }));
  });
}

type Loose = Readonly<Record<string, unknown>>;

async function auditOf({ recorded, folder }: OpenWorld): Promise<readonly Loose[]> {
  const file = await readFile(path.join(folder, AUDIT_FILE), 'utf8').catch(() => '');
  const lines = [...file.split('\n').filter(Boolean), ...recorded.auditLines];
  return lines
    .map((line) => JSON.parse(line) as AuditRecord)
    .toSorted((one, other) => one.time.localeCompare(other.time))
    .filter(({ event }) => !NOT_OF_ACTS.includes(event));
}

const withoutPassing = (record: Loose) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !PASSING.includes(name)));
