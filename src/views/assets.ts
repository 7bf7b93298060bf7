// The files that pages link to, in memory, under names that change with their content. http/assets.ts serves them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brandingCss } from './branding-css.ts';
import { listViewFiles, type ViewsSettings, BUILT_IN_FOLDER } from './view-files.ts';

type Asset = Readonly<{
  body: Buffer;
  /** For Content-Type. */
  type: string;
  /** Whether the name contains a hash of the content, which then never changes. */
  immutable: boolean;
}>;

export type Assets = ReturnType<typeof createAssets>;

/** The administrator's colour, from `branding.color`. */
export const COLORS_CSS = 'colors.css';

export const ICON = 'icon.svg';

// Other types of files aren't served.
const TYPES = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.gif', 'image/gif'],
  ['.webp', 'image/webp'],
  ['.avif', 'image/avif'],
  ['.ico', 'image/x-icon'],
  ['.woff2', 'font/woff2'],
]);

/** Returns undefined if a file of this name can't be an asset. */
const assetType = (name: string) => TYPES.get(path.posix.extname(name).toLowerCase());

/** Reads all assets now; throws when one can't be read. Paths are only looked up among them, so no path can reach another file. */
export function createAssets(settings: ViewsSettings) {
  const urls = new Map<string, string>();
  const files = new Map<string, Asset>();
  for (const [name, body] of bodiesOf(settings)) {
    const type = assetType(name) ?? '';
    const url = `assets/${withHash(name, body)}`;
    urls.set(name, url);
    files.set(url, { body, type, immutable: true });
    files.set(`assets/${name}`, { body, type, immutable: false });
  }
  return {
    /** `style.css` -> `assets/style.3fa9c1….css`, relative to the issuer. Throws when there is no such asset. */
    url(name: string): string {
      const url = urls.get(name);
      if (url === undefined) throw new Error(`unknown asset "${name}"`);
      return url;
    },
    has: (name: string) => urls.has(name),
    /**
     * Finds `assets/…`. A stylesheet's own `url(…)` uses the plain name. A page that was opened before a reload, or on another node, uses
     * another hash and gets the current file.
     */
    find: (assetPath: string) =>
      files.get(assetPath) ?? files.get(assetPath.replace(/\.[\da-f]{16}(?=\.\w+$)/, '')),
  };
}

function bodiesOf({ overrideFolder, branding }: ViewsSettings): ReadonlyMap<string, Buffer> {
  const bodies = new Map<string, Buffer>();
  if (branding.color !== undefined) bodies.set(COLORS_CSS, Buffer.from(brandingCss(branding.color)));
  for (const folder of [BUILT_IN_FOLDER, overrideFolder]) {
    if (folder === undefined) continue;
    for (const [name, file] of listViewFiles(path.join(folder, 'assets')))
      if (assetType(name) !== undefined) bodies.set(name, readFileSync(file));
  }
  return bodies;
}

function withHash(name: string, body: Buffer): string {
  const extension = path.posix.extname(name);
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return `${name.slice(0, name.length - extension.length)}.${hash}${extension}`;
}
