// `postern views preview`: a server on this machine that shows every page with sample data, and tells browsers when a view changes. Its own
// page is in views/.view-tools/: the dot keeps it out of the views that can be replaced.
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { Server, type ServerResponse } from 'node:http';
import path from 'node:path';
import { inspect } from 'node:util';
import type { Config } from '../../config/config.ts';
import { securityHeaders } from '../../http/headers.ts';
import { createAssets } from '../../views/assets.ts';
import { loadViews } from '../../views/load-views.ts';
import { PAGE_STATES, type PageState } from './page-samples.ts';
import { compileTemplate } from '../../views/templates.ts';
import { BUILT_IN_FOLDER, listViewFiles, viewsOf } from '../../views/view-files.ts';
import { createViews } from '../../views/views.ts';

type Answer = readonly [status: number, type: string, body: string | Buffer];

const OWN_FOLDER = path.join(BUILT_IN_FOLDER, '.view-tools');
const OWN_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const HTML = 'text/html; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const EVENTS = 'text/event-stream';
const LOOK_EVERY_MS = 500;

/** Resolves when it listens; rejects when it can't. */
export async function startPreview(config: Config, port: number): Promise<Server> {
  const { 'Content-Security-Policy': ofService = '' } = securityHeaders(config.issuer);
  // The preview may frame a page, and a page may send no form.
  const ofPage = `${ofService.replace("frame-ancestors 'none'", "frame-ancestors 'self'")}; form-action 'none'`;
  const browsers = new Set<ServerResponse>();
  const server = new Server(({ url = '', headers: { host = '' } }, response) => {
    // Against DNS rebinding: a name of another site can lead to this address, but its requests have that name.
    const isLocal = /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(host);
    const [status, type, body] = isLocal ? answerTo(url, config) : [421, TEXT, 'Open it at 127.0.0.1.\n'];
    const ofUrl = /^(?:\/light|\/dark)?\/page\//.test(url) ? ofPage : OWN_POLICY;
    // Email has inline styles.
    const styles = url.includes('/page/letter/') ? "style-src 'unsafe-inline'" : 'style-src';
    response.writeHead(status, {
      'Content-Type': type,
      'Content-Security-Policy': ofUrl.replace('style-src', styles),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    });
    response.write(body);
    if (type === EVENTS) browsers.add(response.once('close', () => browsers.delete(response)));
    else response.end();
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const folder = config.viewsFolder ?? BUILT_IN_FOLDER;
  let seen = stateOf(folder);
  setInterval(() => {
    const before = seen;
    seen = stateOf(folder);
    if (seen !== before) browsers.forEach((browser) => browser.write('data: changed\n\n'));
  }, LOOK_EVERY_MS).unref();
  return server;
}

/** Changes whenever a file changes. */
function stateOf(folder: string): string {
  try {
    const files = Array.from(listViewFiles(folder).values());
    return files.map((file) => `${file} ${statSync(file, { throwIfNoEntry: false })?.mtimeMs}`).join('\n');
  } catch (error) {
    // The pages say what can't be read.
    return String(error);
  }
}

/** `/dark/page/login/usual` is a page for a dark frame, `/page/login/usual` has the scheme of the browser; the same for assets. */
function answerTo(url: string, config: Config): Answer {
  try {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/') return [200, HTML, renderIndex(searchParams, config)];
    if (pathname === '/events') return [200, EVENTS, '\n'];
    const [, scheme = '', name = ''] = /^\/(?:(light|dark)\/)?(.+)$/.exec(pathname) ?? [];
    const state = PAGE_STATES.find((one) => pathOf(one) === name);
    const answer = state ? renderState(state, searchParams.get('lang') ?? '', config) : fileAt(name, config);
    const [status, type, body] = answer;
    return [status, type, scheme !== '' && typeof body === 'string' ? inScheme(body, scheme) : body];
  } catch (error) {
    return [500, TEXT, inspect(error)];
  }
}

/** `page/login/usual`, `page/login/long-words` */
const pathOf = ({ name, title }: PageState) =>
  `page/${name}/${title.slice(name.length + 1).replaceAll(' ', '-') || 'usual'}`;

function renderIndex(search: URLSearchParams, config: Config): string {
  const problems: object[] = [];
  const report = (place: string, cause: unknown) => void problems.push({ place, cause });
  const assets = createAssets(viewsOf(config));
  const views = loadViews({ ...viewsOf(config), assetUrl: (name) => assets.url(name) }, report);
  const states = PAGE_STATES.map((state) => ({ ...state, path: pathOf(state) }));
  const model = { search, locales: views.texts.locales, states, problems };
  const file = path.join(OWN_FOLDER, 'index.ejs');
  return compileTemplate(readFileSync(file, 'utf8'), file)({ model, branding: views.branding });
}

/** Answers with the page, or with the fault of its template, for which a service would show the built-in page. */
function renderState({ name, model }: PageState, locale: string, config: Config): Answer {
  const faults: string[] = [];
  const { pages } = createViews({
    ...viewsOf(config),
    issuer: '../..',
    onProblem({ file, message }) {
      if (path.basename(file) === `${name}.ejs`) faults.push(`${file}\n\n${message}\n`);
    },
  });
  const html = pages.render(name, model, { locale, languageUrl: (tag) => `?lang=${tag}` });
  return faults.length > 0 ? [500, TEXT, faults.join('\n')] : [200, HTML, html];
}

function fileAt(name: string, config: Config): Answer {
  const own = { ...viewsOf(config), overrideFolder: OWN_FOLDER };
  const asset = createAssets(viewsOf(config)).find(name) ?? createAssets(own).find(name);
  if (asset === undefined) return [404, TEXT, 'Not found\n'];
  return [200, asset.type, asset.type.startsWith('text/css') ? asset.body.toString() : asset.body];
}

/** Gives queries of the color scheme a fixed answer, because a frame always has the scheme of the browser. */
function inScheme(text: string, scheme: string): string {
  const answer = (_: string, asked: string) => (asked === scheme ? '(min-width: 0)' : '(max-width: 0)');
  return text
    .replaceAll(/\(\s*prefers-color-scheme:\s*(\w+)\s*\)/g, answer)
    .replaceAll(/(color-scheme(?::\s*|" content="))light dark/g, `$1${scheme}`);
}
