// Watches the files of the configuration, and hands over a new configuration or its problems.
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, type ConfigSources } from './config.ts';
import { type FileWatch, type ReloadOutcome, watchFiles } from './file-watch.ts';
import { matchesOf } from './included-files.ts';
import type { LoadedConfig } from './load.ts';

type ConfigWatchParts = Readonly<{
  file: string;
  /** What runs now, as `load` returned it. */
  current: LoadedConfig;
  load: (file: string) => Promise<LoadedConfig>;
  /** Takes a new configuration over. When it throws, the old one counts as running, and the next look tries again. */
  onConfig: (loaded: LoadedConfig) => void | Promise<void>;
  onBroken: (error: ConfigError) => void;
  /** The files match the running configuration, also after they were broken for a while. */
  onUnchanged?: () => void;
  /** A failure that isn't a problem of the file. */
  onError: (error: unknown) => void;
  settleMs?: number;
}>;

/** Begins to watch. Resolves when no later change can be missed. */
export function watchConfig(parts: ConfigWatchParts): Promise<FileWatch> {
  const { file, load, onConfig, onBroken, onUnchanged, onError, settleMs } = parts;
  let { current } = parts;
  let { sources } = current;

  async function read(): Promise<() => Promise<ReloadOutcome>> {
    try {
      const loaded = await load(file);
      ({ sources } = loaded);
      return () => takeOver(loaded);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // Repairing any of these may be what makes it load.
      const [one, other] = [current.sources, error.sources];
      sources = {
        files: [...one.files, ...other.files],
        patterns: [...one.patterns, ...other.patterns],
      };
      return async () => {
        onBroken(error);
        return 'broken';
      };
    }
  }

  async function takeOver(loaded: LoadedConfig): Promise<ReloadOutcome> {
    // What the start says to the operator isn't configuration.
    const [one, other] = [loaded, current].map(({ config }) => ({ ...config, notices: [] }));
    const isSame = isDeepStrictEqual(one, other);
    if (!isSame) await onConfig(loaded);
    current = loaded;
    if (isSame) onUnchanged?.();
    return isSame ? 'unchanged' : 'changed';
  }

  return watchFiles({ list: () => listOf(sources), readAt: current.readAt, read, onError, settleMs });
}

async function listOf({ files, patterns }: ConfigSources): Promise<readonly string[]> {
  const matches = await Promise.all(patterns.map(matchesOf));
  return [...new Set([...files, ...matches.flat()])];
}
