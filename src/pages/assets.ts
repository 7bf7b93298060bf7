// The files that pages link to, held in memory under names that change with their content. Owns names, types and bytes;
// the URL's prefix, headers and caching are up to http/.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brandingCss } from './branding-css.ts';
import type { PageContext } from './models.ts';
import { listViewFiles } from './view-files.ts';

export type Asset = {
  readonly body: Buffer;
  /** For Content-Type. */
  readonly type: string;
  /** Whether the name holds the content's hash: what it names never changes. */
  readonly immutable: boolean;
};

export interface Assets {
  /** `style.css` -> `assets/style.3fa9c1….css`, relative to the issuer. Throws when there is no such asset. */
  url(name: string): string;
  /** `assets/…`, with or without hash; the plain name is what a stylesheet's own `url(…)` asks for. */
  find(path: string): Asset | undefined;
}

export type AssetsOptions = {
  readonly builtInFolder: string;
  /** Its `assets/` win over the built-in ones, file by file. */
  readonly overrideFolder?: string | undefined;
  readonly branding: PageContext['branding'];
};

// Files of another kind aren't served: pages run no script and load no font.
const TYPES = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.gif', 'image/gif'],
  ['.webp', 'image/webp'],
  ['.avif', 'image/avif'],
  ['.ico', 'image/x-icon'],
]);

/** Reads all assets now. A path is only ever looked up among them, so none leads to another file. */
export function createAssets({ builtInFolder, overrideFolder, branding }: AssetsOptions): Assets {
  const bodies = new Map([['branding.css', Buffer.from(brandingCss(branding))]]);
  for (const folder of [builtInFolder, overrideFolder]) {
    if (folder === undefined) continue;
    for (const [name, file] of listViewFiles(path.join(folder, 'assets')))
      bodies.set(name, readFileSync(file));
  }

  const urls = new Map<string, string>();
  const found = new Map<string, Asset>();
  for (const [name, body] of bodies) {
    const type = TYPES.get(path.posix.extname(name).toLowerCase());
    if (type === undefined) continue;
    const url = `assets/${withHash(name, body)}`;
    urls.set(name, url);
    found.set(url, { body, type, immutable: true });
    found.set(`assets/${name}`, { body, type, immutable: false });
  }

  return {
    url(name) {
      const url = urls.get(name);
      if (url === undefined) throw new Error(`There is no asset ${name}`);
      return url;
    },
    find: (assetPath) => found.get(assetPath),
  };
}

function withHash(name: string, body: Buffer): string {
  const extension = path.posix.extname(name);
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return `${name.slice(0, name.length - extension.length)}.${hash}${extension}`;
}
