// Every reload and rotation happens here: an application with another configuration, key set or views is built, tested and
// swapped in. If that fails, the old one keeps serving.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import type { Algorithm } from '../config/signing-algorithms.ts';
import { keepUntilRestart } from '../config/restart.ts';
import type { KeySet } from '../keys/key-set.ts';
import { type FormFault, UnreadableForm } from '../store/form.ts';
import { inBatches } from '../store/in-batches.ts';
import {
  type Announce,
  findShadowed,
  findShutOut,
  noteAndFindRemoved,
  voidChangedCredentials,
} from '../users/changed-credentials.ts';
import { laterThan } from '../users/account-state.ts';
import { markAll } from '../users/factors.ts';
import { newUserEvent } from '../users/user-events.ts';
import { viewsOf } from '../views/view-files.ts';
import type { Views } from '../views/views.ts';
import type { ApplicationParts, Process } from '../oidc/app.ts';
import { ONCE_IMPLICIT } from '../oidc/policies/existing-grant.ts';
import { type Application, createApplication } from './application.ts';
import type { ConfigurationStatus } from './configuration-status.ts';

/** Omitted parts don't change. */
export type Change = Readonly<{
  /** The configuration of the file. Settings that need a restart keep their old value. */
  config?: Config;
  /** Hash of the configuration, the same on every node that runs it. */
  hash?: string;
  keySet?: KeySet;
  /** The administrator's files changed. */
  views?: 'changed';
}>;

/** `hasNewKeys`: this start found an empty store. Only the administrator knows whether one was lost. */
type First = Omit<ApplicationParts, 'keySet'> & { readonly hasNewKeys?: boolean };

const signsAll = ({ others }: KeySet, algorithms: readonly Algorithm[]) =>
  algorithms.every((one) => one === 'RS256' || others.some(({ alg }) => alg === one));

type ReplacingParts = Readonly<{
  /** Creates missing keys for these algorithms. Throws StoreUnavailable. */
  provideKeys: (algorithms: readonly Algorithm[]) => Promise<KeySet>;
  first: First;
  process: Process;
  status: ConfigurationStatus;
  /** Makes `application` serve from now on. */
  swap: (application: Application, parts: ApplicationParts) => Promise<void>;
}>;

export function createReplacing({ first, process, status, provideKeys, swap }: ReplacingParts) {
  let served: ApplicationParts | undefined;
  /** Replacements run one at a time, because two could finish in the wrong order. */
  let turn: Promise<void> = Promise.resolve();

  async function replaceNow(change: Change): Promise<void> {
    const old = served ?? first;
    const known = change.keySet ?? served?.keySet;
    if (known === undefined) throw new TypeError('there are no keys yet');
    const config = change.config === undefined ? old.config : keepUntilRestart(old.config, change.config);
    const { algorithms } = config.signingKeys;
    // Otherwise a client could request a token that no key can sign.
    const keySet = signsAll(known, algorithms) ? known : await provideKeys(algorithms);
    const parts = { config, keySet, views: viewsFor(config, old, change, process) };

    const application = await createApplication(process, parts);
    if (config !== served?.config) await applyUsers(old.config, config, process, application);
    served = parts;
    await swap(application, parts);
    report(change, old, parts);
  }

  function report({ config, keySet, hash = '' }: Change, old: First, now: ApplicationParts): void {
    if (now.views !== old.views) process.log.info('views reloaded');
    if (config !== undefined) status.take({ running: now.config, wanted: config, hash });
    if (keySet !== undefined) reportKeys(keySet, old.hasNewKeys === true, process);
  }

  return {
    /** Runs one at a time. Rejects when the new application doesn't work; the old one keeps serving. */
    replace: (change: Change): Promise<void> => {
      const next = turn.then(() => replaceNow(change));
      turn = next.catch((error: unknown) => {
        if (change.config !== undefined) status.refuse(error);
      });
      return next;
    },
    /** Undefined before the first key set. */
    serving: () => served,
  };
}

/** The current views, unless one of their files or settings changed. */
function viewsFor(config: Config, old: First, { views }: Change, { openViews }: Process): Views {
  const isSame = views === undefined && isDeepStrictEqual(viewsOf(config), viewsOf(old.config));
  return isSame ? old.views : openViews(config);
}

/** Applies changes to users in the file before the new application serves. */
async function applyUsers(
  before: Config,
  config: Config,
  { states, storedUsers, factors, userEvents, hash, store, log, metrics }: Process,
  { ended }: Application,
) {
  const { users } = config;
  const { now } = store.clock;
  const onFault = (fault: FormFault) => {
    if (fault instanceof UnreadableForm) metrics.count('damaged_records', { kind: fault.collection });
    log.error({ err: fault }, 'skipped a user with invalid data: sign-ins are refused until this is fixed');
  };
  const factorsGoOff = config.signIn === undefined && (before === config || before.signIn !== undefined);
  if (factorsGoOff) await markAll(factors, onFault);
  const served = before === config ? [] : before.users;
  const isHeard = ended.clientIds.size > 0;
  const announce: Announce = (event, work) => (isHeard ? userEvents.around(event, work) : work());
  await voidChangedCredentials({ before: served, users }, { states, hash, now, announce }, onFault);
  const shadowed = await findShadowed(users, storedUsers);
  for (const [storeId, fileId] of shadowed) {
    log.warn(
      { fileId, storeId },
      "a user in the file has the username of a user in the store, who can't sign in",
    );
  }
  // A user in the file with the ID of one in the store is the same user, whose sessions continue.
  const hidden = [...shadowed].flatMap(([storeId, fileId]) => (fileId === storeId ? [] : [storeId]));
  const endAll = (id: string) =>
    announce(newUserEvent(id, 'ended'), () =>
      states.update(id, ({ validAfter }) => ({ validAfter: laterThan(validAfter, now) })),
    );
  await inBatches(hidden, endAll, onFault);
  // Includes users who were removed from the file while no process ran.
  const removed = await noteAndFindRemoved(users, store.documents, states, onFault);
  const all = config.clients.map(({ clientId }) => clientId);
  // This revokes nothing, because the file may be an older one, or incomplete.
  const remove = (id: string) =>
    announce(newUserEvent(id, 'left', all), () => states.update(id, { removed: true }));
  await inBatches(removed, remove);
  const shutOut = isHeard ? await findShutOut(before, config, ended.clientIds, storedUsers) : [];
  await inBatches(shutOut, ([id, clientIds]) => userEvents.add([newUserEvent(id, 'left', clientIds)]));
  for (const { clientId, consent } of config.clients) {
    const isNoted = consent !== 'implicit' || (await store.documents.get(ONCE_IMPLICIT, clientId));
    if (!isNoted) await store.documents.put(ONCE_IMPLICIT, clientId, '{}', 0);
  }
}

function reportKeys({ active, published }: KeySet, areNew: boolean, { log, audit }: Process): void {
  const fields = { kid: active.kid, published: published.map(({ kid }) => kid) };
  audit.record('keys_changed', 'success', fields);
  if (!areNew) return;
  log.info(
    { kid: active.kid },
    'created signing keys (new store): tokens issued from another store are no longer valid',
  );
  audit.record('keys_created', 'success', fields);
}
