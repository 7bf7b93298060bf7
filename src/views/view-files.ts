// The folders of views, built-in and the administrator's, and the files of each by name.
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Branding, Config } from '../config/config.ts';
import { ACCOUNT_PATH } from '../config/endpoint-rows.ts';

/** The settings of a configuration for views. */
export type ViewsSettings = Readonly<{
  /** Its templates, texts and assets win over the built-in ones, file by file and key by key. */
  overrideFolder?: string | undefined;
  branding: Branding & { readonly accountUri?: string | undefined };
}>;

export function viewsOf({ viewsFolder, branding, account, issuer }: Config): ViewsSettings {
  const accountUri = account ? `${issuer}${ACCOUNT_PATH}` : undefined;
  return { overrideFolder: viewsFolder, branding: { ...branding, accountUri } };
}

/** The folder is beside src/ and beside dist/ alike. */
export const BUILT_IN_FOLDER = path.join(import.meta.dirname, '..', '..', 'views');

// A mounted Kubernetes ConfigMap has its versions in `..data` and the like: names that start with a dot are ignored.
const NAME = /^\w[\w.-]*$/;
// Links are followed (a ConfigMap consists of them), so a link to a parent has to end somewhere.
const MAX_DEPTH = 4;

/** Name relative to `folder`, with `/` -> path of the file. A missing folder has no files. */
export function listViewFiles(folder: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  if (existsSync(folder)) collect(folder, '', MAX_DEPTH, files);
  return files;
}

function collect(folder: string, prefix: string, depth: number, files: Map<string, string>): void {
  for (const name of readdirSync(folder).toSorted()) {
    if (!NAME.test(name)) continue;
    const file = path.join(folder, name);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile()) files.set(prefix + name, file);
    else if (stat?.isDirectory() && depth > 0) collect(file, `${prefix}${name}/`, depth - 1, files);
  }
}
