// Warns of a change that empties a list: more often the slip of a script or a mount than a decision.
import type { Config, ConfigSources } from './config.ts';

type Side = { readonly config: Pick<Config, 'users'>; readonly sources?: ConfigSources };

/** One line for all of it, with numbers; undefined where nothing was emptied. */
export function emptiedWarning(before: Side, after: Side): string | undefined {
  const users = after.config.users.length === 0 ? before.config.users.length : 0;
  const matched = [...(before.sources?.matched ?? [])].filter(
    ([pattern, count]) => count > 0 && after.sources?.matched?.get(pattern) === 0,
  );
  const lost = [
    ...(users > 0 ? [`users (${users})`] : []),
    ...matched.map(([pattern, count]) => `files of ${pattern} (${count})`),
  ];
  return lost.length > 0 ? `the configuration has lost all ${lost.join(' and all ')}` : undefined;
}
