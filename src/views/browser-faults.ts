// What the browser would not show or send: what the content security policy stops on a page or in a stylesheet, images and fonts
// that aren't there, and forms that would be refused. Accessibility and looks are for a linter, which docs/views.md names.

type Tag = { readonly name: string; readonly attributes: ReadonlyMap<string, string>; readonly rest: string };

const TAG =
  /<([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[^\s"'<>=/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)*)\s*\/?>/g;
const ATTRIBUTE = /([^\s"'<>=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;

/** What the content security policy would stop. */
export function policyFaults(html: string): string[] {
  return tagsOf(html).flatMap(stoppedIn);
}

/** Forms of a page that would be refused. Its model names their targets, and has their token where they need one, in itself or in a part. */
export function formFaults(html: string, model: object): string[] {
  const text = JSON.stringify(model);
  const token = ['xsrf', 'csrf'].find((field) => text.includes(`"${field}":`));
  if (token === undefined) return [];
  return tagsOf(html).flatMap((tag) => (tag.name === 'form' ? refusedForm(tag, token, model) : []));
}

function stoppedIn({ name, attributes }: Tag): string[] {
  const faults: string[] = [];
  if (name === 'script' && !attributes.has('src'))
    faults.push('the content security policy stops scripts inside the page: use a file in assets/');
  if (name === 'style' || attributes.has('style'))
    faults.push('the content security policy stops styles inside the page: use assets/branding.css');
  const handler = [...attributes.keys()].find((key) => /^on[a-z]/.test(key));
  if (handler !== undefined) faults.push(`the content security policy stops ${handler}`);
  return faults;
}

function refusedForm({ attributes, rest }: Tag, token: string, model: object): string[] {
  const action = attributes.get('action') ?? '';
  const [inner = ''] = rest.split(/<\/form/i);
  const faults: string[] = [];
  if (attributes.get('method')?.toLowerCase() !== 'post') {
    // A form to somewhere else may search, for instance.
    if (!JSON.stringify(model).includes(JSON.stringify(action))) return [];
    faults.push(`the form to ${action} must be method="post"`);
  }
  if (!tagsOf(inner).some((field) => field.attributes.get('name') === token))
    faults.push(`the form to ${action} lacks the hidden field ${token}: it would be refused`);
  return faults;
}

function tagsOf(html: string): readonly Tag[] {
  return [...html.matchAll(TAG)].map((match) => {
    const attributes = [...(match[2] ?? '').matchAll(ATTRIBUTE)].map(
      ([, key = '', double, single, bare]) => [key.toLowerCase(), double ?? single ?? bare ?? ''] as const,
    );
    const rest = html.slice(match.index + match[0].length);
    return { name: (match[1] ?? '').toLowerCase(), attributes: new Map(attributes), rest };
  });
}

type CssFault = { readonly line: number; readonly message: string };

const REFERENCE = /@import\s+(?:url\(\s*)?["']?([^"')\s;]+)|\burl\(\s*["']?([^"')\s]+)/gi;

/** `assets`: the names of the files beside the stylesheet. */
export function cssFaults(text: string, assets: ReadonlySet<string>): CssFault[] {
  const code = text.replaceAll(/\/\*[^]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  return [...code.matchAll(REFERENCE)].flatMap(({ 1: imported, 2: named = '', index }) => {
    const target = imported ?? named;
    const isFont = code.lastIndexOf('@font-face', index) > code.lastIndexOf('}', index);
    const kind = imported !== undefined ? 'stylesheets' : isFont ? 'fonts' : 'images';
    const message = referenceFault(target, kind, assets);
    return message === undefined ? [] : [{ line: code.slice(0, index).split('\n').length, message }];
  });
}

function referenceFault(target: string, kind: string, assets: ReadonlySet<string>): string | undefined {
  const isElsewhere = /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target);
  if (isElsewhere) {
    if (kind === 'images' && /^(https:|data:)/i.test(target)) return undefined;
    return `the content security policy stops ${kind} from ${target.slice(0, 100)}: put the file into assets/`;
  }
  const [name = ''] = target.replace(/^\.\//, '').split(/[?#]/);
  return name === '' || name.startsWith('/') || assets.has(name) ? undefined : `There is no asset ${name}`;
}
