// The actions of a user in a browser on the pages between an app and its answer. browser.ts is the browser; app.ts is the app.
import { authorizationUrl } from './authorization-request.ts';
import { Browser, type Page } from './browser.ts';
import type { Parameters } from './requests.ts';
import { CALLBACK, PASSWORDS, PEOPLE, type World } from './world.ts';

/** A user of the world, or one of its crowd. */
export type User = keyof typeof PASSWORDS | `person${number}`;
type Place = Pick<World, 'issuer' | 'base'>;

export function idOf(person: User): string {
  if (person === 'alice' || person === 'bob') return PEOPLE[person];
  return `usr_${person.slice('person'.length).padStart(20, '0')}`;
}

export function newBrowser({ issuer, base }: Place): Browser {
  return new Browser(issuer, base);
}

/** Sends one authorization request from a new browser; follows no redirect. */
export async function ask(world: Place, changes: Parameters = {}): Promise<Page> {
  return newBrowser(world).request(authorizationUrl(world, changes));
}

/** Opens the first page of a sign-in, or ends on the redirect to the app. */
export async function begin(
  world: Place,
  changes: Parameters = {},
  { browser = newBrowser(world), headers = {} }: { browser?: Browser; headers?: Record<string, string> } = {},
): Promise<{ readonly browser: Browser; readonly page: Page }> {
  const first = await browser.request(authorizationUrl(world, changes));
  const location = first.headers.get('location');
  if (location === null) return { browser, page: first };
  const isPage = location.startsWith(world.issuer);
  return { browser, page: isPage ? await browser.open(location, { headers }) : { ...first, url: location } };
}

export async function signInAs(browser: Browser, page: Page, person: User, action = '/login'): Promise<Page> {
  const password = PASSWORDS[person === 'bob' ? 'bob' : 'alice'];
  return browser.submit(page, action, { username: person, password });
}

/** Begins a sign-in and sends the password; resolves the next page. */
export async function enterPassword(
  world: Place,
  changes: Parameters = {},
  {
    browser = newBrowser(world),
    person = 'alice',
  }: { readonly browser?: Browser | undefined; readonly person?: User } = {},
): Promise<{ readonly browser: Browser; readonly page: Page }> {
  const { page } = await begin(world, changes, { browser });
  return { browser, page: await signInAs(browser, page, person) };
}

/** Signs in and consents until the browser is redirected to the app or shows another page. */
export async function finishPages(browser: Browser, first: Page, person: User): Promise<Page> {
  let page = first;
  for (let step = 0; step < 4; step += 1) {
    if (isLogin(page)) page = await signInAs(browser, page, person);
    else if (isConsent(page)) page = await browser.submit(page, '/consent');
    else return page;
  }
  return page;
}

/** Goes from the app and back to it, and answers every page in between. */
export async function complete(
  world: Place,
  person: User = 'alice',
  changes: Parameters = {},
  browser: Browser = newBrowser(world),
): Promise<{ readonly browser: Browser; readonly answer: URL; readonly code: string | undefined }> {
  const { page } = await begin(world, changes, { browser });
  const answer = new URL((await finishPages(browser, page, person)).url);
  return { browser, answer, code: codeOf({ url: answer.href }) };
}

/** The value of the session cookie. */
export const sessionOf = ({ cookies }: Browser): string | undefined =>
  cookies.find(({ name }) => name.endsWith('session'))?.value;

export const isLogin = ({ text }: Pick<Page, 'text'>): boolean => text.includes('name="password"');
export const isConsent = ({ text }: Pick<Page, 'text'>): boolean => text.includes('/consent"');

export function codeOf({ url }: Pick<Page, 'url'>): string | undefined {
  return new URL(url).searchParams.get('code') ?? undefined;
}

/** Signs out at the service's own page, which asks for confirmation. */
export async function signOut({ issuer }: Pick<Place, 'issuer'>, browser: Browser): Promise<Page> {
  const page = await browser.open(`${issuer}/oauth/logout`);
  return browser.submit(page, '/oauth/logout/confirm', { logout: 'yes' });
}

/** Resolves the answer to a password at the sign-in page. */
export async function tryPassword(world: Place, username: string, password: string): Promise<Page> {
  const { browser, page } = await begin(world, { scope: 'openid' });
  return browser.submit(page, '/login', { username, password });
}

/** Sends a request that may show no page; resolves `signed in` or the error. */
export async function silently(world: Place, browser: Browser, changes: Parameters = {}): Promise<string> {
  const page = await browser.open(authorizationUrl(world, { prompt: 'none', ...changes }));
  const { searchParams } = new URL(page.url);
  const error = searchParams.get('error');
  if (error === null && !searchParams.has('code'))
    throw new Error(`not sent to the app: ${page.status} ${page.url}`);
  return error ?? 'signed in';
}

/** Sends an authorization request without any page; resolves the parameters of the redirect to the app. */
export async function authorizationError(
  world: Place,
  changes: Parameters,
): Promise<Readonly<Record<string, string>>> {
  const page = await newBrowser(world).open(authorizationUrl(world, changes));
  const { target, query } = redirectOf({ url: page.url, headers: new Headers() });
  if (target !== CALLBACK) throw new Error(`not sent to the app: ${page.url}`);
  return query;
}

/** The parameters of the redirect in `page`'s Location, and its address as `target`. */
export function redirectOf(page: Pick<Page, 'headers' | 'url'>): {
  readonly target: string;
  readonly query: Readonly<Record<string, string>>;
} {
  const url = new URL(page.headers.get('location') ?? page.url);
  return { target: `${url.origin}${url.pathname}`, query: Object.fromEntries(url.searchParams) };
}

/** The list items of the page. */
export const itemsOf = ({ text }: Pick<Page, 'text'>) =>
  [...text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, words]) => words);

export function titleOf({ text }: Pick<Page, 'text'>): string {
  const title = /<h1>([\s\S]*?)<\/h1>/.exec(text)?.[1] ?? '';
  return title.replaceAll(/<[^>]*>/g, '').trim();
}
