// The one path of every reload and rotation: an application of another configuration, key set or views is built, tested and
// put in the place of the one that serves. When that fails, the old one goes on.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import { keepUntilRestart } from '../config/restart.ts';
import type { App } from '../http/server.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { voidChangedCredentials } from '../users/changed-credentials.ts';
import { createPeople } from '../users/people.ts';
import { warnOfShadowed, warnOfWeakHashes } from '../users/warnings.ts';
import type { Views, ViewsSettings } from '../views/views.ts';
import { type ApplicationParts, createApplication, type SharedServices } from './application.ts';
import type { ConfigurationStatus } from './configuration-status.ts';

/** What is not named stays as it is. */
export type Change = {
  /** As the file says it: what only a start can change is kept, and waits. */
  readonly config?: Config;
  /** The same on every node that runs the same configuration. */
  readonly hash?: string;
  readonly keySet?: KeySet;
  /** The operator's files changed. */
  readonly views?: 'changed';
};

export type Replacing = {
  /** One at a time. Rejects when the new application doesn't work, and changes nothing then. */
  readonly replace: (change: Change) => Promise<void>;
  /** Undefined before the first key set. */
  readonly serving: () => ApplicationParts | undefined;
};

/** `hasNewKeys`: this start found an empty store. Whether one was lost, only the operator knows. */
type First = Omit<ApplicationParts, 'keySet'> & { readonly hasNewKeys?: boolean };

export type ReplacingParts = {
  readonly first: First;
  readonly shared: SharedServices;
  readonly status: ConfigurationStatus;
  /** From now on `app` serves. */
  readonly swap: (app: App, parts: ApplicationParts) => Promise<void>;
};

export function createReplacing({ first, shared, status, swap }: ReplacingParts): Replacing {
  const { store, telemetry } = shared;
  let served: ApplicationParts | undefined;
  /** Two at once could end in the wrong order. */
  let turn: Promise<void> = Promise.resolve();

  async function replaceNow(change: Change): Promise<void> {
    const old = served ?? first;
    const keySet = change.keySet ?? served?.keySet;
    if (keySet === undefined) throw new TypeError('there are no keys yet');
    const config = change.config === undefined ? old.config : keepUntilRestart(old.config, change.config);
    const parts = { config, keySet, views: viewsFor(config, old, change) };

    if (config !== old.config) await takeCredentials(config, store);
    const app = await createApplication(parts, shared);
    if (config !== served?.config) await applyUsers(config, shared);
    served = parts;
    await swap(app, parts);
    await report(change, old, parts);
  }

  async function report(change: Change, old: First, now: ApplicationParts): Promise<void> {
    const { config, keySet, hash = '' } = change;
    if (now.views !== old.views) telemetry.log.info('the views were read again');
    if (config !== undefined) await status.taken(now.config, config, hash);
    if (keySet !== undefined) reportKeys(keySet, old.hasNewKeys === true, telemetry);
  }

  async function replaceOrRefuse(change: Change): Promise<void> {
    try {
      await replaceNow(change);
    } catch (error) {
      if (change.config !== undefined) status.refuse(error);
      throw error;
    }
  }

  return {
    replace(change) {
      const next = turn.then(() => replaceOrRefuse(change));
      turn = next.catch(() => undefined);
      return next;
    },
    serving: () => served,
  };
}

export function viewsOf({ viewsFolder, branding }: Config): ViewsSettings {
  return { overrideFolder: viewsFolder, branding };
}

/** Those that serve, unless a file or a setting of theirs changed. */
function viewsFor(config: Config, old: First, { views }: Change): Views {
  const settings = viewsOf(config);
  if (views === undefined && isDeepStrictEqual(settings, viewsOf(old.config))) return old.views;
  return old.views.reloaded(settings);
}

async function takeCredentials({ store: settings }: Config, store: Store): Promise<void> {
  if (settings.engine === 'redis') await store.takeCredentials?.(settings.url);
}

/** What changed in the file about people binds before the application that knows them serves. */
async function applyUsers({ users }: Config, { states, hash, store, telemetry }: SharedServices) {
  await voidChangedCredentials(users, states, hash, store.clock.now);
  await warnOfShadowed(users, createPeople(store.documents), telemetry.log);
  warnOfWeakHashes(users, telemetry.log);
}

function reportKeys(
  { active, published }: KeySet,
  areNew: boolean,
  { log, audit }: Pick<Telemetry, 'log' | 'audit'>,
): void {
  const fields = { kid: active.kid, published: published.map(({ kid }) => kid) };
  audit.record('keys_changed', 'success', fields);
  if (!areNew) return;
  log.warn(
    { kid: active.kid },
    'new signing keys were made: what verifiers keep, sessions and tokens of an earlier store, if there was one, are void',
  );
  audit.record('keys_created', 'success', fields);
}
