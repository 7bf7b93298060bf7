// Loads a configuration in a thread of its own, so that reading thousands of clients doesn't hold up requests.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Config, ConfigError, type ConfigProblem, type ConfigSources } from './config.ts';
import type { LoadedConfig } from './load.ts';
import { hungFolders } from './regular-file.ts';

export type LoadJob = { readonly file: string; readonly hung: readonly string[] };

/** Longer than reading ten thousand clients takes on a busy machine. */
const LOAD_WITHIN_MS = 60_000;

/** What the thread posts: plain data, because a class doesn't survive a structured clone. */
export type LoadOutcome =
  | { readonly loaded: LoadedConfig }
  | { readonly problems: readonly ConfigProblem[]; readonly sources: ConfigSources };

/** `entry`: the module that loads `file` and posts a LoadOutcome. Rejects with ConfigError as loading in this thread does. */
export async function loadInThread(entry: URL, file: string): Promise<LoadedConfig> {
  // Without what the operator loads into the process by --import.
  const signal = AbortSignal.timeout(LOAD_WITHIN_MS);
  const thread = new Worker(entry, { workerData: { file, hung: hungFolders() }, execArgv: [] });
  try {
    const [outcome] = (await once(thread, 'message', { signal })) as [LoadOutcome];
    if ('problems' in outcome) throw new ConfigError(outcome.problems, outcome.sources);
    return { ...outcome.loaded, config: revive(outcome.loaded.config) };
  } catch (error) {
    throw signal.aborted ? new Error('it was not read within a minute') : error;
  } finally {
    // Not awaited: it waits for what hangs.
    void thread.terminate();
  }
}

/** A Buffer that was posted is a plain Uint8Array, which compares and prints differently. */
function revive(config: Config): Config {
  return {
    ...config,
    encryptionKeys: config.encryptionKeys.map((key) => Buffer.from(key)),
    clients: config.clients.map((client) => ({
      ...client,
      secrets: client.secrets.map((secret) =>
        secret.kind === 'sha256' ? { ...secret, digest: Buffer.from(secret.digest) } : secret,
      ),
    })),
  };
}
