// Every reload and rotation happens here: an application with another configuration, key set or views is built, tested and
// swapped in. If that fails, the old one keeps serving.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import type { Algorithm } from '../config/signing-algorithms.ts';
import { keepUntilRestart } from '../config/restart.ts';
import type { KeySet } from '../keys/key-set.ts';
import { UnreadableForm } from '../store/form.ts';
import { inBatches, type OnFault } from '../store/in-batches.ts';
import {
  type Announce,
  findShadowed,
  findShutOut,
  noteAndFindRemoved,
  voidChangedCredentials,
} from '../users/changed-credentials.ts';
import { voidAll } from '../users/acts.ts';
import { markAll } from '../users/factors.ts';
import { newUserEvent } from '../users/user-events.ts';
import { viewsOf } from '../views/view-files.ts';
import type { Views } from '../views/views.ts';
import type { ApplicationParts, Process } from '../oidc/app.ts';
import { noteImplicitClients } from '../oidc/policies/existing-grant.ts';
import { type Application, createApplication } from './application.ts';
import type { ConfigurationStatus } from './configuration-status.ts';

/** Omitted parts don't change. */
export type Change = Readonly<{
  /** The configuration of the file. Settings that need a restart keep their old value. */
  config?: Config;
  /** Hash of the configuration, the same on every node that runs it. */
  hash?: string;
  keySet?: KeySet;
  views?: 'changed';
}>;

/** `hasNewKeys`: this start found an empty store. Only the administrator knows whether one was lost. */
type FirstParts = Omit<ApplicationParts, 'keySet'> & { readonly hasNewKeys?: boolean };

const signsAll = ({ others }: KeySet, algorithms: readonly Algorithm[]) =>
  algorithms.every((one) => one === 'RS256' || others.some(({ alg }) => alg === one));

type ReplacingParts = Readonly<{
  /** Creates missing keys for these algorithms. Throws StoreUnavailable. */
  provideKeys: (algorithms: readonly Algorithm[]) => Promise<KeySet>;
  first: FirstParts;
  process: Process;
  status: ConfigurationStatus;
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
    if (config !== served?.config) {
      await applyUsers(served?.config, config, process, application);
      await noteImplicitClients(config.clients, process.store.documents);
    }
    served = parts;
    await swap(application, parts);
    report(change, old, parts);
  }

  function report({ config, keySet, hash = '' }: Change, old: FirstParts, now: ApplicationParts): void {
    if (now.views !== old.views) process.log.info('views reloaded');
    if (config !== undefined) status.take({ running: now.config, wanted: config, hash });
    if (keySet !== undefined) reportKeys(keySet, old.hasNewKeys === true, process);
  }

  return {
    /** Rejects when the new application doesn't work; the old one keeps serving. */
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
function viewsFor(config: Config, old: FirstParts, { views }: Change, { openViews }: Process): Views {
  const isSame = views === undefined && isDeepStrictEqual(viewsOf(config), viewsOf(old.config));
  return isSame ? old.views : openViews(config);
}

/** `now`: the clock of the store. */
type ApplyParts = Process & Readonly<{ announce: Announce; onFault: OnFault }>;

/** Applies changes to users in the file before the new application serves. `before`: undefined at startup. */
async function applyUsers(
  before: Config | undefined,
  config: Config,
  process: Process,
  { ended: { clientIds } }: Application,
) {
  const { factors, storedUsers, userEvents, log, metrics } = process;
  const { users } = config;
  const isHeard = clientIds.size > 0;
  const announce: Announce = (event, work) => (isHeard ? userEvents.around(event, work) : work());
  const onFault: OnFault = (fault) => {
    if (fault instanceof UnreadableForm) metrics.count('damaged_records', { kind: fault.collection });
    log.error({ err: fault }, 'skipped a user with invalid data: sign-ins are refused until this is fixed');
  };
  const steps: ApplyParts = { ...process, now: process.store.clock.now, announce, onFault };
  const factorsGoOff = config.signIn === undefined && (before === undefined || before.signIn !== undefined);
  if (factorsGoOff) await markAll(factors, onFault);
  await voidChangedCredentials({ before: before?.users ?? [], users }, steps, onFault);
  await endHidden(users, steps);
  await markRemoved(config, steps);
  const shutOut = before && isHeard ? await findShutOut(before, config, clientIds, storedUsers) : [];
  await inBatches(shutOut, ([id, left]) => userEvents.add([newUserEvent(id, 'left', left)]));
}

/** Ends the sessions of users in the store who can't sign in, because a user in the file has their username. */
async function endHidden(
  users: Config['users'],
  { now, states, storedUsers, log, announce, onFault }: ApplyParts,
) {
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
    announce(newUserEvent(id, 'ended'), () => voidAll({ states, storeNow: now }, id));
  await inBatches(hidden, endAll, onFault);
}

/** Marks users who were removed from the file, even while no process ran. */
async function markRemoved({ users, clients }: Config, { states, store, announce, onFault }: ApplyParts) {
  const removed = await noteAndFindRemoved(users, store.documents, states, onFault);
  const all = clients.map(({ clientId }) => clientId);
  // This revokes nothing, because the file may be an older one, or incomplete.
  const remove = (id: string) =>
    announce(newUserEvent(id, 'left', all), () => states.update(id, { removed: true }));
  await inBatches(removed, remove);
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
