// A browser with only the features that these tests need: cookies with their paths, redirects one at a time, and the forms
// of a page. It speaks real HTTP and knows only the address of the service.
import { formPost, type Parameters } from './requests.ts';

export type Page = {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

type Cookie = { readonly name: string; readonly value: string; readonly path: string };
type Fields = Readonly<Record<string, string>>;

const MAX_REDIRECTS = 15;

export class Browser {
  /** The issuer's origin, and the address where it really listens. */
  readonly #issuer: string;
  readonly #base: string;
  readonly #cookies = new Map<string, Cookie>();

  constructor(issuer: string, base: string = issuer) {
    this.#issuer = issuer;
    this.#base = base;
  }

  get cookies(): readonly Cookie[] {
    return [...this.#cookies.values()];
  }

  setCookie(cookie: Cookie): void {
    this.#cookies.set(`${cookie.name};${cookie.path}`, cookie);
  }

  /** Sends one request and follows no redirect. */
  async request(url: string, init: RequestInit = {}): Promise<Page> {
    const target = url.startsWith(this.#issuer) ? `${this.#base}${url.slice(this.#issuer.length)}` : url;
    const { pathname } = new URL(target);
    const cookie = this.cookies
      .filter(({ path }) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(target, {
      ...init,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        ...(init.headers as Record<string, string> | undefined),
        ...(cookie !== '' && { cookie }),
      },
    });
    for (const header of response.headers.getSetCookie()) this.#keep(header, pathname);
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirects within the issuer; resolves a page, or the redirect that leaves the issuer. */
  async open(url: string, init: RequestInit = {}): Promise<Page> {
    let page = await this.request(url, init);
    for (let hops = 0; hops < MAX_REDIRECTS; hops += 1) {
      const location = page.headers.get('location');
      if (location === null) return page;
      const next = new URL(location, page.url).href;
      if (!next.startsWith(this.#issuer)) return { ...page, url: next };
      page = await this.request(next);
    }
    throw new Error(`too many redirects: ${page.url}`);
  }

  /** Submits the form of `page` whose action ends with `action`, with its hidden fields and the given ones. */
  async submit(page: Page, action: string, fields: Fields = {}, headers: Fields = {}): Promise<Page> {
    const form = formOf(page, action);
    return this.open(form.action, formPost({ ...form.fields, ...fields }, headers));
  }

  /** Submits the form like `submit`, but follows no redirect. */
  async send(page: Page, action: string, fields: Parameters = {}): Promise<Page> {
    const form = formOf(page, action);
    return this.post(form.action, { ...form.fields, ...fields });
  }

  /** Posts a form that is on no page; follows no redirect. */
  async post(url: string, form: Parameters | string, headers: Fields = {}): Promise<Page> {
    return this.request(url, formPost(form, headers));
  }

  #keep(header: string, requestPath: string): void {
    const [pair = '', ...attributes] = header.split('; ');
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(pair.indexOf('=') + 1);
    const find = (attribute: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(`${attribute}=`))?.slice(attribute.length + 1);
    const cookie = { name, value, path: find('path') ?? requestPath };
    const [expires, maxAge] = [find('expires'), find('max-age')];
    // The browser's clock may differ from that of the service.
    if (expires !== undefined && maxAge === undefined) throw new Error(`${name} was set without Max-Age`);
    if (value === '' || Number(maxAge) <= 0) {
      this.#cookies.delete(`${name};${cookie.path}`);
      return;
    }
    const flags = attributes.map((attribute) => attribute.toLowerCase());
    for (const flag of ['httponly', 'samesite=lax', ...(this.#issuer.startsWith('https:') ? ['secure'] : [])])
      if (!flags.includes(flag)) throw new Error(`${name} was set without ${flag}`);
    this.setCookie(cookie);
  }
}

export type HtmlForm = { readonly action: string; readonly fields: Fields };

/** The form whose action ends with `action`, and its hidden fields. */
export function formOf(page: Page, action: string): HtmlForm {
  for (const [, attributes = '', inner = ''] of page.text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
    const target = attributeOf(attributes, 'action');
    if (!target?.endsWith(action)) continue;
    const hidden = [...inner.matchAll(/<input([^>]*)>/g)].filter(
      ([, input = '']) => attributeOf(input, 'type') === 'hidden',
    );
    return {
      action: target,
      fields: Object.fromEntries(
        hidden.map(([, input = '']) => [attributeOf(input, 'name') ?? '', attributeOf(input, 'value') ?? '']),
      ),
    };
  }
  throw new Error(`no form for ${action} on ${page.status} ${page.url}:\n${page.text.slice(0, 2000)}`);
}

/** The value of the first field of this name, or ''. */
export function fieldOf({ text }: Pick<Page, 'text'>, name: string): string {
  const [, attributes = ''] = new RegExp(`<input([^>]*\\bname="${name}"[^>]*)>`).exec(text) ?? [];
  return attributeOf(attributes, 'value') ?? '';
}

function attributeOf(attributes: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return value
    ?.replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
