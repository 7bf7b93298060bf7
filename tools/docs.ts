// `npm run docs`: builds README.md, docs/ and all files linked there as a static site with a search, in artifacts/site or a given folder.
// The navigation is the list of documents in README.md. A link that leads nowhere fails the build.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import ejs from 'ejs';
import MarkdownIt, { type Token } from 'markdown-it';
import MiniSearch from 'minisearch';
import { build } from 'rolldown';
import { SEARCH, type Section } from './search.ts';

type Page = Readonly<{ title: string; tokens: Token[]; anchors: ReadonlySet<string>; sections: Section[] }>;

const OUT = path.resolve(process.argv[2] ?? 'artifacts/site');
const LOOK = path.resolve(import.meta.dirname, '../docs/site');
const markdown = new MarkdownIt({ html: true });

const pages = new Map<string, Page>();
const files = new Set<string>();
const links: { readonly from: string; readonly to: string; readonly anchor: string }[] = [];

const addressOf = (source: string) =>
  source.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');

const textOf = (token: Token | undefined) =>
  (token?.children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');

/** The id that GitHub gives a heading. */
const slugOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');

/** The address of `link` on the page of `source`. Adds the linked file to the site. */
function follow(source: string, link: string): string {
  if (/^[a-z]+:/.test(link)) return link;
  const [name = '', anchor = ''] = decodeURI(link).split('#');
  let to = name === '' ? source : path.join(path.dirname(source), name);
  if (existsSync(to) && statSync(to).isDirectory()) to = path.join(to, 'README.md');
  links.push({ from: source, to, anchor });
  if (!existsSync(to)) return link;
  if (to.endsWith('.md')) addPage(to);
  else files.add(to);
  const address = path.relative(path.dirname(source), addressOf(to));
  return anchor === '' ? address : `${address}#${anchor}`;
}

function addPage(source: string): void {
  if (pages.has(source)) return;
  const tokens = markdown.parse(readFileSync(source, 'utf8'), {});
  const title = textOf(tokens[tokens.findIndex(({ type }) => type === 'heading_open') + 1]);
  const anchors = new Set<string>();
  const sections: Section[] = [];
  pages.set(source, { title, tokens, anchors, sections });
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = textOf(tokens[at + 1]);
      let id = slugOf(heading);
      for (let count = 1; anchors.has(id); count++) id = `${slugOf(heading)}-${count}`;
      anchors.add(id);
      token.attrSet('id', id);
      sections.push({ id: `${addressOf(source)}#${id}`, title, heading, text: '' });
    }
    const section = sections.pop();
    const text = token.type === 'fence' ? token.content : textOf(token);
    if (section !== undefined) sections.push({ ...section, text: `${section.text} ${text}` });
    for (const part of [token, ...(token.children ?? [])]) rewrite(source, part);
  }
}

function rewrite(source: string, token: Token): void {
  for (const name of ['href', 'src']) {
    const link = token.attrGet(name);
    if (link !== null) token.attrSet(name, follow(source, String(link)));
  }
  if (token.type !== 'html_block') return;
  token.content = token.content.replaceAll(
    /\b(src|srcset)="([^"]+)"/g,
    (_, name, link: string) => `${name}="${follow(source, link)}"`,
  );
}

/** The rows of README.md's list of documents: the readers, and the links of the row. */
function navigationOf({ tokens }: Page) {
  const start = tokens.findIndex((token) => token.attrGet('id') === 'documents');
  const end = tokens.findIndex(({ type }, at) => at > start && type === 'bullet_list_close');
  const rows = tokens.slice(start + 3, end).filter(({ type }) => type === 'inline');
  return rows.map((row) => ({
    name: textOf(row).split(':')[0],
    items: (row.children ?? []).flatMap((token, at, parts) =>
      token.type === 'link_open' ? [{ address: token.attrGet('href'), words: parts[at + 1]?.content }] : [],
    ),
  }));
}

const sources = globSync(['*.md', '{bench,deploy,docs}/**/*.md'], {
  exclude: (name) => name.endsWith('node_modules'),
});
for (const source of sources.toSorted()) addPage(source);
const home = pages.get('README.md');
if (home === undefined) throw new Error('There is no README.md here.');
const isThere = (to: string, anchor: string) =>
  existsSync(to) && (anchor === '' || pages.get(to)?.anchors.has(anchor) !== false);
const dead = links.filter(({ to, anchor }) => !isThere(to, anchor));
for (const { from, to, anchor } of dead)
  process.stderr.write(`${from}: nothing at ${to}${anchor === '' ? '' : `#${anchor}`}\n`);
if (dead.length > 0) process.exit(1);

await build({
  input: path.join(LOOK, 'page.js'),
  output: { file: path.join(OUT, 'page.js'), format: 'iife', minify: true },
});
const filename = path.join(LOOK, 'page.ejs');
const fill = ejs.compile(readFileSync(filename, 'utf8'), { filename });
const navigation = navigationOf(home);
for (const [source, { title, tokens }] of pages) {
  const here = addressOf(source);
  const root = '../'.repeat(here.split('/').length - 1);
  const html = markdown.renderer.render(tokens, markdown.options, {});
  await mkdir(path.dirname(path.join(OUT, here)), { recursive: true });
  await writeFile(path.join(OUT, here), fill({ title, here, root, html, navigation }));
}
for (const file of files) await cp(file, path.join(OUT, file));
await cp(path.join(LOOK, 'style.css'), path.join(OUT, 'style.css'));
await cp('views/assets/icon.svg', path.join(OUT, 'icon.svg'));
const index = new MiniSearch(SEARCH);
for (const { sections } of pages.values()) index.addAll(sections);
const json = JSON.stringify(JSON.stringify(index));
await writeFile(path.join(OUT, 'search-index.js'), `globalThis.searchIndex = ${json};\n`);
process.stdout.write(`Built ${pages.size} pages in ${path.relative('.', OUT)}\n`);
