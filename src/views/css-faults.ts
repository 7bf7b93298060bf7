// What would be missing on a page because the content security policy stops it, or because there is no such file, in a stylesheet
// of the operator's.

export type CssFault = { readonly line: number; readonly message: string };

const REFERENCE = /@import\s+(?:url\(\s*)?["']?([^"')\s;]+)|\burl\(\s*["']?([^"')\s]+)/gi;

/** `assets`: the names of the files beside the stylesheet. */
export function cssFaults(text: string, assets: ReadonlySet<string>): CssFault[] {
  const code = text.replaceAll(/\/\*[^]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  return [...code.matchAll(REFERENCE)].flatMap(({ 1: imported, 2: named = '', index }) => {
    const target = imported ?? named;
    const isFont = code.lastIndexOf('@font-face', index) > code.lastIndexOf('}', index);
    const kind = imported !== undefined ? 'stylesheets' : isFont ? 'fonts' : 'images';
    const message = faultOf(target, kind, assets);
    return message === undefined ? [] : [{ line: code.slice(0, index).split('\n').length, message }];
  });
}

function faultOf(target: string, kind: string, assets: ReadonlySet<string>): string | undefined {
  const isElsewhere = /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target);
  if (isElsewhere) {
    if (kind === 'images' && /^(https:|data:)/i.test(target)) return undefined;
    return `the content security policy stops ${kind} from ${target.slice(0, 100)}: put the file into assets/`;
  }
  const [name = ''] = target.replace(/^\.\//, '').split(/[?#]/);
  return name === '' || name.startsWith('/') || assets.has(name) ? undefined : `There is no asset ${name}`;
}
