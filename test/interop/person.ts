// A user with a browser without JavaScript: keeps cookies of every host, follows redirects from app to service and back,
// signs in, consents and signs out where asked. Knows the fixture users and the forms of the built-in pages.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { formOf, type Page } from '../world/browser.ts';

const MAX_STEPS = 30;
/** Headers of browsers for a page that a user opens. */
const NAVIGATION = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const FIXTURE_PASSWORD = 'fixture-password-of-ida';

export class Person {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();
  readonly #username: string;

  /** The current code of an authenticator app. */
  code: (() => string) | undefined;

  constructor(username: 'ida' | 'ida@example.com' | 'otto' | 'nora' | 'nils' = 'ida') {
    this.#username = username;
  }

  /** Ends on a page without a form to answer, or, without requesting it, on the first address that begins with `stopAt`. */
  async open(address: string, stopAt?: string): Promise<Page> {
    let page = await this.#request(address);
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const location = page.headers.get('location');
      if (location !== null) {
        const next = new URL(location, page.url).href;
        if (stopAt !== undefined && next.startsWith(stopAt)) return { ...page, url: next };
        page = await this.#request(next);
        continue;
      }
      const answered = await this.#answer(page);
      if (answered === undefined) return page;
      page = answered;
    }
    throw new Error(`too many steps: ${page.url}`);
  }

  /** Sends a form of an app's own page. */
  async submit(page: Page, action: string): Promise<Page> {
    const form = formOf(page, action);
    const sent = await this.#post(new URL(form.action, page.url).href, form.fields);
    const location = sent.headers.get('location');
    return location === null ? sent : this.open(new URL(location, sent.url).href);
  }

  async #answer(page: Page): Promise<Page | undefined> {
    const fill = (action: string, fields = {}) => {
      const form = formOf(page, action);
      return this.#post(new URL(form.action, page.url).href, { ...form.fields, ...fields });
    };
    if (page.status !== 200) return undefined;
    if (page.text.includes('name="again"'))
      return fill(new URL(page.url).pathname, { password: FIXTURE_PASSWORD, again: FIXTURE_PASSWORD });
    // A page of Dex.
    if (page.text.includes('name="login"'))
      return this.#post(page.url, { login: this.#username, password: FIXTURE_PASSWORD });
    if (page.text.includes('name="password"')) {
      return fill('/login', { username: this.#username, password: FIXTURE_PASSWORD });
    }
    if (page.text.includes('/code"') && this.code !== undefined) return fill('/code', { code: this.code() });
    if (page.text.includes('/consent"')) return fill('/consent');
    if (page.text.includes('name="confirm"')) return fill('/device', { confirm: 'yes' });
    // The page for the user code comes after a sign-in.
    const userCode = new URL(page.url).searchParams.get('user_code');
    if (userCode !== null) return fill('/device', { user_code: userCode });
    if (page.text.includes('/oauth/logout/confirm"')) return fill('/oauth/logout/confirm', { logout: 'yes' });
    return undefined;
  }

  #post(url: string, fields: Readonly<Record<string, string>>): Promise<Page> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin };
    return this.#request(url, headers, new URLSearchParams(fields).toString());
  }

  async #request(url: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<Page> {
    const { host, pathname } = new URL(url);
    const cookies = [...this.#cookies]
      .filter(([key, { path }]) => key.startsWith(`${host} `) && isBelow(pathname, path))
      .map(([key, { value }]) => `${key.split(' ')[1]}=${value}`);
    const page = await send(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...NAVIGATION, ...headers, ...(cookies.length > 0 && { cookie: cookies.join('; ') }) },
      body,
    });
    for (const header of page.headers.getSetCookie()) this.#keep(header, host);
    return page;
  }

  /** By host and port: the apps and the service share `localhost`, and must not share cookies. */
  #keep(header: string, host: string): void {
    const [pair = '', ...attributes] = header.split(/; */);
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    const find = (attribute: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(`${attribute}=`))?.slice(attribute.length + 1);
    const expires = find('expires');
    const isOver =
      value === '' || find('max-age') === '0' || (expires !== undefined && Date.parse(expires) <= Date.now());
    const path = find('path') ?? '/';
    const key = `${host} ${name} ${path}`;
    if (isOver) this.#cookies.delete(key);
    else this.#cookies.set(key, { value, path });
  }
}

type Sent = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
};

/** Doesn't use fetch, which identifies itself as a script; some apps then answer 401 instead of redirecting to a sign-in. */
function send(url: string, { method, headers, body }: Sent): Promise<Page> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).once('error', reject);
      response.once('end', () => {
        const received = new Headers();
        for (const [name, values] of Object.entries(response.headersDistinct)) {
          for (const value of values ?? []) received.append(name, value);
        }
        const text = Buffer.concat(chunks).toString();
        resolve({ url, status: response.statusCode ?? 0, headers: received, text });
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}
