// Loads a configuration in a thread of its own, so that reading thousands of clients doesn't hold up requests.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Config, ConfigError, type ConfigProblem, type ConfigSources } from './config.ts';
import type { LoadedConfig } from './load.ts';

/** What the thread posts: plain data, because a class doesn't survive a structured clone. */
export type LoadOutcome =
  | { readonly loaded: LoadedConfig }
  | { readonly problems: readonly ConfigProblem[]; readonly sources: ConfigSources };

/** `entry`: the module that loads `file` and posts a LoadOutcome. Rejects with ConfigError as loading in this thread does. */
export async function loadInThread(entry: URL, file: string): Promise<LoadedConfig> {
  // Without what the operator loads into the process by --import.
  const thread = new Worker(entry, { workerData: file, execArgv: [] });
  try {
    const [outcome] = (await once(thread, 'message')) as [LoadOutcome];
    if ('problems' in outcome) throw new ConfigError(outcome.problems, outcome.sources);
    return { ...outcome.loaded, config: revive(outcome.loaded.config) };
  } finally {
    await thread.terminate();
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
